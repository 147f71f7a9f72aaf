"""Instances: found by reference, template, status, what they wait for and what their state holds; told in sentences."""

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
from engine.admin.instance_page import case_context
from engine.errors import Invalid
from engine.kernel.effects import WaitKind
from engine.kernel.transitions import OPEN_TASK
from engine.models import Instance, Task
from engine.presentation.narrative.status_summary import sentence_of
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
    WaitKind.TIMER: "its time",
    WaitKind.SIGNAL: "a signal",
    WaitKind.CHILD: "another workflow",
    WaitKind.RETRY: "another try",
    WaitKind.CALL: "an answer from outside",
    WaitKind.ADD: "more to come",
}
OF_STATE = re.compile(r"(?:state\.)?([\w.]+)=(.*)")
"""How business state is searched for: `amount=1200`, `order.city="New York"`."""
WORDS = re.compile(r'[\w.]+="[^"]*"|\S+')


class WaitingFilter(admin.SimpleListFilter):
    """Keep what waits for one kind of thing."""

    title = "what it waits for"
    parameter_name = "waiting"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, words) for kind, words in WAITS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Instance]) -> QuerySet[Instance]:
        return queryset.filter(waits_for([self.value() or ""])) if self.value() in set(WaitKind) else queryset


@admin.register(Instance)
class InstanceAdmin(TenantAdmin):
    nothing = "Nothing has been started yet. People start workflows in the inbox, programs over REST."
    visible = staticmethod(access.visible_instances)
    list_display = ("words", "state_label", "waits_for", "starter", "started")
    started = moment_column("started_at", "Started")
    list_filter = ("status", WaitingFilter, "template")
    search_fields = ("reference", "started_by_name")
    search_help_text = "Reference, who started it, or business state such as amount=1200"
    ordering = ("-id",)
    show_full_result_count = False
    change_form_template = "admin/instance_page.html"
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
        """Find by words as usual; a word like `amount=1200` asks for the business state."""
        words = WORDS.findall(search_term)
        for word in words:
            queryset = queryset.filter(self._found_by(request, word))
        return queryset, False

    def _found_by(self, request: HttpRequest, word: str) -> Q:
        asked = OF_STATE.fullmatch(word)
        if asked is None:
            return Q(reference__icontains=word) | Q(started_by_name__icontains=word)
        try:
            return state_holds(asked[1].split("."), asked[2].strip('"'))
        except Invalid as refusal:
            messages.warning(request, refusal.message)
            return Q(pk__in=[])

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return case_context(request, row)

    @display(description="Instance", header=True, ordering="reference")
    def words(self, instance: Instance) -> list[str]:
        return [str(instance), f"{instance.template}, version {instance.version.number}"]

    @display(description="Status", label=LABELS, ordering="status")
    def state_label(self, instance: Instance) -> str:
        return instance.status

    @display(description="Where it stands")
    def waits_for(self, instance: Any) -> str:
        told = sentence_of(instance, instance.waits.all(), instance.open_tasks, {}, None)
        return f"{told.first} {told.more}".strip()

    @display(description="Started by", ordering="started_by_name")
    def starter(self, instance: Instance) -> str:
        return instance.started_by_name.capitalize() or "the engine"
