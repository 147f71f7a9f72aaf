"""The lists of tasks, the same on pages and over REST: their rows, their order, a page or a capped count at a time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import IntegerField, Q, QuerySet, Subquery

from engine import access
from engine.access.placeholders import placeholder_of
from engine.access.task_filters import Asked, conditions_of
from engine.access.task_listing import Place, Walk, place_of
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
    given_cursor,
    page_with,
    rows_beyond,
)
from engine.db.query_shapes import PLAIN, Among, Build, Given, Whole, read_rows
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
class Reading:
    """Which columns of a task's row are read: all but some, or only some."""

    without: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def of(self, rows: QuerySet[Task]) -> QuerySet[Task]:
        """Return the same query for these columns."""
        if not self.only:
            return rows.defer(*self.without)
        beside = {name.rpartition("__")[0] for name in self.only} - {""}
        return rows.select_related(None).select_related(*beside).only(*self.only)


@dataclass(frozen=True, slots=True)
class TaskList:
    """A list as a person asked for it: whose, which, what must fit, in which order."""

    actor: Actor
    view: TaskView
    conditions: tuple[Q | Asked, ...] = ()
    order: Sequence[Column] = URGENT

    def page(self, cursor: Cursor | None, limit: int, *, without: Sequence[str] = (), only: Sequence[str] = ()) -> Page:
        """Read one page; a fixed number of queries. Columns are named that are not needed, or that alone are."""
        read = Reading(tuple(without), tuple(only))
        if self._is_walked:
            after = place_of(cursor.values) if cursor else None
            backwards = cursor is not None and cursor.backwards
            met = self._met(limit + 1, after, backwards)
            shown = rows_in_order(self.actor, reversed(met[:limit]) if backwards else met[:limit], read)
            return self._page_of_walk(shown, len(met) > limit, cursor)

        def prepare(given: Given) -> Build:
            asked, start = self.given(given), given_cursor(cursor, given)
            return lambda: rows_beyond(read.of(asked.rows()), self.order, start, limit)

        return page_with(read_rows(("page", read, limit), prepare), self.order, cursor, limit)

    def opening(self, limit: int, *, without: Sequence[str] = ()) -> tuple[int, Page]:
        """Read the first page and the capped count together: where the list is walked, one walk serves both."""
        if not self._is_walked:
            return count_lists(self.actor, {"all": self})["all"], self.page(None, limit, without=without)
        met, read = self._met(MOST_COUNTED + 1), Reading(tuple(without))
        return len(met), self._page_of_walk(rows_in_order(self.actor, met[:limit], read), len(met) > limit, None)

    def counted(self) -> Subquery:
        """Return the count of rows, up to one past the cap, as a part of a query."""
        if self._is_walked:
            return self._walk().counted(MOST_COUNTED + 1)
        return _counted(self.rows())

    def rows(self) -> QuerySet[Task]:
        """Return the query for all rows of the list."""
        return self.view.rows(self.actor).filter(*conditions_of(self.conditions, PLAIN))

    def given(self, given: Given) -> "TaskList":
        """Return the same list of placeholders."""
        given.form((self.view, self.order))
        actor = placeholder_of(self.actor, given)
        return replace(self, actor=actor, conditions=tuple(conditions_of(self.conditions, given)))

    @property
    def _is_walked(self) -> bool:
        """Return whether this list has a walk and is in its order."""
        return self.view.walk is not None and self.order is URGENT

    def _walk(self) -> Walk:
        assert self.view.walk is not None
        return self.view.walk(self.actor).narrowed(*conditions_of(self.conditions, PLAIN))

    def _met(self, limit: int, after: Place | None = None, backwards: bool = False) -> list[UUID]:
        """Read so many ids of what the walk meets; one query."""

        def prepare(given: Given) -> Build:
            walk = self.given(given)._walk
            start = None if after is None else (given(after[0]), given(after[1]), given(after[2]))
            return lambda: walk().met(limit, start, backwards=backwards)

        ((met,),) = read_rows(("met", limit, after is None, backwards), prepare)
        return met or []

    def _page_of_walk(self, shown: list[Task], more: bool, cursor: Cursor | None) -> Page:
        forwards = cursor is None or not cursor.backwards
        after, before = (more, cursor is not None) if forwards else (True, more)
        return Page(shown, beside(shown, URGENT, -1, after), beside(shown, URGENT, 0, before))


def rows_in_order(actor: Actor, wanted: Iterable[UUID], read: Reading) -> list[Task]:
    """Read tasks that an actor sees by id, in the order asked for; what went meanwhile is left out."""
    ids = Whole(wanted)

    def prepare(given: Given) -> Build:
        reader, among = placeholder_of(actor, given), given(ids)
        return lambda: read.of(access.visible_tasks(reader)).order_by().filter(Among("pk", among))

    found = {task.pk: task for task in read_rows(("tasks", read), prepare)} if ids else {}
    return [found[one] for one in ids if one in found]


class Counted(Subquery):
    """Count the rows of a query inside another one; the query itself says how many at most."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()
    empty_result_set_value = 0


def list_named(actor: Actor, name: str, conditions: Sequence[Q | Asked] = (), order: str = "") -> TaskList:
    """Return a list by the name of its view, narrowed and ordered as asked; unknown names raise KeyError."""
    view = VIEWS[name]
    return TaskList(actor, view, tuple(conditions), ORDERS[order] if order else view.order)


Countable = TaskList | QuerySet[Any, Any] | Callable[[Actor], QuerySet[Any, Any]]
"""A list, a query, or what makes a query for an actor: that one is built once for all of them."""


def count_lists(actor: Actor, lists: Mapping[str, Countable]) -> dict[str, int]:
    """Count several lists in one query, each up to its cap."""
    if not lists:
        return {}

    def prepare(given: Given) -> Build:
        own = placeholder_of(actor, given)
        parts = {f"count_{place}": _part(each, own, given) for place, each in enumerate(lists.values())}
        return lambda: (
            access.own_tenant(own).annotate(**{name: part() for name, part in parts.items()}).values_list(*parts)
        )

    (found,) = read_rows("counts", prepare)
    return dict(zip(lists, found, strict=True))


def _part(each: Countable, actor: Actor, given: Given) -> Callable[[], Subquery]:
    if isinstance(each, TaskList):
        return each.given(given).counted
    if isinstance(each, QuerySet):
        given.doubt()
        return lambda: _counted(each)
    given.form(each)
    return lambda: _counted(each(actor))


def _counted(rows: QuerySet[Any, Any]) -> Subquery:
    return Counted(rows.order_by().values("pk")[: MOST_COUNTED + 1])
