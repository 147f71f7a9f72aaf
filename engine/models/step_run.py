"""Step runs: what the timeline shows."""

from django.db import models
from django.db.models import Q

from engine.kernel.transitions import StepStatus
from engine.models.base import TenantRow
from engine.models.instance import Instance


class StepRun(TenantRow):
    """One attempt of one run of a step."""

    pk = models.CompositePrimaryKey("instance_id", "run", "attempt")
    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="step_runs", db_constraint=False)
    run = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    step = models.CharField(max_length=100)
    kind = models.CharField(max_length=20)
    path = models.TextField()
    iteration = models.TextField(blank=True)
    status = models.CharField(max_length=12, choices=[(status.value, status.value) for status in StepStatus])
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    input = models.JSONField(null=True)
    output = models.JSONField(null=True)
    error = models.JSONField(null=True)
    reason = models.TextField(null=True)  # noqa: DJ001
    parent_run = models.BigIntegerField(null=True)
    """The run of the step that it is part of; None at the top, and in rows of releases that did not know it."""

    class Meta:
        db_table = "wf_step_runs"
        ordering = ("run", "attempt")
        constraints = (
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in StepStatus]), name="step_status_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.path} ({self.status})"
