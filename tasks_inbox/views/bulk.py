"""Act on many tasks of a list at once, and take the next one without choosing."""

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
from engine.services.assigning import take_next_task
from engine.services.bulk import BulkResult, act_on_tasks
from tasks_inbox.guard import InboxRequest, inbox_page, said
from tasks_inbox.toasts import undoable

ALL_DONE = {
    "claim": gettext_lazy("%(done)d claimed."),
    "release": gettext_lazy("%(done)d released."),
    "assign": gettext_lazy("%(done)d given."),
}
SOME_DONE = {
    "claim": gettext_lazy("%(done)d claimed, %(left)d not"),
    "release": gettext_lazy("%(done)d released, %(left)d not"),
    "assign": gettext_lazy("%(done)d given, %(left)d not"),
}


@require_POST
@inbox_page
def act(request: InboxRequest) -> HttpResponse:
    """Claim, release or give away all chosen tasks; where some were refused, a page says which and why."""
    sent = request.POST if "action" in request.POST else request.GET
    action = sent.get("action", "")
    try:
        results = act_on_tasks(
            actor=request.actor,
            action=action,
            task_ids=_chosen(sent),
            person=sent.get("person") or None,
            reason=said(request, "reason"),
        )
    except Invalid as refusal:
        messages.error(request, refusal.message)
        return redirect(_list_address(sent))
    if not all(result.ok for result in results):
        return _results_page(request, sent, action, results)
    _say_all_done(request, sent, action, results)
    return redirect(_list_address(sent))


def _say_all_done(request: InboxRequest, sent: QueryDict, action: str, results: list[BulkResult]) -> None:
    """Say how many; what was claimed can be given back, what was released or given away had holders of its own."""
    words = str(ALL_DONE[action]) % {"done": len(results)}
    if action != "claim":
        messages.success(request, words)
        return
    undo = {"action": "release", "task": [result.task_id for result in results], "back": sent.get("back", "")}
    undoable(request, words, f"{reverse('inbox:bulk')}?{urlencode(undo, doseq=True)}")


def _chosen(sent: QueryDict) -> list[UUID]:
    """Read the ids of the ticked rows; what is no id was not written by the page."""
    try:
        return [UUID(text) for text in sent.getlist("task")]
    except ValueError:
        return []


def _list_address(sent: QueryDict) -> str:
    """Lead back to the list as it was asked for."""
    asked = QueryDict(sent.get("back", "")).urlencode()
    return reverse("inbox:mine") + (f"?{asked}" if asked else "")


def _results_page(request: InboxRequest, sent: QueryDict, action: str, results: list[BulkResult]) -> HttpResponse:
    seen = access.visible_tasks(request.actor).in_bulk([result.task_id for result in results])
    done = sum(result.ok for result in results)
    context = {
        "place": QueryDict(sent.get("back", "")).get("view", "mine"),
        "rows": [(result, seen.get(result.task_id)) for result in results],
        "heading": str(SOME_DONE[action]) % {"done": done, "left": len(results) - done},
        "back": _list_address(sent),
    }
    return render(request, "inbox/bulk.html", context)


@require_POST
@inbox_page
def take_next(request: InboxRequest) -> HttpResponse:
    """Claim the most urgent task that fits the list's workflow and role, and open it."""
    wanted = {name: said(request, name) or None for name in ("template", "role")}
    task = take_next_task(actor=request.actor, template=wanted["template"], role=wanted["role"])
    if task is None:
        messages.info(request, _("Nothing is open to you right now."))
        return redirect(_list_address(request.POST))
    messages.success(request, _("Claimed. It is yours now."))
    return redirect("inbox:task", task_id=task.pk)
