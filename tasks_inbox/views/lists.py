"""Pages that list: tasks by view, and what one started."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from engine import access
from tasks_inbox.guard import InboxRequest, inbox_page
from tasks_inbox.lists import PAGE, capped_count, count_words, list_named, page_of, search, templates_in
from workflowplatform.accounts.actor import Actor

MOST_STARTED = 100


@require_GET
@inbox_page
def task_list(request: InboxRequest) -> HttpResponse:
    """Show one list of tasks, searched, filtered and paged."""
    actor = request.actor
    chosen = list_named(request.GET.get("view", "mine"), actor)
    words, template = request.GET.get("q", "").strip(), request.GET.get("template", "")
    rows = chosen.rows(actor)
    templates = templates_in(rows)
    found = search(rows, words)
    if template:
        found = found.filter(version__template__name=template)
    count = capped_count(found)
    context: dict[str, Any] = {
        "place": chosen.name,
        "list": chosen,
        "words": words,
        "template": template,
        "templates": templates,
        "count": count,
        "count_words": count_words(count),
        "page": page_of(found, chosen.name, request.GET.get("after", "")),
        "page_size": PAGE,
        "filtered": bool(words or template),
        "after": request.GET.get("after", ""),
    }
    if not count and not context["filtered"]:
        context |= _empty(actor)
    return render(request, "inbox/list.html", context)


def _empty(actor: Actor) -> dict[str, Any]:
    """Say what an empty list has to say: what was done today, and what else is open."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    available = capped_count(access.tasks_available(actor))
    return {
        "done_today": capped_count(access.tasks_done(actor).filter(completed_at__gte=midnight)),
        "available": available,
        "available_words": count_words(available),
    }


@require_GET
@inbox_page
def started(request: InboxRequest) -> HttpResponse:
    """Show what the person started, newest first."""
    actor = request.actor
    mine = access.visible_instances(actor).filter(started_by_id=actor.person_id)
    rows = list(mine[: MOST_STARTED + 1])
    context = {"place": "started", "rows": rows[:MOST_STARTED], "most": MOST_STARTED, "more": len(rows) > MOST_STARTED}
    return render(request, "inbox/started.html", context)
