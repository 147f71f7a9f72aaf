"""Pages that list tasks."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from engine import access
from engine.access.task_filters import LATE
from engine.db.keyset_pagination import Cursor, Page, read_cursor
from engine.errors import NotFound
from engine.models import Template, TemplateVersion
from engine.presentation.forms.numbers import measure_text
from engine.services.tasks import lists as task_lists
from engine.services.tasks.list_exports import MOST_EXPORTED
from engine.services.tasks.lists import TaskList, count_lists
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.presenters.filters import AGE_WORDS, DUE_WORDS, PRIORITY_WORDS, Filter
from tasks_inbox.presenters.list_columns import columns_for
from tasks_inbox.presenters.lists import (
    ORDER_WORDS,
    PAGE,
    UNSEEN,
    Words,
    count_words,
    declared_columns,
    list_named,
    rows_of,
    start_query,
)
from tasks_inbox.presenters.prev_next import HEADING, came_from, list_address, task_address, task_after
from tasks_inbox.presenters.standing_in import absent_people, locked_rows, whose
from tasks_inbox.presenters.task_actions import MOST_PEOPLE
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE, TO_SEE_TENANT

MOST_LOOKED_AT = 1000
BULK_ACTS = {
    "mine": ("release",),
    "available": ("claim",),
    "team": ("claim", "release"),
    "overdue": ("claim", "release"),
    "later": ("release",),
}
"""What makes sense for many rows of a list at once; giving them away does wherever the person operates."""
ANSWERED_TOGETHER = ("mine", "available", "team", "overdue")
"""The lists whose rows can be answered together."""


@require_GET
@inbox_page
def task_list(request: InboxRequest) -> HttpResponse:
    """Show one list of tasks, searched, filtered and paged; without an address the one that the person starts with."""
    actor = request.actor
    settings = access.list_settings_of(actor).first()
    start = start_query(actor, settings)
    if start and not request.GET:
        return redirect(f"{reverse('inbox:mine')}?{start}")
    chosen = list_named(request.GET.get("view", "mine"), actor)
    asked = Filter.read(chosen.name, request.GET)
    shown = rows_of(actor, chosen, asked)
    count, page = _page(request, shown)
    late = 0 if chosen.name in ("overdue", "done") else count_lists(actor, {"late": narrowed_to_late(shown)})["late"]
    templates = _templates(actor, shown)
    declared = declared_columns(actor, asked)
    context: dict[str, Any] = (
        {
            "place": chosen.name,
            "list": chosen,
            "asked": asked,
            "address": asked.address(),
            "chips": asked.chips(dict(templates)),
            "templates": templates,
            "columns": declared,
            "look": columns_for(settings, chosen, declared),
            "start": start or "view=mine",
            "most_exported": measure_text(MOST_EXPORTED),
            "count": count,
            "late": late,
            "page": page,
            "page_size": PAGE,
            "elsewhere": max(count - len(page.rows), 0),
            "after": request.GET.get("after", ""),
        }
        | _places(request, page)
        | _choices(actor, chosen, asked)
        | _standing_in(actor, chosen, asked, page)
    )
    if not count:
        context |= _empty(actor)
    return render(request, "inbox/list.html", context)


@require_GET
@inbox_page
def following(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Open what follows an answered task in the list that the person came from, else that list."""
    query = came_from(request)
    try:
        task = access.task_of(request.actor, task_id)
    except NotFound:  # handed on by the answer itself
        return redirect(list_address(query))
    found = task_after(request.actor, task, query or "view=mine")
    return redirect(task_address(found.pk, query) + HEADING if found else list_address(query))


def _page(request: InboxRequest, shown: TaskList) -> tuple[int, Page]:
    """Read the page that the address asks for, and how many rows there are in all."""
    cursor = cursor_of(request, shown)
    if cursor is None:
        return shown.opening(PAGE, without=UNSEEN)
    return count_lists(request.actor, {"all": shown})["all"], shown.page(cursor, PAGE, without=UNSEEN)


def _places(request: InboxRequest, page: Page) -> dict[str, int]:
    """Return the numbers of the rows on the page, and those with which the pages before and after it begin."""
    first = _first_place(request)
    return {
        "place_from": first,
        "place_to": first + len(page.rows) - 1,
        "place_before": max(first - PAGE, 1),
        "place_after": first + len(page.rows),
    }


def _first_place(request: InboxRequest) -> int:
    """Read the place of the page's first row, as its address says; a broken one is the first."""
    said = request.GET.get("from", "")
    return int(said) if request.GET.get("after") and said.isdigit() and len(said) < 7 else 1


def narrowed_to_late(shown: TaskList) -> TaskList:
    """Keep what is late of a list."""
    return TaskList(shown.actor, shown.view, (*shown.conditions, LATE), shown.order)


def cursor_of(request: InboxRequest, shown: TaskList) -> Cursor | None:
    """Read where a page begins; a broken mark begins at the start."""
    try:
        return read_cursor(request.GET["after"], shown.order) if request.GET.get("after") else None
    except ValueError:
        return None


def _templates(actor: Actor, shown: TaskList) -> list[tuple[str, str]]:
    """List the workflows to choose from: the active ones, and below level 4 only those of visible tasks."""
    templates = Template.objects.filter(tenant_id=actor.tenant_id)
    if actor.level >= TO_SEE_TENANT:
        templates = templates.filter(pk__in=TemplateVersion.objects.in_force().values("template"))
    else:
        near = shown.view.rows(actor).order_by()[:MOST_LOOKED_AT].values("version__template_id")
        templates = templates.filter(pk__in=near)
    return [(name, title or name) for name, title in templates.order_by("title").values_list("name", "title")]


def _choices(actor: Actor, chosen: Words, asked: Filter) -> dict[str, Any]:
    """List what the filters and the acts on many rows offer."""
    operates = actor.level >= TO_OPERATE
    named = access.visible_roles(actor) if operates else access.visible_roles(actor).filter(pk__in=actor.roles)
    roles = list(named.order_by("name"))
    people = access.visible_people(actor).filter(is_active=True).order_by("username")[:MOST_PEOPLE]
    return {
        "roles": [(role.name, str(role), role.name in asked.chosen("role")) for role in roles],
        "priorities": [(name, word, name in asked.chosen("priority")) for name, word in PRIORITY_WORDS.items()],
        "dues": DUE_WORDS.items(),
        "ages": AGE_WORDS.items(),
        "by_person": chosen.name in ("team", "overdue"),
        "orders": () if chosen.order else ORDER_WORDS.items(),
        "order_word": chosen.order or ORDER_WORDS[asked.sort or "urgent"],
        "people": people if operates and chosen.name != "done" else (),
        "asked_roles": asked.chosen("role"),
        "bulk": BULK_ACTS.get(chosen.name, ()),
        "together": chosen.name in ANSWERED_TOGETHER,
        "may_share": actor.level >= TO_SEE_TENANT,
        "sharing_roles": roles if operates else (),
    }


def _standing_in(actor: Actor, chosen: Words, asked: Filter, page: Page) -> dict[str, Any]:
    """Tell a deputy whose tasks are among the rows, and which of these rules keep from them."""
    if chosen.name not in ("mine", "available", "overdue") or not actor.stands_in:
        return {}
    return {
        "absent": absent_people(actor),
        "whose": whose(actor, chosen, asked),
        "locked": locked_rows(actor, page.rows),
    }


def _empty(actor: Actor) -> dict[str, Any]:
    """Return the texts of an empty list: what was done today or this week, and what else is open."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    today = access.tasks_done(actor).filter(completed_at__gte=midnight)
    found = count_lists(actor, {"done": today, "open": task_lists.list_named(actor, "available")})
    return {
        "done_today": found["done"],
        "available": found["open"],
        "available_words": count_words(found["open"]),
        "my_roles": [str(role) for role in access.visible_roles(actor).filter(pk__in=actor.roles).order_by("name")],
    }
