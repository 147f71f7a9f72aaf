"""Instances: search by reference, template, status, wait and state, and their current state in sentences."""

import re
from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.urls import path
from unfold.decorators import display

from engine import access
from engine.admin import instance_actions
from engine.admin.base import TenantAdmin
from engine.admin.bulk_operations import action_of
from engine.admin.columns import moment_column
from engine.admin.incidents import incidents_page
from engine.admin.instance_page import instance_context
from engine.errors import Invalid
from engine.kernel.effects import WaitKind
from engine.kernel.transitions import OPEN_TASK
from engine.models import Instance, Task
from engine.presentation.narrative.status_summary import summary_of
from engine.services.instances.search import state_holds, waits_for

LABELS = {
    "running": "info",
    "queued": "warning",
    "suspended": "warning",
    "completed": "success",
    "incident": "danger",
    "failed": "danger",
    "expired": "danger",
    "cancelled": "",
}
WAITS = {
    WaitKind.TASK: "a person",
    WaitKind.TIMER: "a timer",
    WaitKind.SIGNAL: "a signal",
    WaitKind.CHILD: "another workflow",
    WaitKind.RETRY: "a retry",
    WaitKind.CALL: "a response to a call",
    WaitKind.ADD: "more items",
}
OF_STATE = re.compile(r"(?:state\.)?([\w.]+)=(.*)")
"""A search in the business state: `amount=1200`, `order.city="New York"`."""
WORDS = re.compile(r'[\w.]+="[^"]*"|\S+')


class WaitingFilter(admin.SimpleListFilter):
    title = "waiting for"
    parameter_name = "waiting"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, words) for kind, words in WAITS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Instance]) -> QuerySet[Instance]:
        return queryset.filter(waits_for([self.value() or ""])) if self.value() in set(WaitKind) else queryset


@admin.register(Instance)
class InstanceAdmin(TenantAdmin):
    empty_text = "People start instances in the inbox, programs over REST, and schedules by themselves."
    visible = staticmethod(access.visible_instances)
    list_display = ("words", "state_label", "waits_for", "starter", "started")
    started = moment_column("started_at", "Started")
    list_filter = ("status", WaitingFilter, "template")
    search_fields = ("title", "reference", "started_by_name")
    search_help_text = "Title, reference, person who started it, or state such as amount=1200"
    ordering = ("-id",)
    show_full_result_count = False
    buttons = instance_actions.OF_INSTANCES
    actions = tuple(action_of(name) for name in ("retry", "skip", "suspend", "resume", "cancel"))

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(incidents_page(self.admin_site))
        return [path("incidents/", page, name="engine_incidents"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Instance]:
        rows: QuerySet[Instance] = super().get_queryset(request)
        open_tasks = Task.objects.filter(status__in=OPEN_TASK).select_related("assignee")
        return (
            rows.select_related("template", "version")
            .prefetch_related("waits", Prefetch("tasks", queryset=open_tasks, to_attr="open_tasks"))
            .defer("input", "output", "state", "version__canonical", "version__source")
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Instance], search_term: str
    ) -> tuple[QuerySet[Instance], bool]:
        """Search by words; a word like `amount=1200` searches the business state."""
        words = WORDS.findall(search_term)
        for word in words:
            queryset = queryset.filter(self._found_by(request, word))
        return queryset, False

    def _found_by(self, request: HttpRequest, word: str) -> Q:
        asked = OF_STATE.fullmatch(word)
        if asked is None:
            return Q(title__icontains=word) | Q(reference__icontains=word) | Q(started_by_name__icontains=word)
        try:
            return state_holds(asked[1].split("."), asked[2].strip('"'))
        except Invalid as refusal:
            messages.warning(request, refusal.message, extra_tags=refusal.first_code)
            return Q(pk__in=[])

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return instance_context(request, row)

    @display(description="Instance", header=True, ordering="reference")
    def words(self, instance: Instance) -> list[str]:
        return [str(instance), f"{instance.template}, version {instance.version.number}"]

    @display(description="Status", label=LABELS, ordering="status")
    def state_label(self, instance: Instance) -> str:
        return instance.status

    @display(description="Current state")
    def waits_for(self, instance: Any) -> str:
        told = summary_of(instance, instance.waits.all(), instance.open_tasks, {}, None)
        return f"{told.first} {told.more}".strip()

    @display(description="Started by", ordering="started_by_name")
    def starter(self, instance: Instance) -> str:
        return instance.started_by_name.capitalize() or "the engine"
