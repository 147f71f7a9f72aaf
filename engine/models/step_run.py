"""Step runs: what the timeline shows. They are read from the audit, which is the only place where they are written."""

from django.db import models
from django.db.models import Q

from engine.kernel.transitions import StepStatus
from engine.models.base import TenantRow
from engine.models.instance import Instance


class StepRunColumns(TenantRow):
    """One attempt of one run of a step."""

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
        abstract = True

    def __str__(self) -> str:
        return f"{self.path} ({self.status})"


class StepRun(StepRunColumns):
    """A step run as the view `wf_steps` folds it out of the acts of its instance, and of what earlier releases stored."""

    pk = models.CompositePrimaryKey("instance_id", "run", "attempt")
    instance = models.ForeignKey(
        Instance, on_delete=models.DO_NOTHING, related_name="step_runs", db_constraint=False, db_index=False
    )

    class Meta:
        db_table = "wf_steps"
        managed = False
        ordering = ("run", "attempt")


class StoredStepRun(StepRunColumns):
    """A step run that an earlier release stored."""

    pk = models.CompositePrimaryKey("instance_id", "run", "attempt")
    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )

    class Meta:
        db_table = "wf_step_runs"
        constraints = (
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in StepStatus]), name="step_status_known"
            ),
        )
