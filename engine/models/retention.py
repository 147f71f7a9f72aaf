"""Retention: how long ended work is kept, and what is left of chains that are gone."""

from django.db import models
from django.db.models import F, Q

from engine.models.base import IdRow, TenantRow
from engine.models.template import Template


class RetentionRule(IdRow):
    """How long a tenant keeps what has ended, for one template or for all that have no rule of their own.

    Every window is an ISO duration counted from an instance's end. Empty means: as the tenant's rule says, and where that is
    empty too, for ever.
    """

    template = models.ForeignKey(
        Template, null=True, blank=True, on_delete=models.CASCADE, related_name="retention", db_constraint=False
    )
    completed_for = models.CharField(max_length=40, blank=True, help_text="Completed, failed and expired instances.")
    cancelled_for = models.CharField(max_length=40, blank=True, help_text="Cancelled instances.")
    runtime_for = models.CharField(
        max_length=40, blank=True, help_text="Snapshots, receipts and calls of ended instances."
    )
    audit_for = models.CharField(max_length=40, blank=True, help_text="The audit of ended instances.")

    class Meta:
        db_table = "wf_retention_rules"
        ordering = (F("template").asc(nulls_first=True),)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "template"), name="one_retention_rule_a_template", nulls_distinct=False
            ),
        )

    def __str__(self) -> str:
        return f"retention of {self.template or 'everything else'}"


class RetentionRun(IdRow):
    """One run of a tenant's rules. If a worker dies in the middle it stays open, and another continues it."""

    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    asked_by = models.CharField(max_length=100, blank=True, help_text="Empty: the workers did it by themselves.")
    counts = models.JSONField(default=dict, help_text="What went, by kind.")
    error = models.TextField(blank=True)

    class Meta:
        db_table = "wf_retention_runs"
        ordering = ("-id",)
        indexes = (models.Index(fields=("tenant", "-id"), name="retention_runs_by_tenant"),)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant",), condition=Q(ended_at__isnull=True), name="one_open_retention_run_a_tenant"
            ),
        )

    def __str__(self) -> str:
        return f"retention of {self.began_at:%d %b %Y}"


class AuditAnchor(TenantRow):
    """Where the chain of an instance ended that is gone, or whose chain is: what verification holds on to.

    The database alone writes it, when an instance or its chain is purged.
    """

    subject_id = models.UUIDField(primary_key=True)
    template_id = models.UUIDField()
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    ended_at = models.DateTimeField()
    anchored_at = models.DateTimeField()
    purged_at = models.DateTimeField(null=True)
    """When the rows up to `seq` were deleted; None: they are still there, only the instance is gone."""
    seal = models.CharField(max_length=64, default="", db_default="", editable=False)
    """Made with the audit's key by the run that wrote the anchor: without it anybody could explain a deleted chain so."""

    class Meta:
        db_table = "wf_audit_anchors"
        indexes = (
            models.Index(
                fields=("tenant", "template_id", "ended_at"),
                condition=models.Q(purged_at__isnull=True),
                name="anchors_with_rows",
            ),
        )

    def __str__(self) -> str:
        return f"end of {self.subject_id} at {self.seq}"
