"""Pages that list: tasks by view, and what one started."""

from typing import Any

from django.db.models import Prefetch
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from engine import access
from engine.models import Instance, Task
from engine.telling.outline import outline_of, steps_by_id
from engine.telling.sentence import Sentence, sentence_of
from tasks_inbox.filters import DUE_WORDS, ORDER_WORDS, PRIORITY_WORDS, Filter
from tasks_inbox.guard import InboxRequest, inbox_page
from tasks_inbox.lists import TaskList, capped_count, count_words, list_named, templates_in
from tasks_inbox.offers import MOST_PEOPLE
from tasks_inbox.orders import PAGE, page_of
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MOST_STARTED = 100
BULK_ACTS = {
    "mine": ("release",),
    "available": ("claim",),
    "team": ("claim", "release"),
    "overdue": ("claim", "release"),
    "later": ("release",),
}
"""What makes sense for many rows of a list at once; giving them away does wherever the person operates."""


@require_GET
@inbox_page
def task_list(request: InboxRequest) -> HttpResponse:
    """Show one list of tasks, searched, filtered and paged."""
    actor = request.actor
    chosen = list_named(request.GET.get("view", "mine"), actor)
    asked = Filter.read(request.GET)
    rows, order = chosen.rows(actor), asked.order_of(chosen)
    found = asked.keep(rows)
    count = capped_count(found)
    context: dict[str, Any] = {
        "place": chosen.name,
        "list": chosen,
        "asked": asked,
        "order": order,
        "templates": templates_in(rows),
        "count": count,
        "count_words": count_words(count),
        "page": page_of(found, order, request.GET.get("after", "")),
        "page_size": PAGE,
        "filtered": bool(asked),
        "after": request.GET.get("after", ""),
    } | _choices(actor, chosen)
    if not count and not context["filtered"]:
        context |= _empty(actor)
    return render(request, "inbox/list.html", context)


def _choices(actor: Actor, chosen: TaskList) -> dict[str, Any]:
    """List what the filters and the acts on many rows offer."""
    operates = actor.level >= TO_OPERATE
    roles = access.visible_roles(actor) if operates else access.visible_roles(actor).filter(pk__in=actor.roles)
    people = access.visible_people(actor).filter(is_active=True).order_by("username")[:MOST_PEOPLE]
    return {
        "roles": roles.order_by("name"),
        "priorities": PRIORITY_WORDS.items(),
        "dues": DUE_WORDS.items(),
        "orders": () if chosen.order else ORDER_WORDS.items(),
        "people": people if operates and chosen.name != "done" else (),
        "bulk": BULK_ACTS.get(chosen.name, ()),
    }


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
    rows = list(mine.prefetch_related("waits", _open_tasks())[: MOST_STARTED + 1])
    shown = _with_sentences(rows[:MOST_STARTED], actor)
    context = {"place": "started", "rows": shown, "most": MOST_STARTED, "more": len(rows) > MOST_STARTED}
    return render(request, "inbox/started.html", context)


def _open_tasks() -> "Prefetch[Any]":
    return Prefetch("tasks", queryset=Task.objects.open().select_related("assignee"))


def _with_sentences(instances: list[Instance], actor: Actor) -> list[tuple[Instance, Sentence]]:
    """Say of each case what it waits for, or how it ended; steps are named once a version."""
    versions = {instance.version_id: instance.version.canonical for instance in instances}
    steps = {pk: steps_by_id(outline_of(canonical, ())) for pk, canonical in versions.items()}
    return [
        (
            each,
            sentence_of(each, each.waits.all(), each.tasks.all(), steps[each.version_id], actor.person_id),
        )
        for each in instances
    ]
