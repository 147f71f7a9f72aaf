"""The audit: who at which level did what to which subject, chained so that a change shows."""

from django.db import models

from engine.models.base import TenantRow, TransactionField

VIA = "via token "
"""How a cause says by which token somebody acted; a reason that a person typed never holds these words as they stand."""


def cause_with(reason: str, via: str) -> str:
    """Write a cause: the reason given, and by which token."""
    reason = reason.replace(VIA, "via\u00a0token ")
    return f"{reason} ({via})" if reason and via else reason or via


def split_cause(cause: str) -> tuple[str, str]:
    """Read a cause: the reason given, and by which token."""
    if cause.startswith(VIA):
        return "", cause
    reason, mark, via = cause.rpartition(f" ({VIA}")
    return (reason, f"{VIA}{via.removesuffix(')')}") if mark else (cause, "")


class Audit(TenantRow):
    """One act. Rows of a subject form a chain: each hash covers the one before.

    `xid` is the transaction that wrote it: readers who follow the table go by it (engine.audit.cursor).
    """

    id = models.BigAutoField(primary_key=True)
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

    class Meta:
        db_table = "wf_audit"
        verbose_name, verbose_name_plural = "audit entry", "audit entries"
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("subject_id", "seq"), name="audit_chain"),)

    @property
    def reason(self) -> str:
        """Give the reason that was said, without the token."""
        return split_cause(self.cause)[0]

    @property
    def via(self) -> str:
        """Say by which token it was done, and who made it; empty for a session."""
        return split_cause(self.cause)[1]

    def __str__(self) -> str:
        return f"{self.action.replace('_', ' ').capitalize()} by {(self.actor_name or 'the engine').capitalize()}"
