"""What verification of the audit holds on to besides the chains: old ends, roots, and what was erased lawfully."""

from django.db import models

from engine.models.base import IdRow, TenantRow
from workflowplatform.ids import uuid7


class AuditPlainEnd(TenantRow):
    """How far a chain had come when hashes got a key. Up to here rows may be hashed plainly, and the last is known."""

    subject_id = models.UUIDField(primary_key=True)
    subject_kind = models.CharField(max_length=10)
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    seal = models.CharField(max_length=64)

    class Meta:
        db_table = "wf_audit_plain_ends"

    def __str__(self) -> str:
        return f"plain until {self.subject_id} at {self.seq}"


class AuditRoot(models.Model):
    """Where all chains of all tenants ended at a moment, in one signed digest. The chains themselves are in its file."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    made_at = models.DateTimeField()
    chains = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    statement = models.TextField(help_text="What was signed.")
    signature = models.CharField(max_length=100)
    public_key = models.CharField(max_length=50)
    file = models.CharField(max_length=200)

    class Meta:
        db_table = "wf_audit_roots"
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"root of {self.made_at:%d %b %Y}"


class Erasure(IdRow):
    """A person who was erased, or is to be: who asked, who agreed, and what went. It holds no name of theirs once it is done."""

    person_id = models.UUIDField()
    pseudonym = models.CharField(max_length=100)
    reason = models.TextField()
    asked_by_id = models.UUIDField(null=True)
    asked_by_name = models.CharField(max_length=100)
    asked_at = models.DateTimeField()
    agreed_by_name = models.CharField(max_length=100, blank=True)
    done_at = models.DateTimeField(null=True)
    counts = models.JSONField(default=dict)

    class Meta:
        db_table = "wf_erasures"
        ordering = ("-id",)
        constraints = (models.UniqueConstraint(fields=("tenant", "person_id"), name="one_erasure_a_person"),)

    def __str__(self) -> str:
        return f"erasure of {self.pseudonym}"


class AuditRedaction(TenantRow):
    """A row of the audit from which an erasure took a name. The row's hash stays; the seal covers what the row says now."""

    audit_id = models.BigIntegerField(primary_key=True)
    erasure_id = models.UUIDField()
    seal = models.CharField(max_length=64)

    class Meta:
        db_table = "wf_audit_redactions"

    def __str__(self) -> str:
        return f"redaction of row {self.audit_id}"
