"""Act on many tasks of a list at once, and take the next one without choosing."""

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
    action = request.POST.get("action", "")
    try:
        results = act_on_tasks(
            actor=request.actor,
            action=action,
            task_ids=_chosen(request),
            person=request.POST.get("person") or None,
            reason=said(request, "reason"),
        )
    except Invalid as refusal:
        messages.error(request, refusal.message)
        return redirect(_list_address(request))
    if all(result.ok for result in results):
        messages.success(request, str(ALL_DONE[action]) % {"done": len(results)})
        return redirect(_list_address(request))
    return _results_page(request, action, results)


def _chosen(request: InboxRequest) -> list[UUID]:
    """Read the ids of the ticked rows; what is no id was not written by the page."""
    try:
        return [UUID(text) for text in request.POST.getlist("task")]
    except ValueError:
        return []


def _list_address(request: InboxRequest) -> str:
    """Lead back to the list as it was asked for."""
    asked = QueryDict(request.POST.get("back", "")).urlencode()
    return reverse("inbox:mine") + (f"?{asked}" if asked else "")


def _results_page(request: InboxRequest, action: str, results: list[BulkResult]) -> HttpResponse:
    seen = access.visible_tasks(request.actor).in_bulk([result.task_id for result in results])
    done = sum(result.ok for result in results)
    context = {
        "place": QueryDict(request.POST.get("back", "")).get("view", "mine"),
        "rows": [(result, seen.get(result.task_id)) for result in results],
        "heading": str(SOME_DONE[action]) % {"done": done, "left": len(results) - done},
        "back": _list_address(request),
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
        return redirect(_list_address(request))
    messages.success(request, _("Claimed. It is yours now."))
    return redirect("inbox:task", task_id=task.pk)
