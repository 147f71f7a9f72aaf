"""The characters of every test: two tenants that must never see each other, and one person above both.

Acme: Gwen (god), Ada and Adam (admins who hold the default roles between them), Uri (user). Globex: Sam (god) and Stan
(admin), who see nothing of Acme's. Zoe (supergod) lives in a tenant of her own. Nobody has a password: tests sign them
in with `force_login`.

The services create them once per process. Later tests get the same rows written again by one statement: a tenth of all
the tests' time went into creating the same ten subjects 1,500 times.
"""

from copy import deepcopy
from dataclasses import dataclass

import pytest
from django.db import connection, models

from engine.models import JournalRow
from engine.models.base import TransactionField
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Membership, Role, Tenant, User

PEOPLE: dict[str, dict[str, tuple[int, tuple[str, ...]]]] = {
    "acme": {
        "gwen": (5, ()),
        "ada": (4, ("finance", "support")),
        "adam": (4, ("hr", "management")),
        "uri": (2, ()),
    },
    "globex": {"sam": (5, ()), "stan": (4, ("finance",))},
    "platform": {"zoe": (6, ())},
}


@dataclass(frozen=True)
class Cast:
    """Everybody, by name; `actor` reads a person's level and roles at the moment of asking."""

    acme: Tenant
    globex: Tenant
    platform: Tenant
    gwen: User
    ada: User
    adam: User
    uri: User
    sam: User
    stan: User
    zoe: User

    def actor(self, name: str) -> Actor:
        """Return who acts when this person acts now."""
        return actor_of(User.objects.get(username=name))


def create_cast() -> Cast:
    """Create all tenants and people as the product itself would."""
    tenants = {name: create_tenant(actor=None, name=name, title=name.capitalize()) for name in PEOPLE}
    people = {
        name: create_person(
            actor=None, tenant=tenants[tenant], name=name, level=level, roles=roles, email=f"{name}@{tenant}.example"
        )
        for tenant, members in PEOPLE.items()
        for name, (level, roles) in members.items()
    }
    return Cast(**tenants, **people)


WRITTEN: tuple[type[models.Model], ...] = (Tenant, Role, User, Membership, JournalRow)
"""Where creating the cast leaves rows, in the order in which they refer to each other."""

_rehearsed: list[tuple[Cast, str]] = []


def assemble_cast() -> Cast:
    """Bring everybody on stage: created the first time, written again as they were created every other time."""
    if not _rehearsed:
        cast = create_cast()
        _rehearsed.append((deepcopy(cast), "; ".join(_statement(model) for model in WRITTEN)))
        return cast
    cast, statements = _rehearsed[0]
    with connection.cursor() as cursor:
        cursor.execute(statements)
    return deepcopy(cast)


def _statement(model: type[models.Model]) -> str:
    """Ask the database for the statement that writes a table's rows again; what the database counts, it counts anew."""
    table = model._meta.db_table
    counted = (TransactionField, models.AutoField)
    columns = ", ".join(field.column for field in model._meta.concrete_fields if not isinstance(field, counted))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT format('INSERT INTO {table} ({columns}) SELECT {columns}"
            f" FROM json_populate_recordset(NULL::{table}, %L)', json_agg(t)) FROM {table} t"
        )
        return str(cursor.fetchone()[0])


@pytest.fixture
def cast(db: None) -> Cast:
    """Return all characters, in a transaction that is rolled back."""
    return assemble_cast()


@pytest.fixture
def committed_cast(transactional: None) -> Cast:
    """Return all characters, committed: for races, workers and browsers."""
    return assemble_cast()


@pytest.fixture
def gwen(cast: Cast) -> Actor:
    """Acme's god, as the one who acts."""
    return cast.actor("gwen")


@pytest.fixture
def ada(cast: Cast) -> Actor:
    """Acme's admin for finance and support."""
    return cast.actor("ada")


@pytest.fixture
def adam(cast: Cast) -> Actor:
    """Acme's admin for hr and management."""
    return cast.actor("adam")


@pytest.fixture
def uri(cast: Cast) -> Actor:
    """Acme's user, level 2, without a role."""
    return cast.actor("uri")


@pytest.fixture
def sam(cast: Cast) -> Actor:
    """Globex's god: sees nothing of Acme's."""
    return cast.actor("sam")


@pytest.fixture
def zoe(cast: Cast) -> Actor:
    """The supergod, at home in her own tenant."""
    return cast.actor("zoe")
