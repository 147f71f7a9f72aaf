"""What open pages ask when the stream told them of something. Answers are small, and nothing here changes anything."""

from datetime import datetime
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from engine import access
from engine.errors import NotFound
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters import live
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import LISTS, list_named, rows_of
from tasks_inbox.views.tasks import said_part


@require_GET
@never_cache
@inbox_page
def news(request: InboxRequest) -> HttpResponse:
    """Return what changed: the counts, and for a list which of its rows are gone and how many are new."""
    actor = request.actor
    answer: dict[str, object] = {"counts": live.counts_of(actor)}
    if request.GET.get("view") in LISTS and "since" in request.GET:
        chosen = list_named(request.GET["view"], actor)
        found = rows_of(actor, chosen, Filter.read(chosen.name, request.GET))
        shown = live.Shown(_moment(request.GET["since"]), _ids(request, "shown"), _ids(request, "heard"))
        fresh = live.fresh_in(found, shown)
        answer |= {"fresh": fresh, "words": live.fresh_words(fresh), "gone": live.gone_from(actor, found, shown)}
    return JsonResponse(answer)


@require_GET
@never_cache
@inbox_page
def task_news(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Return the notice for an open page of a task; 204 while the page is up to date. A fragment, not a page."""
    if request.headers.get("Sec-Fetch-Dest") == "document":
        return redirect("inbox:task", task_id)
    task = access.tasks_heard(request.actor).filter(pk=task_id).select_related("assignee").first()
    if task is None:
        raise NotFound
    notice = live.notice_about(request.actor, task, request.GET.get("was", ""))
    if notice is None:
        return HttpResponse(status=204)
    return render(request, "inbox/live_notice.html", {"notice": notice, "task": task})


@require_GET
@never_cache
@inbox_page
def said(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Return what was said and done at a task. A fragment, not a page."""
    if request.headers.get("Sec-Fetch-Dest") == "document":
        return redirect("inbox:task", task_id)
    return said_part(request, task_id, toasts=False)


def _ids(request: InboxRequest, name: str) -> list[UUID]:
    """Read ids; what is none is no row of ours."""
    found = []
    for text in request.GET.get(name, "").split(",")[: live.MOST_ASKED]:
        try:
            found.append(UUID(text))
        except ValueError:
            continue
    return found


def _moment(text: str) -> datetime:
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    return found if found is not None and found.tzinfo is not None else timezone.now()
