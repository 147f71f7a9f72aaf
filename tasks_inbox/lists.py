"""The lists of the inbox: which tasks each shows, in which words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from engine import access
from engine.models import Task, Template
from tasks_inbox.orders import LAST_DONE, NEXT_UP, Order
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT

MOST_COUNTED = 100
MOST_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class TaskList:
    """One list: its name in addresses, its words, its icon and its rows."""

    name: str
    word: Any
    sentence: Any
    icon: str
    rows: Callable[[Actor], QuerySet[Task]]
    lowest_level: int = 0
    order: Order | None = None
    """The one order of a list that cannot be sorted otherwise."""
    counted: bool = True


def tasks_overdue(actor: Actor) -> QuerySet[Task]:
    """Return what is late among the tasks that are the actor's or could be."""
    return (access.tasks_mine(actor) | access.tasks_available(actor)).filter(due_at__lt=timezone.now())


LISTS: Mapping[str, TaskList] = {
    each.name: each
    for each in (
        TaskList("mine", _("Mine"), _("Tasks you claimed or were given."), "user-check", access.tasks_mine),
        TaskList("available", _("Available"), _("You may claim any of these."), "inbox", access.tasks_available),
        TaskList(
            "team", _("Team"), _("Everything open in your organisation."), "users", access.tasks_team, TO_SEE_TENANT
        ),
        TaskList("overdue", _("Overdue"), _("Yours, or open to you, and late."), "clock-exclamation", tasks_overdue),
        TaskList(
            "later", _("Put off"), _("Yours, but not now."), "clock", access.tasks_snoozed, order=NEXT_UP, counted=False
        ),
        TaskList(
            "done",
            _("Done"),
            _("What you completed, newest first."),
            "checks",
            access.tasks_done,
            order=LAST_DONE,
            counted=False,
        ),
    )
}


def lists_for(actor: Actor) -> list[TaskList]:
    """Return the lists that make sense at this level."""
    return [each for each in LISTS.values() if actor.level >= each.lowest_level]


def list_named(name: str, actor: Actor) -> TaskList:
    """Return a list by its name in the address; an unknown one is Mine."""
    wanted = LISTS.get(name, LISTS["mine"])
    return wanted if actor.level >= wanted.lowest_level else LISTS["mine"]


def capped_count(rows: QuerySet[Any]) -> int:
    """Count rows, but no further than one past the cap: large lists stay cheap."""
    return rows.order_by()[: MOST_COUNTED + 1].count()


def count_words(count: int) -> str:
    """Write a capped count."""
    return f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count)


def templates_in(rows: QuerySet[Task]) -> list[tuple[str, str]]:
    """List the templates that occur among a list's rows, by name and title, for the filter."""
    near = rows.order_by()[:MOST_LOOKED_AT].values("version__template_id")
    return list(Template.objects.filter(pk__in=near).order_by("title").values_list("name", "title"))
