"""Fill the side of every page: lists with their counts, who is signed in and where."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse
from django.utils.translation import gettext as _

from engine import access
from tasks_inbox.lists import TaskList, capped_count, count_words, lists_for
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant, User

register = template.Library()


@dataclass(frozen=True, slots=True)
class Link:
    word: str
    url: str
    icon: str
    count: str | None
    current: bool
    late: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """What the side shows."""

    tenant: str
    person: User
    roles: list[str]
    lists: list[Link]
    started: Link


@register.simple_tag(takes_context=True)
def navigation(context: template.Context) -> Side:
    """Read what the side shows; a fixed number of queries, whatever the size of the lists."""
    request = context["request"]
    actor, place = request.actor, str(context.get("place", ""))
    return Side(
        tenant=str(Tenant.objects.get(pk=actor.tenant_id)),
        person=request.user,
        roles=[str(role) for role in access.visible_roles(actor).filter(pk__in=actor.roles)],
        lists=[_link(each, actor, place) for each in lists_for(actor)],
        started=_started(actor, place),
    )


def _link(each: TaskList, actor: Actor, place: str) -> Link:
    count = count_words(capped_count(each.rows(actor))) if each.counted else None
    return Link(str(each.word), list_url(each.name), each.icon, count, place == each.name, late=each.name == "overdue")


def _started(actor: Actor, place: str) -> Link:
    live: Any = access.visible_instances(actor).filter(started_by_id=actor.person_id).live()
    return Link(
        _("Started by me"), reverse("inbox:started"), "route", count_words(capped_count(live)), place == "started"
    )


@register.simple_tag
def list_url(name: str) -> str:
    """Return the address of a list."""
    return reverse("inbox:mine") + ("" if name == "mine" else f"?view={name}")
