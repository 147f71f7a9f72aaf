"""Instances: the summary that people see, and the engine's own truth."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q

from engine.kernel.expressions.text_marks import plain
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, Result
from engine.models.base import PartIdRow, PartRow
from engine.models.template import Template, TemplateVersion
from workflowplatform.accounts.models import AuditedSubject


class InstanceQuerySet(models.QuerySet["Instance"]):
    def live(self) -> "InstanceQuerySet":
        return self.exclude(status__in=TERMINAL_INSTANCE)

    def ended(self) -> "InstanceQuerySet":
        return self.filter(status__in=TERMINAL_INSTANCE)


class Instance(PartIdRow, AuditedSubject):
    """A running or ended case, as people see it. The coordinator alone writes it."""

    template = models.ForeignKey(
        Template, on_delete=models.PROTECT, related_name="instances", db_constraint=False, db_index=False
    )
    version = models.ForeignKey(
        TemplateVersion, on_delete=models.PROTECT, related_name="instances", db_constraint=False
    )
    reference = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001  absent and empty differ
    title = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    """What the case is called, as its author wrote in `case_title`; empty where no title is written."""
    reference_parts = models.JSONField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=[(status.value, status.value) for status in InstanceStatus])
    result = models.CharField(max_length=11, choices=[(result.value, result.value) for result in Result])
    outcome = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001
    input = models.JSONField(null=True, blank=True)
    state = models.JSONField(default=dict, blank=True)
    output = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="children",
        db_constraint=False,
        db_index=False,
    )
    schedule_id = models.UUIDField(null=True, blank=True)
    """The schedule that started it, if the clock did."""
    parent_token = models.BigIntegerField(null=True, blank=True)
    """The parent's wait that this instance answers; None with a parent: it runs independently."""
    depth = models.PositiveSmallIntegerField(default=0)
    root_id = models.UUIDField(null=True, blank=True)
    """The top instance above it; None: itself."""
    hops = models.PositiveIntegerField(default=0, db_default=0)
    """How many links without a wait led to it: starts by `continue_with` and by events."""
    started_by_id = models.UUIDField(null=True, blank=True)
    started_by_name = models.CharField(max_length=100, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()

    objects = InstanceQuerySet.as_manager()

    class Meta:
        db_table = "wf_instances"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("tenant", "status", "-id"), name="instances_by_status"),
            models.Index(fields=("tenant", "template", "-id"), name="instances_by_template"),
            models.Index(
                fields=("tenant", "reference"), condition=Q(reference__isnull=False), name="instances_of_reference"
            ),
            models.Index(fields=("started_by_id", "-id"), name="instances_by_starter"),
            models.Index(fields=("schedule_id",), condition=Q(schedule_id__isnull=False), name="instances_by_schedule"),
            models.Index(
                fields=("parent", "parent_token"), condition=Q(parent__isnull=False), name="instances_by_parent"
            ),
            models.Index(fields=("root_id",), condition=Q(root_id__isnull=False), name="instances_by_root"),
            BrinIndex(fields=("started_at", "ended_at"), autosummarize=True, name="instances_by_day"),
        )
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="instance_in_tenant"),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in InstanceStatus]), name="instance_status_known"
            ),
        )

    def __str__(self) -> str:
        return plain(self.title or "") or self.reference or f"{self.template} of {self.started_at:%d %b %Y}"

    @property
    def is_over(self) -> bool:
        return InstanceStatus(self.status) in TERMINAL_INSTANCE


class RuntimeState(PartRow):
    """The engine's truth about an instance. Its row lock is the claim; its version the write check."""

    instance = models.OneToOneField(
        Instance, primary_key=True, on_delete=models.CASCADE, related_name="runtime", db_constraint=False
    )
    state_version = models.BigIntegerField(default=1)
    snapshot_schema_version = models.PositiveSmallIntegerField()
    snapshot = models.JSONField()
    runtime_provider = models.CharField(max_length=20, default="kernel")
    runtime_instance_id = models.UUIDField(null=True)
    runtime_status = models.CharField(max_length=10)
    business_reference = models.CharField(max_length=200, null=True)  # noqa: DJ001
    waiting_kind = models.CharField(max_length=10, null=True)  # noqa: DJ001
    waiting_token = models.BigIntegerField(null=True)
    waiting_until = models.DateTimeField(null=True)
    active_task_id = models.UUIDField(null=True)
    resume_pointer = models.JSONField(null=True)
    last_signal_id = models.UUIDField(null=True)
    last_error_code = models.CharField(max_length=100, null=True)  # noqa: DJ001
    last_error_json = models.JSONField(null=True)
    last_executed_by = models.CharField(max_length=200, null=True)  # noqa: DJ001
    """The node: a host, or a worker on it."""
    last_executed_on = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    keep_until = models.DateTimeField(null=True)
    """Until when an operator keeps it, whatever the rules of retention say."""
    purge_after = models.DateTimeField(null=True)
    """From when on retention may let it go; None while it lives, and where no rule lets it go."""

    class Meta:
        db_table = "wf_runtime_states"

    def __str__(self) -> str:
        return f"runtime of {self.instance_id} at version {self.state_version}"
