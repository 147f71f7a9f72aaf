"""Fill the side of every page: lists and saved filters with their counts, who is signed in and where."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import template
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from engine import access
from engine.models import Instance, SavedFilter
from engine.presentation.narrative.people_names import name_of
from engine.presentation.narrative.relative_times import last_day_words
from engine.services.tasks import lists as task_lists
from engine.services.tasks.handover import questions_for
from engine.services.tasks.lists import TaskList, count_lists
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import Words, count_words, list_named, lists_for
from workflowplatform.accounts.actor import Actor, StandIn
from workflowplatform.accounts.models import Tenant, User

register = template.Library()

MOST_SAVED = 12
"""How many saved filters the side shows and counts."""


@dataclass(frozen=True, slots=True)
class Link:
    name: str
    word: str
    url: str
    icon: str
    count: str | None
    current: bool
    late: bool = False
    aside: str = ""
    """What a reader hears besides."""


@dataclass(frozen=True, slots=True)
class Side:
    """What the side shows."""

    tenant: str
    person: User
    roles: list[str]
    lists: list[Link]
    saved: list[Link]
    started: Link
    kept: SavedFilter | None
    """The saved filter that the page shows, if it shows one."""
    may_delete: bool
    changeable: list[SavedFilter]
    """The saved filters that the person may set to what a list is asked for."""
    load: Link | None
    """The page of their team, for its leads."""
    standing: list[Link]
    """The tasks of each absent person for whom they stand in."""


@register.simple_tag(takes_context=True)
def navigation(context: template.Context) -> Side:
    """Read what the side shows; a fixed number of queries, whatever the size of the lists."""
    request = context["request"]
    actor, place, address = request.actor, str(context.get("place", "")), str(context.get("address", ""))
    lists, saved = lists_for(actor), list(access.visible_filters(actor)[:MOST_SAVED])
    counts = count_lists(actor, _counted(actor, lists, saved))
    kept = next((one for one in saved if one.query == address), None)
    standing = any(_query_for(one) == address for one in actor.stands_in)
    return Side(
        tenant=str(Tenant.objects.get(pk=actor.tenant_id)),
        person=request.user,
        roles=[str(role) for role in access.visible_roles(actor).filter(pk__in=actor.roles)],
        lists=[
            *(_link(each, counts, place if kept is None and not standing else "") for each in lists),
            *_questions(counts, place),
        ],
        saved=[_saved(each, counts, kept) for each in saved],
        started=_started(counts, place),
        kept=kept,
        may_delete=kept is not None and access.owns_filter(actor, kept),
        changeable=[each for each in saved if access.may_change_filter(actor, each)],
        load=_load(actor, place),
        standing=[_standing(one, counts, address) for one in actor.stands_in],
    )


def _counted(actor: Actor, lists: list[Words], saved: list[SavedFilter]) -> dict[str, Any]:
    own: dict[str, Any] = {each.name: task_lists.list_named(actor, each.view) for each in lists if each.counted}
    own |= {"questions": questions_for(actor)}
    own |= {f"for {one.name}": rows_of_query(actor, _query_for(one)) for one in actor.stands_in}
    return own | {str(each.pk): rows_of_query(actor, each.query) for each in saved} | {"started": _live_requests}


def _live_requests(actor: Actor) -> QuerySet[Instance]:
    return access.visible_instances(actor).filter(started_by_id=actor.person_id).live()


def _query_for(absent: StandIn) -> str:
    return Filter("mine").of(absent.name).address()


def _standing(absent: StandIn, counts: dict[str, int], address: str) -> Link:
    """Link to what is an absent person's, until their last day."""
    day = last_day_words(absent.until - timedelta(minutes=1), timezone.now())
    word = _("For %(name)s until %(day)s") % {"name": name_of(absent.name), "day": day}
    query = _query_for(absent)
    count = count_words(counts[f"for {absent.name}"])
    return Link(f"for-{absent.name}", word, f"{reverse('inbox:mine')}?{query}", "user-share", count, query == address)


def rows_of_query(actor: Actor, query: str) -> TaskList:
    """Return the list that an address asks for, such as that of a saved filter."""
    asked = QueryDict(query)
    chosen = list_named(asked.get("view", ""), actor)
    return task_lists.list_named(actor, chosen.view, Filter.read(chosen.name, asked).conditions())


def _link(each: Words, counts: dict[str, int], place: str) -> Link:
    count = count_words(counts[each.name]) if each.counted else None
    late = each.name == "overdue" and count != "0"
    return Link(each.name, str(each.word), list_url(each.name), each.icon, count, place == each.name, late)


def _saved(each: SavedFilter, counts: dict[str, int], kept: SavedFilter | None) -> Link:
    url = f"{reverse('inbox:mine')}?{each.query}"
    shared = _("shared") if each.shared else str(each.role) if each.role else ""
    icon, aside = ("users-group", shared) if shared else ("bookmark", "")
    return Link(str(each.pk), each.name, url, icon, count_words(counts[str(each.pk)]), each == kept, aside=aside)


def _questions(counts: dict[str, int], place: str) -> list[Link]:
    """Link to the questions that wait for the person, where there are any."""
    if not counts["questions"]:
        return []
    count = count_words(counts["questions"])
    return [Link("questions", _("Questions"), reverse("inbox:questions"), "message", count, place == "questions")]


def _started(counts: dict[str, int], place: str) -> Link:
    count = count_words(counts["started"])
    return Link("started", _("My requests"), reverse("inbox:started"), "route", count, place == "started")


def _load(actor: Actor, place: str) -> Link | None:
    """Link to the load of the teams that a person leads."""
    if not (actor.leads or access.sees_tenant(actor)):
        return None
    return Link("load", _("Team load"), reverse("inbox:team"), "chart-bar", None, place == "load")


@register.simple_tag
def list_url(name: str) -> str:
    """Return the address of a list."""
    return f"{reverse('inbox:mine')}?view={name}"
