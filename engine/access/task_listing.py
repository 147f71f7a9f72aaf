"""Walk the offers of open tasks in the order in which the inbox shows them.

An offer is a row of `wf_task_candidates` whose primary key is the principal and then the place in the list. One index walk
for each principal of a person (themselves, their roles, their tenant) goes as far as the merged list needs it: the database
takes the next place of whichever walk is ahead, leaves out a task that it has just met, and stops at the limit. Nothing is
sorted as a whole and nothing is counted to its end, so a page costs the same among a million tasks as among a few.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, IntegerField, OuterRef, Q, QuerySet, Subquery, UUIDField, Value

from engine.db.keyset_pagination import URGENT, Cursor, beyond
from engine.kernel.effects import PRIORITIES
from engine.models import Task, TaskCandidate
from engine.models.base import NEVER

PLACE = ("rank", "due_at", "task_id")
BACKWARDS = tuple(f"-{name}" for name in PLACE)
MET = "SELECT DISTINCT rank, due_at, task_id FROM (%(subquery)s) AS walked ORDER BY %(order)s LIMIT %(limit)s"
"""Each place once: the walks are in order already, so that equal ones follow each other and the limit ends all of them."""

Place = tuple[int, datetime, UUID]


class Met(Subquery):
    """The ids of the tasks that a walk meets, in its order, inside another query."""

    template = f"ARRAY(SELECT task_id FROM ({MET}) AS met ORDER BY %(order)s)"
    output_field = ArrayField(UUIDField())


class CountedWalk(Subquery):
    """How many tasks a walk meets up to its limit, inside another query."""

    template = f"(SELECT count(*) FROM ({MET}) AS met)"
    output_field = IntegerField()
    empty_result_set_value = 0


@dataclass(frozen=True, slots=True)
class Walk:
    """The tasks offered to some principals, of those that fit. Some lists hold tasks bound to a person besides: late ones."""

    tenant: QuerySet[Any, Any]
    """The single row that a query of its own is attached to."""
    principals: Sequence[UUID]
    offered: QuerySet[Task]
    """What may be taken, in any order."""
    bound: Sequence[QuerySet[Task]] = ()
    """Bound ones, which all have a date: one walk for each person."""
    due_before: Any = None
    """A moment, or an expression that is one."""
    stood_in_for: Sequence[tuple[UUID, QuerySet[Task]]] = ()
    """The absent people whose offers count too, each with what may be taken for them."""

    def narrowed(self, *conditions: Q) -> "Walk":
        """Keep only tasks that fit more conditions."""
        bound = [rows.filter(*conditions) for rows in self.bound]
        absent = [(principal, rows.filter(*conditions)) for principal, rows in self.stood_in_for]
        return replace(self, offered=self.offered.filter(*conditions), bound=bound, stood_in_for=absent)

    def met(self, limit: int, after: Place | None = None, *, backwards: bool = False) -> QuerySet[Any, Any]:
        """Return the query whose one row holds so many tasks of the merged list, from its beginning or beyond a place."""
        order = ", ".join(f"{name} {'DESC' if backwards else 'ASC'}" for name in PLACE)
        met = Met(self._ways(limit, after, backwards), limit=limit, order=order)
        found: QuerySet[Any, Any] = self.tenant.annotate(met=met).values_list("met")
        return found

    def counted(self, limit: int) -> CountedWalk:
        """Return the count up to the limit, as a part of a query."""
        return CountedWalk(self._ways(limit, None, backwards=False), limit=limit, order=", ".join(PLACE))

    def _ways(self, limit: int, after: Place | None, backwards: bool) -> QuerySet[Any, Any]:
        walked = [*((principal, self.offered) for principal in self.principals), *self.stood_in_for]
        ways = [self._offers(principal, rows, limit, after, backwards) for principal, rows in walked]
        ways += [self._bound(rows, limit, after, backwards) for rows in self.bound]
        first, *others = ways
        return first.union(*others, all=True).order_by(*(BACKWARDS if backwards else PLACE))

    def _offers(
        self, principal: UUID, takeable: QuerySet[Task], limit: int, after: Place | None, backwards: bool
    ) -> QuerySet[Any, Any]:
        """Walk the offers to one principal. Each is looked up by itself, which keeps the planner from reading the whole list."""
        fits = takeable.order_by().filter(pk=OuterRef("task_id")).annotate(fits=Value(True)).values("fits")
        rows = TaskCandidate.objects.alias(fits=Subquery(fits, output_field=BooleanField()))
        rows = rows.filter(principal=principal, fits=True)
        if self.due_before is not None:
            rows = rows.filter(due_at__lt=self.due_before)
        if after is not None:
            rows = rows.filter(**{f"pk__{'lt' if backwards else 'gt'}": (principal, *after)})
        return rows.order_by(*(BACKWARDS if backwards else PLACE)).values_list(*PLACE)[:limit]

    def _bound(self, rows: QuerySet[Task], limit: int, after: Place | None, backwards: bool) -> QuerySet[Any, Any]:
        if self.due_before is not None:
            rows = rows.filter(due_at__lt=self.due_before)
        if after is not None:
            from_place = Cursor((len(PRIORITIES) - after[0], after[1], after[2]), backwards)
            rows = rows.filter(beyond(URGENT, from_place))
        rows = rows.annotate(rank=Value(len(PRIORITIES)) - F("priority"), task_id=F("pk"))
        order = ("priority", "-due_at", "-id") if backwards else ("-priority", "due_at", "id")
        return rows.order_by(*order).values_list("rank", "due_at", "task_id")[:limit]


def place_of(values: Sequence[Any]) -> Place:
    """Turn the values of a cursor in the order of urgency into a place."""
    priority, due_at, task_id = values
    return len(PRIORITIES) - priority, due_at or NEVER, task_id
