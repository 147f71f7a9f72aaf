"""Operations on many rows: selected in a list, previewed, and followed while workers carry them out."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.instance_actions import read_json
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button, code_of
from engine.errors import WorkflowError
from engine.models import Audit, BulkAct, BulkRow
from engine.models.bulk_act import DONE, REFUSED, STOPPED, WAITING
from engine.services.instances import bulk_operations
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

SHOWN = 200
"""The most rows that one page of an operation shows."""
VERBS = {
    "retry": "Retry",
    "skip": "Skip the failed step of",
    "suspend": "Suspend",
    "resume": "Resume",
    "cancel": "Cancel",
    "replay": "Replay",
    "discard": "Discard",
}
BUTTONS = VERBS | {"skip": "Skip"}
FOLLOWS = {
    "retry": "The failed step of each instance runs again.",
    "skip": "The failed step of each instance counts as done, and the instance continues after it.",
    "suspend": "Nothing happens to these instances until you resume them; their timers keep running.",
    "resume": "These instances continue. Timers that ended meanwhile take effect now.",
    "cancel": "Open tasks, timers and instances that they started are withdrawn. This cannot be undone.",
    "replay": "Each signal returns to the queue with all its attempts, and its instance continues.",
    "discard": "These signals are discarded. Their instances keep the incident until you retry, skip or cancel them.",
}
LABELS = {"running": "info", "done": "success", "stopped": "warning"}


def noun(action: str, count: int) -> str:
    word = "dead letter" if _is_of_letters(action) else "instance"
    return word if count == 1 else f"{word}s"


def words_of(action: str, count: int) -> str:
    return f"{VERBS.get(action, action)} {count:,} {noun(action, count)}"


def _is_of_letters(action: str) -> bool:
    """Return whether an action is done to dead letters; one that no release knows is done to instances."""
    return action in bulk_operations.KINDS and bulk_operations.KINDS[action].of_letters


def action_of(action: str) -> Any:
    """Make the entry of a list's menu that opens the preview of an operation."""

    @admin.action(description=f"{BUTTONS[action]} …")
    def choose(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse:
        return confirm_page(request, page.admin_site, action, list(rows.order_by("pk").values_list("pk", flat=True)))

    choose.__name__ = f"{action}_chosen"
    return choose


def confirm_page(
    request: HttpRequest, site: Any, action: str, ids: list[UUID], refusal: WorkflowError | None = None
) -> HttpResponse:
    """Show what an operation would do to the selected rows, and ask for the reason."""
    kind = bulk_operations.kind_named(action)
    seen = bulk_operations.preview_bulk_act(actor=actor_of(request), action=action, subject_ids=ids)
    context = {
        **site.each_context(request),
        "title": f"{words_of(action, seen.total)}?",
        "wf_action": action,
        "wf_button": words_of(action, seen.total) if action != "skip" else f"Skip {seen.total:,} steps",
        "wf_follows": FOLLOWS[action],
        "wf_preview": seen,
        "wf_noun": noun(action, seen.total),
        "wf_kind": kind,
        "wf_danger": action in ("cancel", "discard"),
        "wf_ids": ",".join(map(str, ids)),
        "wf_key": request.POST.get("key") or uuid7(),
        "wf_reason": request.POST.get("reason", ""),
        "wf_output": request.POST.get("output", ""),
        "wf_refusal": refusal.message if refusal else "",
        "wf_refusal_code": code_of(refusal) if refusal else "",
        "wf_back": _list_of(action),
    }
    return TemplateResponse(request, "admin/engine/bulkact/confirm.html", context, status=422 if refusal else 200)


def _list_of(action: str) -> str:
    model = "deadletter" if _is_of_letters(action) else "instance"
    return reverse(f"admin:engine_{model}_changelist")


def ids_in(texts: list[str]) -> list[UUID]:
    """Read ids, one or several per text; anything else is left out."""
    return [found for text in texts for one in text.split(",") if (found := id_in(one)) is not None]


def id_in(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def begin(request: HttpRequest, site: Any, action: str, ids: list[UUID]) -> HttpResponse:
    """Start an operation and show its progress; a refusal shows the preview again, with what was typed."""
    try:
        act = bulk_operations.begin_bulk_act(
            actor=actor_of(request),
            action=action,
            subject_ids=ids,
            reason=request.POST.get("reason", ""),
            arguments={"output": read_json(request.POST.get("output", ""), None)} if action == "skip" else {},
            key=id_in(request.POST.get("key", "")),
        )
    except WorkflowError as refusal:
        return confirm_page(request, site, action, ids, refusal)
    return redirect("admin:engine_bulkact_change", act.pk)


def stop(request: HttpRequest, act: BulkAct) -> str:
    bulk_operations.stop_bulk_act(actor=actor_of(request), act_id=act.pk)
    return "Stopped. What was done is not undone; the other rows were not changed."


def is_running(actor: Actor, act: BulkAct) -> bool:
    return not act.is_over


@admin.register(BulkAct)
class BulkActAdmin(TenantAdmin):
    empty_text = "Select rows in a list and choose an action to change many at once."
    visible = staticmethod(access.visible_bulk_acts)
    list_display = ("words", "state_label", "results", "starter", "started")
    started = moment_column("started_at", "Started")
    search_fields = ("reason", "started_by_name")
    ordering = ("-id",)
    buttons = (
        Button(
            "stop",
            "Stop",
            stop,
            TO_OPERATE,
            is_running,
            danger=True,
            preview="Rows that are not done yet are not changed. What is done is not undone.",
        ),
    )

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("begin/", view(require_POST(self.begin_view)), name="engine_bulkact_begin"),
            path("<uuid:act_id>/progress/", view(self.progress_view), name="engine_bulkact_progress"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BulkAct]:
        rows: QuerySet[BulkAct] = super().get_queryset(request)
        counts = {word: Count("rows", filter=Q(rows__status=word)) for word in (DONE, REFUSED, STOPPED)}
        return rows.annotate(**{f"{word}_rows": count for word, count in counts.items()})

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        """Return the entries that started and stopped operations; those of each row are with its instance."""
        return access.visible_audit(actor).filter(
            subject_id=actor.tenant_id, action__endswith="_bulk_act", at__gte=row.started_at
        )

    def begin_view(self, request: HttpRequest) -> HttpResponse:
        action = request.POST.get("action", "")
        if action not in bulk_operations.KINDS:
            raise Http404
        return begin(request, self.admin_site, action, ids_in(request.POST.getlist("rows")))

    def progress_view(self, request: HttpRequest, act_id: UUID) -> HttpResponse:
        """Return the part of the page that changes while the operation runs."""
        act = access.visible_bulk_acts(actor_of(request)).filter(pk=act_id).first()
        if act is None:
            raise Http404
        answer = TemplateResponse(request, "admin/engine/bulkact/progress.html", progress_context(request, act))
        if act.is_over:
            answer["HX-Refresh"] = "true"
        return answer

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {"title": words_of(row.action, row.total), "subtitle": None, **progress_context(request, row)}

    @display(description="Operation", header=True)
    def words(self, act: BulkAct) -> list[str]:
        return [words_of(act.action, act.total), act.reason]

    @display(description="Status", label=LABELS)
    def state_label(self, act: BulkAct) -> str:
        return status_of(act)

    @display(description="Results")
    def results(self, act: Any) -> str:
        told = [(act.done_rows, "done"), (act.refused_rows, "refused"), (act.stopped_rows, "not done")]
        return ", ".join(f"{count:,} {word}" for count, word in told if count) or "nothing yet"

    @display(description="Started by", ordering="started_by_name")
    def starter(self, act: BulkAct) -> str:
        return act.started_by_name.capitalize()


def status_of(act: BulkAct) -> str:
    if not act.is_over:
        return "running"
    return "stopped" if act.stopped_by_name else "done"


FILTERS = {"": "All", REFUSED: "Refused", DONE: "Done", WAITING: "Waiting", STOPPED: "Not done"}


def progress_context(request: HttpRequest, act: BulkAct) -> dict[str, Any]:
    """Return the progress of an operation: a sentence, the counts, and a page of its rows."""
    progress = bulk_operations.progress_of(act)
    shown = request.GET.get("show", "")
    rows = act.rows.filter(status=shown) if shown in FILTERS and shown else act.rows.all()
    after = request.GET.get("after", "")
    rows = rows.filter(place__gt=int(after)) if after.isascii() and after.isdigit() and len(after) < 9 else rows
    listed = list(rows.order_by("place")[: SHOWN + 1])
    statuses = _statuses(request, act, listed[:SHOWN]) if act.is_over else {}
    for row in listed:
        row.now = statuses.get(row.subject_id, "")  # type: ignore[attr-defined]
    return {
        "wf_act": act,
        "wf_status": status_of(act),
        "wf_progress": progress,
        "wf_sentence": _sentence(act, progress),
        "wf_now": _count_statuses(request, act) if act.is_over else [],
        "wf_rows": listed[:SHOWN],
        "wf_next": listed[SHOWN - 1].place if len(listed) > SHOWN else None,
        "wf_after": after,
        "wf_shown": shown,
        "wf_filters": _filters(progress),
        "wf_subject": "admin:engine_deadletter_change"
        if _is_of_letters(act.action)
        else "admin:engine_instance_change",
    }


def _statuses(request: HttpRequest, act: BulkAct, rows: list[BulkRow]) -> dict[UUID, str]:
    """Return the current status of the instances: a retried one may have failed again."""
    if _is_of_letters(act.action):
        return {}
    found = access.visible_instances(actor_of(request)).filter(pk__in=[row.subject_id for row in rows])
    return dict(found.values_list("pk", "status"))


def _count_statuses(request: HttpRequest, act: BulkAct) -> list[tuple[str, int]]:
    """Count all instances of an operation by their current status."""
    if _is_of_letters(act.action):
        return []
    there = access.visible_instances(actor_of(request)).filter(pk__in=act.rows.values("subject_id"))
    return list(there.order_by().values_list("status").annotate(count=Count("pk")).order_by("-count", "status"))


def _filters(progress: bulk_operations.Progress) -> list[tuple[str, str, int]]:
    counts = {
        "": progress.total,
        REFUSED: progress.refused,
        DONE: progress.done,
        WAITING: progress.total - progress.settled,
        STOPPED: progress.stopped,
    }
    return [(word, FILTERS[word], counts[word]) for word in FILTERS if not word or counts[word]]


def _sentence(act: BulkAct, progress: bulk_operations.Progress) -> str:
    word = bulk_operations.KINDS[act.action].done if act.action in bulk_operations.KINDS else "done"
    done = f"{progress.done:,} of {progress.total:,} {word}"
    refused = f", {progress.refused:,} refused" if progress.refused else ""
    stopped = f", {progress.stopped:,} not done" if progress.stopped else ""
    if not act.is_over:
        return f"Running: {done}{refused}. You can leave this page; it continues."
    return f"{done}{refused}{stopped}."
