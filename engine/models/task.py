"""Human tasks: the offer, who may take it, and everything that happened to it."""

from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, Value
from django.utils.translation import gettext as _

from engine.kernel.effects import PRIORITIES
from engine.kernel.language.stored_definitions import UNREADABLE, form_misfit
from engine.kernel.tasks.rules import FOUR_EYES, NO_RULES, NOT_INSIDE, ChecklistPoint, TaskRules, undo_seconds
from engine.kernel.transitions import OPEN_TASK, TaskStatus
from engine.models.base import ObjectField, OrderedJSONField, PartIdRow, PartRow
from engine.models.instance import Instance
from engine.models.template import TemplateVersion
from workflowplatform.accounts.models import User
from workflowplatform.database.stored_json import (
    ObjectsField,
    TextsField,
    object_in,
    objects_in,
    plain_column,
    texts_in,
)


class TicksField(ObjectsField):
    needed = ("id",)


class OutcomesField(OrderedJSONField):
    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        return objects_in(super().from_db_value(value, expression, connection), "name", "title")

    def deconstruct(self) -> Any:
        return plain_column(super().deconstruct(), OrderedJSONField)


class FormField(ObjectField):
    """The JSON Schema of an answer. In place of one that cannot be drawn readers get one that takes no answer, and says why."""

    def shaped(self, read: Any) -> Any:
        """Take what fits as it is."""
        place = form_misfit(read)
        if not place:
            return read
        words = _("The stored form of this task can't be read: %(place)s has another shape.") % {"place": place}
        return {"type": "object", "properties": {}, "not": {}, UNREADABLE: words}


class TaskQuerySet(models.QuerySet["Task"]):
    def open(self) -> "TaskQuerySet":
        """Keep the tasks that are still to be done."""
        return self.filter(status__in=OPEN_TASK)

    def urgent_first(self) -> "TaskQuerySet":
        return self.order_by("-priority", models.F("due_at").asc(nulls_last=True), "id")


class Task(PartIdRow):
    """Work for a person. Its candidates say who may claim it; its events record each action."""

    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="tasks", db_constraint=False, db_index=False
    )
    version = models.ForeignKey(
        TemplateVersion, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    """Its instance's version: the database compares them, and protects the version by the instance."""
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
    form = FormField(default=dict)
    outcomes = OutcomesField(default=list)
    columns = OrderedJSONField(default=dict)
    comment_rule = models.CharField(max_length=10, default="optional")
    effective_roles = TextsField(default=list)
    users = TextsField(default=list)
    min_level = models.PositiveSmallIntegerField(default=4)
    excluded = TextsField(default=list)
    familiar = TextsField(
        default=list,
        db_default=Value([], output_field=models.JSONField()),
        help_text="Only these may act, where anybody is named.",
    )
    answered_by = TextsField(
        default=list,
        db_default=Value([], output_field=models.JSONField()),
        help_text="Who has answered, where several people do.",
    )
    extra = models.JSONField(default=dict)
    ticked = TicksField(
        default=list, db_default=Value([], output_field=models.JSONField()), help_text="Points of the checklist done."
    )
    sla_at = models.DateTimeField(null=True, blank=True)
    assignee = models.ForeignKey(
        User,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="tasks",
        db_constraint=False,
        db_index=False,
    )
    owner = models.CharField(max_length=100, blank=True)
    delegated_by_id = models.UUIDField(null=True, blank=True)
    delegated_by_name = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="The person who has the final word."
    )
    prepared_by = TextsField(
        default=list,
        db_default=Value([], output_field=models.JSONField()),
        help_text="People who filled it in for another's final word; they took part in it.",
    )
    waiting_for_name = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="The person who was asked for information."
    )
    waiting_since = models.DateTimeField(null=True, blank=True)
    clock_paused_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its clock is paused; it is due at no time until it runs again."
    )
    clock_due_at = models.DateTimeField(null=True, blank=True, help_text="When it was due as its clock was paused.")
    clock_resumes_at = models.DateTimeField(
        null=True, blank=True, help_text="When its clock runs again at the latest, where the author limits a pause."
    )
    business_reference = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    priority = models.PositiveSmallIntegerField(default=1, choices=list(enumerate(PRIORITIES)))
    due_at = models.DateTimeField(null=True, blank=True)
    follow_up_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, blank=True)
    answer_due_at = models.DateTimeField(
        null=True, blank=True, help_text="When an answer that was given, and can still be taken back, is sent."
    )
    answer_by_name = models.CharField(max_length=100, blank=True, default="", db_default="")
    """The person who gave that answer."""
    completed_at = models.DateTimeField(null=True, blank=True)
    completed_by_id = models.UUIDField(null=True, blank=True)
    completed_by_name = models.CharField(max_length=100, blank=True)
    completed_for_name = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="The absent person for whom a deputy completed it.",
    )
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
                condition=Q(status__in=("open", "claimed", "suspended"), assignee__isnull=False),
                name="open_tasks_of_assignee",
            ),
            models.Index(
                fields=("tenant", "-priority", "due_at", "id"),
                condition=Q(status__in=("open", "claimed", "suspended")),
                name="open_tasks_by_tenant",
            ),
            models.Index(
                fields=("tenant", "due_at"),
                condition=Q(status__in=("open", "claimed", "suspended"), due_at__isnull=False, assignee__isnull=False),
                name="open_tasks_by_due",
            ),
            models.Index(
                fields=("completed_by_id", "-completed_at"),
                condition=Q(completed_by_id__isnull=False),
                name="tasks_of_completer",
            ),
            GinIndex(fields=("answered_by",), condition=~Q(answered_by=[]), name="tasks_by_answerer"),
        )
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="task_in_tenant"),
            models.UniqueConstraint(fields=("instance", "token"), name="one_task_a_wait"),
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
    def is_paused(self) -> bool:
        """Return whether its clock is paused because a question about it is open."""
        return self.clock_paused_at is not None and not self.is_over

    @property
    def is_being_sent(self) -> bool:
        """Return whether an answer was given that is sent in a moment; until then nobody else answers."""
        return self.answer_due_at is not None and not self.is_over

    @property
    def priority_name(self) -> str:
        return PRIORITIES[self.priority]

    @property
    def rules(self) -> TaskRules:
        """What its author rules about it; the column `extra` keeps that."""
        return TaskRules.from_json(_readable(self.extra)) if self.extra else NO_RULES

    @property
    def takes_several(self) -> bool:
        """Return whether several people answer it, each once."""
        return self.rules.several

    @property
    def checklist(self) -> tuple[ChecklistPoint, ...]:
        return self.rules.checklist

    @property
    def checklist_points(self) -> list[dict[str, Any]]:
        """Return the points as JSON: `{id, title, required}`."""
        return [point.to_json() for point in self.rules.checklist]

    @property
    def ticked_ids(self) -> set[str]:
        return {tick["id"] for tick in self.ticked}

    @property
    def keeps_drafts(self) -> bool:
        return self.rules.draft

    def allows(self, act: str) -> bool:
        """Return whether the author lets people do this with it."""
        return act in self.rules.allow

    def undo_seconds(self, outcome: str | None) -> float:
        """Return how long an answer can be taken back; the tenant is asked only where the author says nothing."""
        chosen = self.outcome_named(outcome) if outcome else self.outcomes[0] if len(self.outcomes) == 1 else None
        said = (chosen or {}).get("undo"), self.rules.undo
        return undo_seconds(*said, tenant=self.tenant.undo_seconds if said == (None, None) else None)

    @property
    def is_decision(self) -> bool:
        """Return whether its author marks an answer to it as a rejection."""
        return any(outcome.get("reject") for outcome in self.outcomes)

    def outcome_named(self, name: str) -> dict[str, Any] | None:
        return next((outcome for outcome in self.outcomes if outcome["name"] == name), None)


def _readable(extra: Any) -> dict[str, Any]:
    """Return the stored rules in the shape that the kernel wrote; a four-eyes rule of another shape excludes the starter."""
    kept = object_in(extra)
    eyes, limit = kept.get(FOUR_EYES), kept.get("wip_limit")
    shaped = {
        **kept,
        **{key: texts_in(kept.get(key)) for key in ("allow", NOT_INSIDE)},
        "checklist": [{"required": False, **point} for point in objects_in(kept.get("checklist"), "id", "title")],
        "wip_limit": limit if isinstance(limit, int) else None,
        FOUR_EYES: eyes if isinstance(eyes, dict) or not eyes else {"start": True},
    }
    if not isinstance(kept.get("attachments"), dict):
        shaped.pop("attachments", None)
    return shaped


class TaskCandidate(PartRow):
    """A principal to whom an open task is offered: one row each, in the order in which the inbox walks them."""

    pk = models.CompositePrimaryKey("principal", "rank", "due_at", "task_id")
    principal = models.UUIDField(help_text="The id of a role, of a person, or of the tenant for everybody.")
    rank = models.SmallIntegerField()
    due_at = models.DateTimeField()
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="candidates", db_constraint=False, db_index=False
    )

    class Meta:
        db_table = "wf_task_candidates"
        indexes = (models.Index(fields=("task",), name="candidates_by_task"),)

    def __str__(self) -> str:
        return f"{self.principal} for {self.task_id}"


class TaskEvent(PartIdRow):
    """What happened to a task; written once, never changed.

    The table has partitions, by the month of the task, and its key is the task and the id.
    """

    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="task_events", db_constraint=False, db_index=False
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="events", db_constraint=False, db_index=False)
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

    def __str__(self) -> str:
        return f"{self.kind} by {self.actor_name or 'the engine'}"
