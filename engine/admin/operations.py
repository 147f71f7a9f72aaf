"""Tasks, signals and dead letters, read-only and in sentences."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import path, reverse
from unfold.decorators import display

from engine import access
from engine.admin import instance_actions
from engine.admin.base import TenantAdmin
from engine.admin.bulk_operations import action_of
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words, rows_of_value, value_words
from engine.admin.instance_page import SIGNALS, signal_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.workers import workers_page
from engine.kernel.signals import SignalType
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Audit, DeadLetter, Signal, Task
from engine.presentation.narrative.status_summary import who_of
from engine.services.tasks.reopening import reopen_task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

TASK_LABELS = {"open": "", "claimed": "info", "suspended": "warning", "completed": "success", "expired": "danger"}


def may_be_reopened(actor: Actor, task: Task) -> bool:
    """Return whether to offer it: whether the next step is untouched is looked up when the button is pressed."""
    return task.status == TaskStatus.COMPLETED and task.instance.status == InstanceStatus.RUNNING


def reopen(request: HttpRequest, task: Task) -> str:
    """Reopen an answered task."""
    again = reopen_task(actor=actor_of(request), task_id=task.pk, reason=request.POST.get("answer", ""))
    return f"“{again.title}” is open again. The first answer is kept in the history and as its draft."


REOPEN = Button(
    "reopen",
    "Reopen",
    reopen,
    TO_OPERATE,
    may_be_reopened,
    asks="Reason to reopen it",
    preview="The case returns to what it was before this answer, unless someone has begun the next step.",
)


@admin.register(Task)
class TaskAdmin(TenantAdmin):
    visible = staticmethod(access.visible_tasks)
    list_display = ("words", "state_label", "awaits", "due", "instance")
    list_filter = ("status", "priority", "assignee")
    search_fields = ("title", "business_reference", "step")
    ordering = ("-id",)
    buttons = (*instance_actions.OF_TASKS, REOPEN)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return who may act on the task and why, what it shows, and the answer."""
        actor = actor_of(request)
        return {
            "title": row.title,
            "subtitle": None,
            "wf_task": row,
            "wf_reasons": access.explain_task(actor, row),
            "wf_events": access.events_of(actor, row.pk).order_by("-id"),
            "wf_payload": rows_of_value(row.payload),
            "wf_answer": rows_of_value(row.answer),
            "wf_outcomes": ", ".join(outcome["title"] for outcome in row.outcomes),
            "wf_awaited": who_of(row),
        }

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_id=row.instance_id, step=row.step)

    @display(description="Task", header=True, ordering="title")
    def words(self, task: Task) -> list[str]:
        return [task.title, f"{task.version.template} · {task.step}"]

    @display(description="Status", label=TASK_LABELS, ordering="status")
    def state_label(self, task: Task) -> str:
        return task.status

    @display(description="Due", ordering="due_at")
    def due(self, task: Task) -> str:
        return "clock paused" if task.is_paused else moment_words(task.due_at)

    @display(description="For")
    def awaits(self, task: Task) -> str:
        return who_of(task)


@admin.register(Signal)
class SignalAdmin(TenantAdmin):
    list_display = ("words", "instance", "due", "attempts")
    list_filter = ("type",)
    ordering = ("due_at",)
    occurred = moment_column("occurred_at", "Created")
    fields = ("words", "instance", "due", "occurred", "attempts", "content")
    readonly_fields = fields

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(workers_page)
        return [path("workers/", page, name="engine_workers"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Signal]:
        rows: QuerySet[Signal] = super().get_queryset(request)
        return rows.select_related("instance__template")

    @display(description="Signal", ordering="type")
    def words(self, signal: Signal) -> str:
        return SIGNALS[SignalType(signal.type)]

    @display(description="Due", ordering="due_at")
    def due(self, signal: Signal) -> str:
        return "held" if signal.held_due_at else moment_words(signal.due_at)

    @display(description="Payload")
    def content(self, signal: Signal) -> str:
        return value_words(signal.payload)


@admin.register(DeadLetter)
class DeadLetterAdmin(TenantAdmin):
    empty_text = "A signal that cannot be applied is listed here, and its instance stops until you decide."
    visible = staticmethod(access.visible_dead_letters)
    list_display = ("words", "instance", "node", "when")
    when = moment_column("at", "When")
    list_filter = ("instance__template",)
    search_fields = ("reason", "node", "instance__reference")
    search_help_text = "Reason, host, or reference of the instance"
    ordering = ("-at",)
    buttons = instance_actions.OF_LETTERS
    actions = tuple(action_of(name) for name in ("replay", "discard"))

    def after_button(self, request: HttpRequest, row: Any) -> str:
        """Return the list: the dead letter is gone."""
        return reverse("admin:engine_deadletter_changelist")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_id=row.instance_id)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return the signal, why it could not be applied, and its content."""
        envelope = row.envelope if isinstance(row.envelope, dict) else {}
        return {
            "title": signal_words(str(envelope.get("type", ""))),
            "subtitle": None,
            "wf_letter": row,
            "wf_payload": rows_of_value(envelope.get("payload")),
            "wf_envelope": rows_of_value({key: value for key, value in envelope.items() if key != "payload"}),
        }

    @display(description="Signal", header=True, ordering="reason")
    def words(self, letter: DeadLetter) -> list[str]:
        envelope = letter.envelope if isinstance(letter.envelope, dict) else {}
        return [signal_words(str(envelope.get("type", ""))), letter.reason]
