"""Act on many tasks of a list at once, and take the next one without choosing."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from engine import access
from engine.errors import Invalid
from engine.models import Task
from engine.presentation.forms.task_form import comment_rule
from engine.services.tasks.assignment import take_next_task
from engine.services.tasks.bulk import MOST_TASKS, BulkResult, act_on_tasks
from engine.services.tasks.bulk_complete import look_together
from engine.services.tasks.bulk_reports import keep_report
from engine.services.tasks.undo import pending_answers
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.pending_answers import remember
from tasks_inbox.presenters import amounts
from tasks_inbox.presenters.bulk_words import ALL_DONE
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import PAGE, UNSEEN, list_named, rows_of
from tasks_inbox.presenters.prev_next import list_address
from tasks_inbox.views.bulk_reports import report_page
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

ALL_ASKED = {
    "claim": gettext_lazy("Claim %(n)d tasks?"),
    "release": gettext_lazy("Release %(n)d tasks?"),
    "assign": gettext_lazy("Assign %(n)d tasks?"),
}
VERBS = {
    "claim": gettext_lazy("Claim %(n)d tasks"),
    "release": gettext_lazy("Release %(n)d tasks"),
    "assign": gettext_lazy("Assign %(n)d tasks"),
}
KEPT_WORDS = ("person", "reason", "outcome", "comment")
"""What an act asks for besides the tasks, and its report keeps."""
MOST_MATCHING = 500
"""How many tasks one act on all that match may concern."""


@require_POST
@inbox_page
def act(request: InboxRequest) -> HttpResponse:
    """Do one act to all chosen tasks; where some were refused, a page says which and why."""
    sent = request.POST if "action" in request.POST else request.GET
    action = sent.get("action", "")
    chosen = _chosen(request.actor, sent)
    if len(chosen) > PAGE and action in ALL_ASKED and "sure" not in sent:
        return _confirm_page(request, sent, action, chosen)
    try:
        results = _act_on(request, sent, action, chosen)
    except Invalid as refusal:
        toast(request, refusal.first_code, refusal.message, level=messages.ERROR)
        return redirect(_list_address(sent))
    if results[0].code == "comment_required":
        return _together_page(request, sent, wrong=results[0].message, wrong_code=results[0].code, status=400)
    words = {name: sent.get(name, "") for name in KEPT_WORDS if sent.get(name)}
    report = keep_report(actor=request.actor, action=action, query=sent.get("back", ""), results=results, words=words)
    done = [result for result in results if result.ok]
    if done:
        _say_done(request, sent, action, done)
    if report._state.adding:
        return report_page(request, report)
    return redirect("inbox:bulk_report", report_id=report.pk) if report.left else redirect(_list_address(sent))


def _act_on(request: InboxRequest, sent: QueryDict, action: str, chosen: list[UUID]) -> list[BulkResult]:
    """Do the act in portions, each complete in itself."""
    words = _words(request, sent, chosen)
    batch_id = words["batch_id"]
    portions = [chosen[at : at + MOST_TASKS] for at in range(0, len(chosen), MOST_TASKS)] or [[]]
    results = [
        result
        for portion in portions
        for result in act_on_tasks(actor=request.actor, task_ids=portion, action=action, **words)
    ]
    pending = pending_answers(actor=request.actor, batch_id=batch_id) if batch_id else []
    if pending:
        remember(request, pending, str(ALL_DONE[action]) % {"done": len(pending)})
    return results


def _confirm_page(request: InboxRequest, sent: QueryDict, action: str, chosen: list[UUID]) -> HttpResponse:
    """Repeat the count before something is done to more than a page."""
    tasks = access.visible_tasks(request.actor).defer(*UNSEEN).filter(pk__in=chosen)
    context = {
        "place": QueryDict(sent.get("back", "")).get("view", "mine"),
        "all": "all" in sent,
        "chosen": () if "all" in sent else chosen,
        "sum": amounts.together(tasks),
        "count": len(chosen),
        "question": str(ALL_ASKED[action]) % {"n": len(chosen)},
        "verb": str(VERBS[action]) % {"n": len(chosen)},
        "action": action,
        "person": sent.get("person", ""),
        "list_address": sent.get("back", ""),
        "back": _list_address(sent),
        "most": MOST_MATCHING if "all" in sent and len(chosen) >= MOST_MATCHING else 0,
    }
    return render(request, "inbox/bulk_confirm.html", context)


def _words(request: InboxRequest, sent: QueryDict, chosen: list[UUID]) -> dict[str, Any]:
    """Read what the action needs besides the tasks."""
    return {
        "person": sent.get("person") or None,
        "reason": posted_line(request, "reason"),
        "outcome": sent.get("outcome", ""),
        "comment": request.POST.get("comment", ""),
        "holders": dict(zip(chosen, sent.getlist("holder"), strict=False)),
        "batch_id": uuid7() if sent.get("action") == "complete" else None,
    }


def _say_done(request: InboxRequest, sent: QueryDict, action: str, results: list[BulkResult]) -> None:
    """Show the count, with Undo: claimed tasks are released, released or assigned ones return to the people who had them."""
    words = str(ALL_DONE[action]) % {"done": len(results)}
    undo: dict[str, Any] = {"task": [result.task_id for result in results], "back": sent.get("back", "")}
    if action == "claim":
        undo["action"] = "release"
    elif action in ("release", "assign"):
        undo |= {"action": "give_back", "holder": [result.holder for result in results]}
    else:
        if not any(result.task.is_being_sent for result in results if result.task):
            toast(request, f"tasks.{action}", words)
        return
    address = f"{reverse('inbox:bulk')}?{urlencode(undo, doseq=True)}"
    toast(request, f"tasks.{action}", words, undo=address)


@require_POST
@inbox_page
def together(request: InboxRequest) -> HttpResponse:
    """Ask for the one answer to all chosen tasks, and list those that cannot be answered this way."""
    try:
        return _together_page(request, request.POST)
    except Invalid as refusal:
        toast(request, refusal.first_code, refusal.message, level=messages.ERROR)
        return redirect(_list_address(request.POST))


def _together_page(
    request: InboxRequest, sent: QueryDict, *, wrong: str = "", wrong_code: str = "", status: int = 200
) -> HttpResponse:
    found = look_together(actor=request.actor, task_ids=_chosen(request.actor, sent))
    ready = [one.task for one in found if one.refusal is None]
    context = {
        "place": QueryDict(sent.get("back", "")).get("view", "mine"),
        "back": _list_address(sent),
        "list_address": sent.get("back", ""),
        "ready": ready,
        "left": [one for one in found if one.refusal is not None],
        "outcomes": _common_outcomes(ready),
        "comment": comment_rule(_common_outcomes(ready), ready[0].comment_rule) if ready else None,
        "typed": request.POST.get("comment", ""),
        "wrong": wrong,
        "wrong_code": wrong_code,
    }
    return render(request, "inbox/bulk_complete.html", context, status=status)


def _common_outcomes(tasks: list[Task]) -> list[dict[str, Any]]:
    """List the outcomes that every task offers: other versions of a workflow may have others."""
    shared = set.intersection(*({outcome["name"] for outcome in task.outcomes} for task in tasks)) if tasks else set()
    return [outcome for outcome in tasks[0].outcomes if outcome["name"] in shared] if tasks else []


def _chosen(actor: Actor, sent: QueryDict) -> list[UUID]:
    """Read the ids of the ticked rows, or of all that match; what is no id was not written by the page."""
    if "all" in sent:
        return _matching(actor, QueryDict(sent.get("back", "")))
    try:
        return [UUID(text) for text in sent.getlist("task")]
    except ValueError:
        return []


def _matching(actor: Actor, asked: QueryDict) -> list[UUID]:
    """List what a list holds as it was asked for, on all its pages."""
    chosen = list_named(asked.get("view", "mine"), actor)
    shown = rows_of(actor, chosen, Filter.read(chosen.name, asked))
    return [row.pk for row in shown.page(None, MOST_MATCHING, without=UNSEEN).rows]


def _list_address(sent: QueryDict) -> str:
    """Lead back to the list as it was asked for."""
    return list_address(QueryDict(sent.get("back", "")).urlencode())


@require_POST
@inbox_page
def take_next(request: InboxRequest) -> HttpResponse:
    """Claim the most urgent task that fits the list's workflow and role, and open it."""
    wanted = {name: posted_line(request, name) or None for name in ("template", "role")}
    task = take_next_task(actor=request.actor, template=wanted["template"], role=wanted["role"])
    if task is None:
        toast(request, "next.none", _("No tasks to claim right now."), level=messages.INFO)
        return redirect(_list_address(request.POST))
    toast(request, "task.claimed", _("Claimed. It’s yours now."), undo=reverse("inbox:release", args=[task.pk]))
    return redirect("inbox:task", task_id=task.pk)
