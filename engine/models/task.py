"""Human tasks: the offer, who may take it, and everything that happened to it."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q, Value

from engine.kernel.effects import PRIORITIES
from engine.kernel.transitions import OPEN_TASK, TaskStatus
from engine.models.base import IdRow, OrderedJSONField, TenantRow
from engine.models.instance import Instance
from engine.models.template import TemplateVersion
from workflowplatform.accounts.models import User


class TaskQuerySet(models.QuerySet["Task"]):
    def open(self) -> "TaskQuerySet":
        """Keep what still waits for somebody."""
        return self.filter(status__in=OPEN_TASK)

    def urgent_first(self) -> "TaskQuerySet":
        return self.order_by("-priority", models.F("due_at").asc(nulls_last=True), "id")


class Task(IdRow):
    """Work for a person. Who may take it stands in its candidates; a trace of each act in its events."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="tasks", db_constraint=False)
    version = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    token = models.BigIntegerField()
    step = models.CharField(max_length=100)
    path = models.TextField()
    iteration = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=[(status.value, status.value) for status in TaskStatus])
    name = models.CharField(max_length=100)
    type = models.CharField(max_length=100, blank=True)
    route = models.CharField(max_length=200, blank=True)
    title = models.TextField()
    description = models.TextField(blank=True)
    instructions = models.TextField(blank=True)
    payload = OrderedJSONField(default=dict)
    form = OrderedJSONField(default=dict)
    outcomes = OrderedJSONField(default=list)
    columns = OrderedJSONField(default=dict)
    comment_rule = models.CharField(max_length=10, default="optional")
    effective_roles = models.JSONField(default=list)
    users = models.JSONField(default=list)
    min_level = models.PositiveSmallIntegerField(default=4)
    excluded = models.JSONField(default=list)
    familiar = models.JSONField(
        default=list,
        db_default=Value([], output_field=models.JSONField()),
        help_text="Only these may act, where anybody is named.",
    )
    answered_by = models.JSONField(
        default=list,
        db_default=Value([], output_field=models.JSONField()),
        help_text="Who has answered, where several people do.",
    )
    extra = models.JSONField(default=dict)
    ticked = models.JSONField(
        default=list, db_default=Value([], output_field=models.JSONField()), help_text="Points of the checklist done."
    )
    sla_at = models.DateTimeField(null=True, blank=True)
    assignee = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, related_name="tasks", db_constraint=False
    )
    owner = models.CharField(max_length=100, blank=True)
    business_reference = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    priority = models.PositiveSmallIntegerField(default=1, choices=list(enumerate(PRIORITIES)))
    due_at = models.DateTimeField(null=True, blank=True)
    follow_up_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    completed_by_id = models.UUIDField(null=True, blank=True)
    completed_by_name = models.CharField(max_length=100, blank=True)
    outcome = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001
    answer = models.JSONField(null=True, blank=True)
    comment = models.TextField(blank=True)

    objects = TaskQuerySet.as_manager()

    class Meta:
        db_table = "wf_tasks"
        ordering = ("-id",)
        indexes = (
            models.Index(
                fields=("assignee", "-priority", "due_at", "id"),
                condition=Q(status__in=("open", "claimed", "suspended")),
                name="open_tasks_by_assignee",
            ),
            models.Index(
                fields=("tenant", "-priority", "due_at", "id"),
                condition=Q(status__in=("open", "claimed", "suspended")),
                name="open_tasks_by_tenant",
            ),
            models.Index(fields=("completed_by_id", "-completed_at"), name="tasks_by_completer"),
            models.Index(fields=("instance", "id"), name="tasks_by_instance"),
            GinIndex(fields=("answered_by",), condition=~Q(answered_by=[]), name="tasks_by_answerer"),
        )
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="task_in_tenant"),
            models.UniqueConstraint(
                fields=("instance", "token"),
                condition=Q(status__in=("open", "claimed", "suspended")),
                name="one_open_task_a_wait",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in TaskStatus]), name="task_status_known"
            ),
            models.CheckConstraint(
                condition=~Q(status="claimed") | Q(assignee__isnull=False), name="claimed_task_has_assignee"
            ),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def is_over(self) -> bool:
        return TaskStatus(self.status) not in OPEN_TASK

    @property
    def priority_name(self) -> str:
        return PRIORITIES[self.priority]

    @property
    def takes_several(self) -> bool:
        """Tell whether several people answer it, each once."""
        return bool(self.extra.get("several"))

    @property
    def checklist(self) -> list[dict[str, Any]]:
        """Give the points to be done: `{id, title, required}`."""
        return list(self.extra.get("checklist") or ())

    @property
    def ticked_ids(self) -> set[str]:
        return {tick["id"] for tick in self.ticked}

    @property
    def keeps_drafts(self) -> bool:
        return bool(self.extra.get("draft", True))

    def allows(self, act: str) -> bool:
        """Tell whether the author lets people do this with it."""
        return act in (self.extra.get("allow") or ())

    def outcome_named(self, name: str) -> dict[str, Any] | None:
        return next((outcome for outcome in self.outcomes if outcome["name"] == name), None)


class TaskCandidate(TenantRow):
    """A principal to whom an open task is offered: one row each, in the order in which the inbox walks them."""

    pk = models.CompositePrimaryKey("principal", "rank", "due_at", "task_id")
    principal = models.UUIDField(help_text="The id of a role, of a person, or of the tenant for everybody.")
    rank = models.SmallIntegerField()
    due_at = models.DateTimeField()
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="candidates", db_constraint=False)

    class Meta:
        db_table = "wf_task_candidates"
        indexes = (models.Index(fields=("task",), name="candidates_by_task"),)

    def __str__(self) -> str:
        return f"{self.principal} for {self.task_id}"


class TaskEvent(IdRow):
    """What happened to a task; written once, never changed."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="task_events", db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="events", db_constraint=False)
    kind = models.CharField(max_length=12)
    at = models.DateTimeField()
    actor_id = models.UUIDField(null=True)
    actor_name = models.CharField(max_length=100, blank=True)
    actor_level = models.PositiveSmallIntegerField(default=0)
    cause = models.TextField(blank=True)
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)

    class Meta:
        db_table = "wf_task_events"
        ordering = ("id",)
        indexes = (models.Index(fields=("task", "id"), name="task_events_by_task"),)

    def __str__(self) -> str:
        return f"{self.kind} by {self.actor_name or 'the engine'}"
