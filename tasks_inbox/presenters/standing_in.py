"""For whom a person stands in, as the lists say it: the line above them, chips for whose tasks, rows that are locked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.access.task_rules import either
from engine.models import Task
from engine.presentation.narrative.people_names import name_of
from engine.services.people.absences import standing_in
from engine.services.tasks.lists import TaskList, count_lists
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import Words, count_words, rows_of
from workflowplatform.accounts.actor import Actor, Scope, StandIn

MOST_NAMED = 3
"""How many people a locked row names."""


@dataclass(frozen=True, slots=True)
class Absent:
    """An absent person: until when one stands in for them, what they wrote about it, and what it covers."""

    name: str
    last_moment: datetime
    note: str
    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A chip that narrows a list to one person's tasks."""

    name: str
    word: str
    number: str
    address: str
    current: bool


def absent_people(actor: Actor) -> list[Absent]:
    """Return the people for whom the actor stands in now; one query where there are any."""
    if not actor.stands_in:
        return []
    notes = {row.person_id: row.note for row in standing_in(actor)}
    return [
        Absent(one.name, one.until - timedelta(minutes=1), notes.get(one.person_id, ""), one.scopes)
        for one in actor.stands_in
    ]


def whose(actor: Actor, chosen: Words, asked: Filter) -> list[Choice]:
    """Offer one's own tasks and those of each absent person by themselves; one query where there are any."""
    if not actor.stands_in or chosen.name != "mine":
        return []
    people = {"": _("All"), actor.name: _("Mine")}
    people |= {one.name: _("For %(name)s") % {"name": name_of(one.name)} for one in actor.stands_in}
    counts = count_lists(actor, {name: _of(actor, chosen, asked, name) for name in people})
    return [
        Choice(name, word, count_words(counts[name]), asked.of(name).address(), asked.person == name)
        for name, word in people.items()
    ]


def _of(actor: Actor, chosen: Words, asked: Filter, name: str) -> TaskList:
    return rows_of(actor, chosen, asked.of(name))


def locked_rows(actor: Actor, rows: Sequence[Task]) -> Mapping[UUID, str]:
    """Say of each row that is an absent person's and that the actor may not do: why, and who can. At most three queries."""
    absent: dict[UUID | None, StandIn] = {one.person_id: one for one in actor.stands_in}
    assert actor.person_id is not None, "only people stand in"
    of_absent = [task.pk for task in rows if task.assignee_id in absent]
    barred = access.tasks_barred(actor, of_absent) if of_absent else []
    able = access.people_able(barred, without=actor.person_id)
    return {task.pk: _why(actor, task, absent[task.assignee_id], able.get(task.pk, [])) for task in barred}


def _why(actor: Actor, task: Task, absent: StandIn, able: Sequence[Any]) -> str:
    others = [person for person in able if person.username not in absent.eyes] or list(able)
    words = {"why": _reason(actor, task, absent), "people": _names(others)}
    if not others:
        return _("%(why)s: nobody else can do it") % words
    return _("%(why)s: %(people)s can do it") % words


def _names(people: Sequence[Any]) -> str:
    names = [person.display_name for person in people[:MOST_NAMED]]
    return either(names) if len(people) <= MOST_NAMED else _("%(names)s or others") % {"names": ", ".join(names)}


def _reason(actor: Actor, task: Task, absent: StandIn) -> str:
    """Say in few words what bars a deputy: the first rule that holds."""
    return next(_reasons(actor, task, absent), _("Not yours to do"))


def _reasons(actor: Actor, task: Task, absent: StandIn) -> Iterator[str]:
    excluded, starter = set(task.excluded), task.instance.started_by_name
    by_start = task.rules.four_eyes is not None and task.rules.four_eyes.start
    if actor.eyes & excluded:
        yield _("You asked for it") if by_start and starter in actor.eyes else _("You took part")
    if absent.eyes & excluded:
        asked = by_start and starter in absent.eyes
        yield (_("%(name)s asked for it") if asked else _("%(name)s took part")) % {"name": name_of(absent.name)}
