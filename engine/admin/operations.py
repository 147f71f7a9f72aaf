"""Operating: instances, tasks, signals and dead letters, read-only and in sentences."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import path, reverse
from unfold.decorators import display

from engine import access
from engine.admin import mending
from engine.admin.base import TenantAdmin
from engine.admin.bulk_acts import action_of
from engine.admin.columns import moment_column
from engine.admin.incidents import incidents_page
from engine.admin.rights import actor_of
from engine.admin.sentences import (
    awaited,
    instance_sentence,
    lines_of,
    moment_words,
    rows_of_value,
    value_words,
    wait_sentence,
)
from engine.kernel.signals import SignalType
from engine.models import Audit, DeadLetter, Instance, Signal, Task
from engine.services.diagrams import inline_diagram
from workflowplatform.accounts.actor import Actor

INSTANCE_LABELS = {
    "running": "info",
    "queued": "warning",
    "suspended": "warning",
    "completed": "success",
    "incident": "danger",
    "failed": "danger",
    "expired": "danger",
    "cancelled": "",
}
TASK_LABELS = {"open": "", "claimed": "info", "suspended": "warning", "completed": "success", "expired": "danger"}
SIGNALS = {
    SignalType.TASK_COMPLETED: "A task was answered",
    SignalType.TIMER_DUE: "A timer is due",
    SignalType.RETRY_DUE: "Try again",
    SignalType.CALL_DUE: "Make a call, or see to one that never ended",
    SignalType.EXTERNAL_SIGNAL: "A signal from outside",
    SignalType.SUB_WORKFLOW_COMPLETED: "Another workflow ended",
    SignalType.INTERNAL_CONTINUE: "Go on",
}


@admin.register(Instance)
class InstanceAdmin(TenantAdmin):
    visible = staticmethod(access.visible_instances)
    list_display = ("words", "state_label", "waits_for", "starter", "started")
    started = moment_column("started_at", "Started")
    list_filter = ("status", "template")
    search_fields = ("reference", "started_by_name")
    ordering = ("-id",)
    change_form_template = "admin/instance_page.html"
    buttons = mending.OF_INSTANCES
    actions = tuple(action_of(name) for name in ("retry", "skip", "suspend", "resume", "cancel"))

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(incidents_page(self.admin_site))
        return [path("incidents/", page, name="engine_incidents"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instance]:
        rows: QuerySet[Instance] = super().get_queryset(request)
        return rows.select_related("template", "version").prefetch_related("waits").defer("input", "output")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Tell an instance: the sentence first, then waits, tasks, steps, timeline and what it knows."""
        actor = actor_of(request)
        waits = list(row.waits.all())
        tasks = list(access.visible_tasks(actor).filter(instance=row).order_by("id"))
        open_tasks = {task.token: task for task in tasks if not task.is_over}
        return {
            "title": str(row),
            "subtitle": None,
            "wf_instance": row,
            "wf_sentence": instance_sentence(row, waits, open_tasks),
            "wf_waits": [(wait_sentence(wait, open_tasks), wait) for wait in waits],
            "wf_tasks": tasks,
            "wf_steps": access.step_runs_of(actor, row.pk),
            "wf_diagram": inline_diagram(actor, row),
            "wf_timeline": lines_of(access.history_of(actor, row.pk).order_by("-seq")[:200]),
            "wf_state": rows_of_value(row.state),
            "wf_input": rows_of_value(row.input),
            "wf_output": rows_of_value(row.output),
        }

    @display(description="Instance", header=True, ordering="reference")
    def words(self, instance: Instance) -> list[str]:
        return [str(instance), f"{instance.template}, version {instance.version.number}"]

    @display(description="Status", label=INSTANCE_LABELS, ordering="status")
    def state_label(self, instance: Instance) -> str:
        return instance.status

    @display(description="What it waits for")
    def waits_for(self, instance: Instance) -> str:
        return instance_sentence(instance, instance.waits.all())

    @display(description="Started by", ordering="started_by_name")
    def starter(self, instance: Instance) -> str:
        return instance.started_by_name.capitalize() or "the engine"


@admin.register(Task)
class TaskAdmin(TenantAdmin):
    visible = staticmethod(access.visible_tasks)
    list_display = ("words", "state_label", "awaits", "due", "instance")
    due = moment_column("due_at", "Due")
    list_filter = ("status", "priority", "assignee")
    search_fields = ("title", "business_reference", "step")
    ordering = ("-id",)
    change_form_template = "admin/task_page.html"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Tell a task: who may take it and why, what was asked, what was answered."""
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
            "wf_awaited": awaited(row),
        }

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=row.instance_id, step=row.step)

    @display(description="Task", header=True, ordering="title")
    def words(self, task: Task) -> list[str]:
        return [task.title, f"{task.version.template} · {task.step}"]

    @display(description="Status", label=TASK_LABELS, ordering="status")
    def state_label(self, task: Task) -> str:
        return task.status

    @display(description="For")
    def awaits(self, task: Task) -> str:
        return awaited(task)


@admin.register(Signal)
class SignalAdmin(TenantAdmin):
    list_display = ("words", "instance", "due", "attempts")
    list_filter = ("type",)
    ordering = ("due_at",)
    occurred = moment_column("occurred_at", "Written")
    fields = ("words", "instance", "due", "occurred", "attempts", "content")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Signal]:
        rows: QuerySet[Signal] = super().get_queryset(request)
        return rows.select_related("instance__template")

    @display(description="Signal", ordering="type")
    def words(self, signal: Signal) -> str:
        return SIGNALS[SignalType(signal.type)]

    @display(description="Due", ordering="due_at")
    def due(self, signal: Signal) -> str:
        return "held" if signal.held_due_at else moment_words(signal.due_at)

    @display(description="What it carries")
    def content(self, signal: Signal) -> str:
        return value_words(signal.payload)


@admin.register(DeadLetter)
class DeadLetterAdmin(TenantAdmin):
    list_display = ("reason", "instance", "node", "when")
    when = moment_column("at", "When")
    search_fields = ("reason", "node")
    ordering = ("-at",)
    fields = ("reason", "instance", "node", "when", "content")
    readonly_fields = fields
    buttons = mending.OF_LETTERS
    actions = tuple(action_of(name) for name in ("replay", "discard"))

    def after_button(self, request: HttpRequest, row: Any) -> str:
        """Lead back to the list: a letter that was seen to is no more."""
        return reverse("admin:engine_deadletter_changelist")

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        rows: QuerySet[DeadLetter] = super().get_queryset(request)
        return rows.select_related("instance__template")

    @display(description="What it carried")
    def content(self, letter: DeadLetter) -> str:
        return value_words(letter.envelope)
