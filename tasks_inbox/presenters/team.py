"""What the page of a team draws: each person's bar, each queue's days, and the tasks of whom was opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine import access
from engine.models import Task
from engine.models.task import TaskQuerySet
from engine.services.insights.team_load import PersonLoad, QueueLoad, TeamLoad
from tasks_inbox.presenters.lists import UNSEEN
from tasks_inbox.presenters.prev_next import TEAM
from workflowplatform.accounts.actor import Actor

MOST_SHOWN = 50
MOST_TASKS = 100
WIDE, HIGH, STEP, THICK = 120, 30, 9, 3.5
"""The size of drawings, in their own units: a bar's length, and the height, distance and width of a day's bars."""


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person's line: the figures, and the lengths of the bar and of its late part."""

    load: PersonLoad
    address: str
    is_opened: bool
    age: timedelta | None
    length: float
    late_length: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a queue's drawing."""

    kind: str
    x: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue's line: its figures and its bars."""

    load: QueueLoad
    address: str
    is_opened: bool
    age: timedelta | None
    bars: tuple[Bar, ...]
    came_a_day: int
    done_a_day: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The tasks of the person or queue that was opened."""

    person: PersonLoad | None
    queue: QueueLoad | None
    tasks: Sequence[Task]
    count: int

    @property
    def more(self) -> int:
        return max(self.count - len(self.tasks), 0)


def address_of(load: TeamLoad, **words: str) -> str:
    """Return the address of the page for the chosen role, with a person or a queue opened."""
    query = QueryDict(mutable=True)
    query.update({**({"role": load.chosen.name} if load.chosen else {}), **words})
    return reverse("inbox:team") + (f"?{query.urlencode()}" if query else "")


def back_query(load: TeamLoad, **words: str) -> str:
    """Return the same as a form carries it, for the way back."""
    return f"view={TEAM}&" + address_of(load, **words).partition("?")[2]


def people_rows(load: TeamLoad, opened: str) -> list[PersonRow]:
    """Draw each person's line."""
    longest = _longest(load)
    return [
        PersonRow(
            each,
            address_of(load, person=each.person.username),
            each.person.username == opened,
            _age(each.oldest, load.now),
            round(WIDE * each.open / longest, 1),
            round(WIDE * each.late / longest, 1),
        )
        for each in load.people
    ]


def _longest(load: TeamLoad) -> int:
    return max(load.most, load.limit or 0, 1)


def limit_at(load: TeamLoad) -> float | None:
    """Return where the dashes of the limit are, on the bars' scale."""
    return None if load.limit is None else round(WIDE * load.limit / _longest(load), 1)


def queue_rows(load: TeamLoad, opened: str) -> list[QueueRow]:
    """Draw each queue's line; all have one scale."""
    highest = max((max(day.came, day.done) for queue in load.queues for day in queue.days), default=0) or 1
    return [
        QueueRow(
            queue,
            address_of(load, queue=queue.role.name),
            queue.role.name == opened,
            _age(queue.oldest, load.now),
            tuple(_bars(queue, highest)),
            round(queue.came / len(queue.days)),
            round(queue.done / len(queue.days)),
        )
        for queue in load.queues
    ]


def _bars(queue: QueueLoad, highest: int) -> list[Bar]:
    found = []
    for number, day in enumerate(queue.days):
        for kind, count, aside in (("came", day.came, 0.0), ("done", day.done, THICK + 0.5)):
            height = round(HIGH * count / highest, 1)
            found.append(Bar(kind, number * STEP + aside, round(HIGH - height, 1), height))
    return found


def _age(since: datetime | None, now: datetime) -> timedelta | None:
    return now - since if since else None


def opened_in(actor: Actor, load: TeamLoad, person: str, queue: str) -> Opened | None:
    """Read the tasks of a person or of a queue of the team; another name opens nothing."""
    whose = next((each for each in load.people if each.person.username == person), None)
    if whose is not None:
        rows = access.team_tasks(actor, load.chosen).filter(assignee_id=whose.person.pk)
        return Opened(whose, None, _read(rows), whose.open)
    which = next((each for each in load.queues if each.role.name == queue), None)
    if which is not None:
        return Opened(None, which, _read(access.queue_tasks(actor, which.role)), which.waiting)
    return None


def _read(rows: TaskQuerySet) -> list[Task]:
    found = rows.select_related("instance", "version__template").urgent_first().defer(*UNSEEN)
    return list(found[:MOST_TASKS])


def sentence_of(load: TeamLoad) -> str:
    """Describe how much there is, and with whom."""
    people = len(load.people)
    tasks = ngettext("%(n)d open task", "%(n)d open tasks", load.open) % {"n": load.open}
    words = ngettext("%(tasks)s with %(n)d person.", "%(tasks)s with %(n)d people.", people)
    said = words % {"tasks": tasks, "n": people}
    first, last = load.people[0], load.people[-1]
    here = [each for each in load.people if each.away is None]
    if first.open == last.open or not here or here[-1] is first:
        return said
    names = {"most": first.person.display_name, "least": here[-1].person.display_name}
    return f"{said} " + _("%(most)s has the most, %(least)s has room.") % names
