"""What every table shares: an id that sorts by time, and its tenant."""

from datetime import UTC, datetime
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.types.json import Json

from workflowplatform.accounts.models import Tenant
from workflowplatform.database.stored_json import object_in, plain_column
from workflowplatform.ids import uuid7

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""Later than anything: when held signals are due, and tasks without a date."""


class OrderedJSONField(models.JSONField):
    """JSON whose keys keep the author's order, as forms and facts on a page need it; it cannot be searched."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "json"

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        """Take what the driver has read already: it parses this type, but not Django's own."""
        return value

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        """Hand the value over as text in its own order."""
        return None if value is None else Json(value)


class ObjectField(OrderedJSONField):
    """One object, whatever the column holds: any other value is its only entry."""

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        """Return what was read in the shape that every reader gets."""
        read = super().from_db_value(value, expression, connection)
        return read if read is None else self.shaped(read)

    def shaped(self, read: Any) -> Any:
        """Return an object as it is, and anything else inside one."""
        return object_in(read, "value")

    def deconstruct(self) -> Any:
        return plain_column(super().deconstruct(), OrderedJSONField)


class TransactionField(models.Field):  # type: ignore[type-arg]
    """The number of the transaction that wrote a row: 64 bits, so that it never wraps. The database fills it in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(
            *args, **{"editable": False, "db_default": models.Func(function="pg_current_xact_id"), **kwargs}
        )

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "xid8"

    def from_db_value(self, value: str | None, expression: Any, connection: BaseDatabaseWrapper) -> int | None:
        """Read the number: the driver does not know the type and leaves it as text."""
        return None if value is None else int(value)

    def get_prep_value(self, value: Any) -> Any:
        """Write the number as text, which the database takes for its own type."""
        return str(value) if isinstance(value, int) else super().get_prep_value(value)


class TenantRow(models.Model):
    """A row of one tenant. Reads go through engine.access, which keeps tenants apart."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    """Not indexed by itself: a table that is read by tenant has an index for that order (docs/database.md)."""

    class Meta:
        abstract = True


class PartRow(TenantRow):
    """A row of another row, its parent, of the same tenant.

    The composite key to the parent (`…_same_tenant` in SQL) carries the tenant, so there is no key to the tenant besides.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)

    class Meta:
        abstract = True


class IdRow(TenantRow):
    """A tenant's row with a UUIDv7 of its own."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True


class PartIdRow(PartRow):
    """A row of another row, with a UUIDv7 of its own."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True
