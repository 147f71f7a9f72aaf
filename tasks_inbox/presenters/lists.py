"""The lists of the inbox: what each is called, what it says of itself, how it is counted, and its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from engine import access
from engine.access.task_filters import columns_declared
from engine.models import ListSettings, TemplateVersion
from engine.services.tasks import lists as task_lists
from engine.services.tasks.lists import MOST_COUNTED, ORDERS, TaskList
from tasks_inbox.presenters.filters import Filter
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT

PAGE = 24
UNSEEN = (
    "form", "payload", "instructions", "description", "excluded", "familiar", "answer", "instance__input", "instance__state",
    "version__source", "version__canonical", "version__findings",
)  # fmt: skip
"""What no row shows, and what may be large."""


@dataclass(frozen=True, slots=True)
class Words:
    """One list: its name in addresses, its words, its icon, and the view of the services that it shows."""

    name: str
    word: Any
    sentence: Any
    icon: str
    view: str
    order: Any = None
    """The one order of a list that cannot be sorted otherwise."""
    lowest_level: int = 0
    counted: bool = True


LISTS: Mapping[str, Words] = {
    each.name: each
    for each in (
        Words("mine", _("Mine"), _("Your tasks."), "user-check", "mine"),
        Words("available", _("Available"), _("Tasks you can claim."), "inbox", "available"),
        Words("team", _("Team"), _("All open tasks in your organisation."), "users", "team", None, TO_SEE_TENANT),
        Words(
            "overdue",
            _("Overdue"),
            _("Late tasks that are yours or that you can claim."),
            "clock-exclamation",
            "overdue",
        ),
        Words(
            "later",
            _("Snoozed"),
            _("Your tasks, hidden until later."),
            "clock",
            "snoozed",
            _("Next first"),
            counted=False,
        ),
        Words("done", _("Done"), _("Tasks you completed."), "checks", "done", _("Newest first"), counted=False),
    )
}

ORDER_WORDS: Mapping[str, Any] = {
    "urgent": _("Priority, then due"),
    "due": _("Due first"),
    "newest": _("Newest first"),
    "oldest": _("Oldest first"),
}
assert ORDER_WORDS.keys() == ORDERS.keys()


def lists_for(actor: Actor) -> list[Words]:
    """Return the lists that make sense at this level."""
    return [each for each in LISTS.values() if actor.level >= each.lowest_level]


def list_named(name: str, actor: Actor) -> Words:
    """Return a list by its name in the address; an unknown one is Mine."""
    wanted = LISTS.get(name, LISTS["mine"])
    return wanted if actor.level >= wanted.lowest_level else LISTS["mine"]


def count_words(count: int) -> str:
    """Write a capped count."""
    return f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count)


def rows_of(actor: Actor, chosen: Words, asked: Filter) -> TaskList:
    """Return the rows that a person asks of a list."""
    return task_lists.list_named(actor, chosen.view, asked.conditions(), "" if chosen.order else asked.sort)


def declared_columns(actor: Actor, asked: Filter) -> list[str]:
    """List the columns that the workflow declares to which a list is narrowed."""
    if not asked.template:
        return []
    versions = TemplateVersion.objects.in_force().filter(tenant_id=actor.tenant_id, template__name=asked.template)
    return columns_declared(versions.values_list("canonical", flat=True).first())


def start_query(actor: Actor, settings: ListSettings | None) -> str:
    """Return the address of the list with which a person's inbox opens; empty where it is Mine."""
    if settings is None:
        return ""
    saved = settings.start_filter
    if saved is not None and access.sees_filter(actor, saved):
        return saved.query
    named = next((each for each in lists_for(actor) if each.view == settings.start_view), None)
    return f"view={named.name}" if named and named.name != "mine" else ""
