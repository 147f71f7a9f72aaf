"""The list of instances, a page at a time, with what belongs to its rows."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from engine import access
from engine.access.placeholders import placeholder_of
from engine.access.task_filters import Asked, conditions_of
from engine.db.keyset_pagination import Column, Cursor, Page, given_cursor, page_with, rows_beyond
from engine.db.query_shapes import Among, Build, Given, Whole, read_rows
from engine.models import Instance, Task, Wait
from workflowplatform.accounts.actor import Actor


def page_of_instances(
    actor: Actor,
    asked: Sequence[Asked | Q],
    order: Sequence[Column],
    cursor: Cursor | None,
    limit: int,
    *,
    only: Sequence[str],
) -> Page:
    """Read one page of the instances that an actor sees, with only some columns; one query."""
    beside = {name.rpartition("__")[0] for name in only} - {""}

    def prepare(given: Given) -> Build:
        reader, conditions = placeholder_of(actor, given), conditions_of(asked, given)
        start = given_cursor(cursor, given)

        def build() -> Any:
            rows = access.visible_instances(reader).filter(*conditions)
            rows = rows.select_related(None).select_related(*beside) if beside else rows.select_related(None)
            return rows_beyond(rows.only(*only), order, start, limit)

        return build

    return page_with(read_rows(("instances", order, limit, tuple(only)), prepare), order, cursor, limit)


def waits_seen(actor: Actor, rows: Iterable[Instance]) -> dict[UUID, list[Wait]]:
    """Return what each of some instances that an actor sees waits for; one query."""
    wanted = Whole(row.pk for row in rows)

    def prepare(given: Given) -> Build:
        reader, among = placeholder_of(actor, given), given(wanted)
        return lambda: access.waits_of(reader).filter(Among("instance_id", among))

    found: dict[UUID, list[Wait]] = defaultdict(list)
    for wait in read_rows("waits", prepare) if wanted else ():
        found[wait.instance_id].append(wait)
    return found


def open_tasks_of(actor: Actor, ids: Iterable[UUID], only: Sequence[str]) -> dict[UUID, list[Task]]:
    """Return the open tasks of each of some instances that an actor sees, the most urgent first; one query."""
    wanted = Whole(ids)
    beside = {name.rpartition("__")[0] for name in only} - {""}

    def prepare(given: Given) -> Build:
        reader, among = placeholder_of(actor, given), given(wanted)

        def build() -> Any:
            rows = access.tasks_team(reader).filter(Among("instance_id", among))
            return rows.select_related(None).select_related(*beside).only(*only)

        return build

    found: dict[UUID, list[Task]] = defaultdict(list)
    for task in read_rows(("open tasks", tuple(only)), prepare) if wanted else ():
        found[task.instance_id].append(task)
    return found
