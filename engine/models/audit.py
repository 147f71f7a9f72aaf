"""The audit: who at which level did what to which subject, chained so that a change shows."""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from engine.models.base import TenantRow, TransactionField

VIA = "via token "
"""How a cause names the token that was used; a typed reason never contains exactly these words."""
VIA_LINK = "via mail link"
"""How a cause says that a link in a message was used."""

ACTS_A_ROW = 1024
"""The most acts of one row, and the step in which the database numbers rows: an act's number is its row's and its place there."""


def cause_with(reason: str, via: str) -> str:
    """Write a cause: the reason given, and by which token."""
    reason = reason.replace(VIA, "via\u00a0token ").replace(VIA_LINK, "via\u00a0mail link")
    return f"{reason} ({via})" if reason and via else reason or via


def split_cause(cause: str) -> tuple[str, str]:
    """Read a cause: the reason given, and by which token or that it came by a link."""
    if cause.startswith(VIA) or cause == VIA_LINK:
        return "", cause
    if cause.endswith(f" ({VIA_LINK})"):
        return cause.removesuffix(f" ({VIA_LINK})"), VIA_LINK
    reason, mark, via = cause.rpartition(f" ({VIA}")
    return (reason, f"{VIA}{via.removesuffix(')')}") if mark else (cause, "")


class JSONTextField(models.TextField):  # type: ignore[type-arg]
    """JSON as exactly the text that was written: a hash covers it."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "json"

    def get_placeholder(self, value: Any, compiler: Any, connection: BaseDatabaseWrapper) -> str:
        """Return a placeholder by which the database checks the text."""
        return "%s::json"

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        """Read the text itself: the driver would parse it."""
        return f"{sql}::text", params


class JournalRow(TenantRow):
    """What one commit did to one subject. Rows of a subject form a chain: each hash covers the one before.

    `acts` is a JSON list of what was done, in order; `seq` is the number of the first in the chain. A row of an earlier release
    has no `acts` but one act in columns of its own. `told` is what the kernel was told, so that an instance can be replayed.
    `xid` is the transaction that wrote the row: readers who follow the table go by it (engine.audit.cursor).

    The table has partitions: the rows of an instance are in that of the month in which it began, which its id says, all others
    in one of their own. So the chain is the key; `id` is unique because the database numbers rows.
    """

    id = models.BigAutoField(primary_key=True)
    subject_kind = models.CharField(max_length=10)
    subject_id = models.UUIDField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=100, blank=True)
    actor_level = models.PositiveSmallIntegerField(default=0)
    action = models.CharField(max_length=40, blank=True, db_default="")
    step = models.CharField(max_length=100, null=True)  # noqa: DJ001
    iteration = models.TextField(null=True)  # noqa: DJ001
    attempt = models.PositiveIntegerField(null=True)
    cause = models.TextField(blank=True, db_default="")
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    acts = JSONTextField(null=True)
    told = JSONTextField(null=True)
    hash = models.CharField(max_length=64)
    xid = TransactionField()

    class Meta:
        db_table = "wf_audit"
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("subject_id", "seq", "subject_kind"), name="audit_chain"),)

    def __str__(self) -> str:
        return f"{self.subject_kind} {self.subject_id} from {self.seq}"


class AuditQuerySet(models.QuerySet["Audit"]):
    def numbered(self, number: int) -> "AuditQuerySet":
        """Find an act by its number; its row is found by an index."""
        return self.filter(row_id__in=(number, number - number % ACTS_A_ROW), pk=number)


class Audit(TenantRow):
    """One act, as the view `wf_audit_acts` reads it out of its row. Acts of a row share who, when and the hash."""

    id = models.BigIntegerField(primary_key=True)
    row_id = models.BigIntegerField()
    subject_kind = models.CharField(max_length=10)
    subject_id = models.UUIDField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=100, blank=True)
    actor_level = models.PositiveSmallIntegerField(default=0)
    action = models.CharField(max_length=40)
    step = models.CharField(max_length=100, null=True)  # noqa: DJ001
    iteration = models.TextField(null=True)  # noqa: DJ001
    attempt = models.PositiveIntegerField(null=True)
    cause = models.TextField(blank=True)
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    hash = models.CharField(max_length=64)
    xid = TransactionField()

    objects = AuditQuerySet.as_manager()

    class Meta:
        db_table = "wf_audit_acts"
        managed = False
        verbose_name, verbose_name_plural = "audit entry", "audit entries"
        ordering = ("row_id", "id")

    @property
    def reason(self) -> str:
        """Return the reason that was given, without the token."""
        return split_cause(self.cause)[0]

    @property
    def via(self) -> str:
        """Return by which token it was done, and who made it; empty for a session."""
        return split_cause(self.cause)[1]

    def __str__(self) -> str:
        return f"{self.action.replace('_', ' ').capitalize()} by {(self.actor_name or 'the engine').capitalize()}"
