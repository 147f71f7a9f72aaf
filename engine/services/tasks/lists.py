"""The lists of tasks, the same behind every door: which rows each shows, in which order, a page or a capped count at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, Q, QuerySet, Subquery

from engine import access
from engine.access.task_listing import Walk, page_of_walk, rows_in_order
from engine.db.keyset_pagination import (
    DUE,
    LAST_DONE,
    NEWEST,
    NEXT_UP,
    OLDEST,
    URGENT,
    Column,
    Cursor,
    Page,
    beside,
    page_of,
)
from engine.models import Task
from workflowplatform.accounts.actor import Actor

MOST_COUNTED = 100
"""Lists are counted no further than one past this."""

ORDERS: Mapping[str, Sequence[Column]] = {"urgent": URGENT, "due": DUE, "newest": NEWEST, "oldest": OLDEST}
"""Orders that may be asked for; without one each list has its own."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """One list: its rows for an actor, its own order, and where there is one the walk that reads them in order of urgency."""

    rows: Callable[[Actor], QuerySet[Task]]
    order: Sequence[Column] = URGENT
    walk: Callable[[Actor], Walk] | None = None


VIEWS: Mapping[str, TaskView] = {
    "mine": TaskView(access.tasks_mine),
    "available": TaskView(access.tasks_available, walk=access.walk_available),
    "team": TaskView(access.tasks_team),
    "overdue": TaskView(access.tasks_overdue, walk=access.walk_overdue),
    "done": TaskView(access.tasks_done, LAST_DONE),
    "snoozed": TaskView(access.tasks_snoozed, NEXT_UP),
}


@dataclass(frozen=True, slots=True)
class TaskList:
    """A list as somebody asked for it: whose, which, what must fit, in which order."""

    actor: Actor
    view: TaskView
    conditions: tuple[Q, ...] = ()
    order: Sequence[Column] = URGENT

    def page(self, cursor: Cursor | None, limit: int, *, without: Sequence[str] = ()) -> Page:
        """Read one page; a fixed number of queries. `without` names columns that are not needed."""
        walk = self._walk()
        if walk is not None:
            seen = access.visible_tasks(self.actor).defer(*without)
            return page_of_walk(walk, seen, cursor, limit)
        return page_of(self._rows().defer(*without), self.order, cursor, limit)

    def opening(self, limit: int, *, without: Sequence[str] = ()) -> tuple[int, Page]:
        """Read the first page and the capped count together: where the list is walked, one walk serves both."""
        walk = self._walk()
        if walk is None:
            return count_lists(self.actor, {"all": self})["all"], self.page(None, limit, without=without)
        met = walk.met(MOST_COUNTED + 1)
        rows = rows_in_order(access.visible_tasks(self.actor).defer(*without), met[:limit])
        return len(met), Page(rows, beside(rows, URGENT, -1, len(met) > limit), None)

    def counted(self) -> Subquery:
        """Say how many rows there are, but no further than one past the cap, as a part of a query."""
        walk = self._walk()
        if walk is not None:
            return walk.counted(MOST_COUNTED + 1)
        return Counted(self._rows().order_by().values("pk")[: MOST_COUNTED + 1])

    def _rows(self) -> QuerySet[Task]:
        return self.view.rows(self.actor).filter(*self.conditions)

    def _walk(self) -> Walk | None:
        """Give the walk, where this list has one and stands in its order."""
        if self.view.walk is None or self.order is not URGENT:
            return None
        return self.view.walk(self.actor).narrowed(*self.conditions)


class Counted(Subquery):
    """Count the rows of a query inside another one; the query itself says how many at most."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()
    empty_result_set_value = 0


def list_named(actor: Actor, name: str, conditions: Sequence[Q] = (), order: str = "") -> TaskList:
    """Give a list by the name of its view, narrowed and ordered as asked; unknown names raise KeyError."""
    view = VIEWS[name]
    return TaskList(actor, view, tuple(conditions), ORDERS[order] if order else view.order)


def count_lists(actor: Actor, lists: Mapping[str, TaskList | QuerySet[Any, Any]]) -> dict[str, int]:
    """Count several lists in one query, each up to its cap."""
    if not lists:
        return {}
    parts = {f"count_{place}": _part(each) for place, each in enumerate(lists.values())}
    found = access.own_tenant(actor).annotate(**parts).values_list(*parts).get()
    return dict(zip(lists, found, strict=True))


def _part(each: TaskList | QuerySet[Any, Any]) -> Subquery:
    return each.counted() if isinstance(each, TaskList) else Counted(each.order_by().values("pk")[: MOST_COUNTED + 1])
