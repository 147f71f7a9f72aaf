"""The lists of the inbox: which tasks each shows, in which words, and how it goes on to the next page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from engine import access
from engine.models import Task, Template
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT

PAGE = 24
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
        TaskList("done", _("Done"), _("What you completed, newest first."), "checks", access.tasks_done),
    )
}


def lists_for(actor: Actor) -> list[TaskList]:
    """Return the lists that make sense at this level."""
    return [each for each in LISTS.values() if actor.level >= each.lowest_level]


def list_named(name: str, actor: Actor) -> TaskList:
    """Return a list by its name in the address; an unknown one is Mine."""
    wanted = LISTS.get(name, LISTS["mine"])
    return wanted if actor.level >= wanted.lowest_level else LISTS["mine"]


def search(rows: QuerySet[Task], words: str) -> QuerySet[Task]:
    """Keep tasks in whose title, reference or template every word stands."""
    for word in words.split()[:8]:
        rows = rows.filter(
            Q(title__icontains=word)
            | Q(business_reference__icontains=word)
            | Q(version__template__title__icontains=word)
        )
    return rows


def capped_count(rows: QuerySet[Any]) -> int:
    """Count rows, but no further than one past the cap: large lists stay cheap."""
    return rows.order_by()[: MOST_COUNTED + 1].count()


def count_words(count: int) -> str:
    """Write a capped count."""
    return f"{MOST_COUNTED}+" if count > MOST_COUNTED else str(count)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of rows and where the next begins."""

    rows: list[Task]
    next: str


def page_of(rows: QuerySet[Task], name: str, after: str) -> Page:
    """Cut one page out of a list, walking its order instead of counting offsets."""
    begin, mark = (_after_done, _mark_done) if name == "done" else (_after_open, _mark_open)
    found = list(rows.filter(begin(after))[: PAGE + 1])
    return Page(found[:PAGE], mark(found[PAGE - 1]) if len(found) > PAGE else "")


def _mark_open(task: Task) -> str:
    return f"{task.priority}~{task.due_at.isoformat() if task.due_at else ''}~{task.pk}"


def _mark_done(task: Task) -> str:
    return f"~{task.completed_at.isoformat() if task.completed_at else ''}~{task.pk}"


def _after_open(mark: str) -> Q:
    """Say which rows follow a mark in the order priority, due date, id; without a mark, all."""
    read = _read_mark(mark)
    if read is None or read[0] is None:
        return Q()
    priority, due_at, task_id = read
    same = Q(priority=priority)
    if due_at is None:
        return Q(priority__lt=priority) | same & Q(due_at__isnull=True, pk__gt=task_id)
    later = Q(due_at__gt=due_at) | Q(due_at__isnull=True) | Q(due_at=due_at, pk__gt=task_id)
    return Q(priority__lt=priority) | same & later


def _after_done(mark: str) -> Q:
    read = _read_mark(mark)
    if read is None or read[1] is None:
        return Q()
    _priority, at, task_id = read
    return Q(completed_at__lt=at) | Q(completed_at=at, pk__lt=task_id)


def _read_mark(mark: str) -> tuple[int | None, datetime | None, UUID] | None:
    """Read a mark from an address; a broken one is as good as none."""
    try:
        priority, at, task_id = mark.split("~")
        return int(priority) if priority else None, datetime.fromisoformat(at) if at else None, UUID(task_id)
    except ValueError:
        return None


def templates_in(rows: QuerySet[Task]) -> list[tuple[str, str]]:
    """List the templates that occur among a list's rows, by name and title, for the filter."""
    near = rows.order_by()[:MOST_LOOKED_AT].values("version__template_id")
    return list(Template.objects.filter(pk__in=near).order_by("title").values_list("name", "title"))
