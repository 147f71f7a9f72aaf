"""Acts over many rows: chosen in a list, looked at before they are begun, and watched while workers do them."""

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
from engine.admin.row_actions import Button
from engine.errors import WorkflowError
from engine.models import Audit, BulkAct, BulkRow
from engine.models.bulk_act import DONE, REFUSED, STOPPED, WAITING
from engine.services.instances import bulk_operations
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

SHOWN = 200
"""How many rows one page of an act shows."""
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
    "retry": "The step that failed runs again in each, from where it stands.",
    "skip": "The step that failed counts as done in each, and the flow goes on after it.",
    "suspend": "Each stands still until it is resumed; its timers keep their time.",
    "resume": "Each goes on; what fell due meanwhile is delivered now.",
    "cancel": "Everything open is withdrawn: tasks, timers and other workflows that they started. This cannot be undone.",
    "replay": "Each signal goes back into the queue with fresh attempts, and its instance goes on.",
    "discard": "Each signal is given up. Its instance stays an incident until you retry, skip or cancel it.",
}
LABELS = {"at work": "info", "done": "success", "stopped": "warning"}


def noun(action: str, count: int) -> str:
    """Name what an act is done to."""
    word = "dead letter" if bulk_operations.KINDS[action].of_letters else "instance"
    return word if count == 1 else f"{word}s"


def words_of(action: str, count: int) -> str:
    """Say an act and to how many it is done."""
    return f"{VERBS[action]} {count:,} {noun(action, count)}"


def action_of(action: str) -> Any:
    """Make the entry of a list's menu that leads to the page on which an act is looked at first."""

    @admin.action(description=f"{BUTTONS[action]} …")
    def choose(page: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse:
        return confirm_page(request, page.admin_site, action, list(rows.order_by("pk").values_list("pk", flat=True)))

    choose.__name__ = f"{action}_chosen"
    return choose


def confirm_page(request: HttpRequest, site: Any, action: str, ids: list[UUID], refusal: str = "") -> HttpResponse:
    """Show what an act would do to the rows chosen, and ask for the reason."""
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
        "wf_refusal": refusal,
        "wf_back": _list_of(action),
    }
    return TemplateResponse(request, "admin/bulk_act_confirm.html", context, status=422 if refusal else 200)


def _list_of(action: str) -> str:
    model = "deadletter" if bulk_operations.KINDS[action].of_letters else "instance"
    return reverse(f"admin:engine_{model}_changelist")


def ids_in(texts: list[str]) -> list[UUID]:
    """Read ids, one or several in a text; what is none is left out."""
    return [found for text in texts for one in text.split(",") if (found := id_in(one)) is not None]


def id_in(text: str) -> UUID | None:
    """Read an id, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None


def begin(request: HttpRequest, site: Any, action: str, ids: list[UUID]) -> HttpResponse:
    """Begin an act and show it at work; a refusal leads back to the page that asked, with what was typed."""
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
        return confirm_page(request, site, action, ids, refusal.message)
    return redirect("admin:engine_bulkact_change", act.pk)


def stop(request: HttpRequest, act: BulkAct) -> str:
    """Leave undone what is not done yet."""
    bulk_operations.stop_bulk_act(actor=actor_of(request), act_id=act.pk)
    return "Stopped. What was done stays done; the rest was left as it is."


def is_at_work(actor: Actor, act: BulkAct) -> bool:
    """Offer it while rows are left."""
    return not act.is_over


@admin.register(BulkAct)
class BulkActAdmin(TenantAdmin):
    nothing = "Nobody has done anything to many rows at once. Tick rows of a list and choose an act."
    visible = staticmethod(access.visible_bulk_acts)
    list_display = ("words", "state_label", "results", "starter", "started")
    started = moment_column("started_at", "Begun")
    search_fields = ("reason", "started_by_name")
    ordering = ("-id",)
    change_form_template = "admin/bulk_act_page.html"
    buttons = (
        Button(
            "stop",
            "Stop",
            stop,
            TO_OPERATE,
            is_at_work,
            danger=True,
            preview="What is not done yet is left as it is. What is done stays done.",
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
        """Tell the acts of the tenant that began and stopped such acts; each row's own stands with its instance."""
        return Audit.objects.filter(
            tenant_id=actor.tenant_id, subject_id=actor.tenant_id, action__endswith="_bulk_act", at__gte=row.started_at
        )

    def begin_view(self, request: HttpRequest) -> HttpResponse:
        """Begin what the page before showed."""
        action = request.POST.get("action", "")
        if action not in bulk_operations.KINDS:
            raise Http404
        return begin(request, self.admin_site, action, ids_in(request.POST.getlist("rows")))

    def progress_view(self, request: HttpRequest, act_id: UUID) -> HttpResponse:
        """Give the part of the page that changes while the act is at work."""
        act = access.visible_bulk_acts(actor_of(request)).filter(pk=act_id).first()
        if act is None:
            raise Http404
        answer = TemplateResponse(request, "admin/bulk_act_progress.html", progress_context(request, act))
        if act.is_over:
            answer["HX-Refresh"] = "true"
        return answer

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {"title": words_of(row.action, row.total), "subtitle": None, **progress_context(request, row)}

    @display(description="What", header=True)
    def words(self, act: BulkAct) -> list[str]:
        return [words_of(act.action, act.total), act.reason]

    @display(description="Status", label=LABELS)
    def state_label(self, act: BulkAct) -> str:
        return status_of(act)

    @display(description="Results")
    def results(self, act: Any) -> str:
        told = [(act.done_rows, "done"), (act.refused_rows, "refused"), (act.stopped_rows, "left undone")]
        return ", ".join(f"{count:,} {word}" for count, word in told if count) or "nothing yet"

    @display(description="Begun by", ordering="started_by_name")
    def starter(self, act: BulkAct) -> str:
        return act.started_by_name.capitalize()


def status_of(act: BulkAct) -> str:
    """Say how an act stands."""
    if not act.is_over:
        return "at work"
    return "stopped" if act.stopped_by_name else "done"


FILTERS = {"": "All", REFUSED: "Refused", DONE: "Done", WAITING: "Still to do", STOPPED: "Left undone"}


def progress_context(request: HttpRequest, act: BulkAct) -> dict[str, Any]:
    """Tell how far an act is: the sentence, the bar, and a page of its rows, refusals first."""
    progress = bulk_operations.progress_of(act)
    shown = request.GET.get("show", "")
    rows = act.rows.filter(status=shown) if shown in FILTERS and shown else act.rows.all()
    after = request.GET.get("after", "")
    rows = rows.filter(place__gt=int(after)) if after.isascii() and after.isdigit() and len(after) < 9 else rows
    listed = list(rows.order_by("place")[: SHOWN + 1])
    stand = _where_they_stand(request, act, listed[:SHOWN]) if act.is_over else {}
    for row in listed:
        row.now = stand.get(row.subject_id, "")  # type: ignore[attr-defined]
    return {
        "wf_act": act,
        "wf_status": status_of(act),
        "wf_progress": progress,
        "wf_sentence": _sentence(act, progress),
        "wf_now": _now_words(request, act) if act.is_over else "",
        "wf_rows": listed[:SHOWN],
        "wf_next": listed[SHOWN - 1].place if len(listed) > SHOWN else None,
        "wf_after": after,
        "wf_shown": shown,
        "wf_filters": _filters(progress),
        "wf_subject": "admin:engine_deadletter_change"
        if bulk_operations.KINDS[act.action].of_letters
        else "admin:engine_instance_change",
    }


def _where_they_stand(request: HttpRequest, act: BulkAct, rows: list[BulkRow]) -> dict[UUID, str]:
    """Say how the instances of an act stand by now: what was tried again may have failed again."""
    if bulk_operations.KINDS[act.action].of_letters:
        return {}
    found = access.visible_instances(actor_of(request)).filter(pk__in=[row.subject_id for row in rows])
    return dict(found.values_list("pk", "status"))


def _now_words(request: HttpRequest, act: BulkAct) -> str:
    """Count how all instances of an act stand by now."""
    if bulk_operations.KINDS[act.action].of_letters:
        return ""
    there = access.visible_instances(actor_of(request)).filter(pk__in=act.rows.values("subject_id"))
    counted = there.order_by().values_list("status").annotate(count=Count("pk")).order_by("-count", "status")
    return ", ".join(f"{count:,} {status}" for status, count in counted)


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
    """Say first what matters: how many are done, and how many were refused."""
    done = f"{progress.done:,} of {progress.total:,} {bulk_operations.KINDS[act.action].done}"
    refused = f", {progress.refused:,} refused" if progress.refused else ""
    stopped = f", {progress.stopped:,} left undone" if progress.stopped else ""
    if not act.is_over:
        return f"At work: {done}{refused}. You can leave this page; it goes on."
    return f"{done}{refused}{stopped}."
