"""What the page of a task offers beside the answer: who it can be given to, whether it can be put off, held or skipped.

The services decide; this only keeps a page from offering what they would refuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from engine import access
from engine.kernel.transitions import TaskStatus
from engine.models import Task
from engine.storage.attachments import FileRules, spell_size
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import User

MOST_PEOPLE = 200
MORNING = 8


@dataclass(frozen=True, slots=True)
class Later:
    """A moment until which a task can be put off by one press."""

    name: str
    word: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Acts:
    """What one may do with a task beside answering it."""

    release: bool
    suspend: bool
    resume: bool
    snooze: bool
    skip: bool
    people: Sequence[User]

    @property
    def any(self) -> bool:
        return bool(self.people) or self.suspend or self.resume or self.snooze or self.skip


def acts_for(actor: Actor, task: Task, *, may_act: bool) -> Acts:
    """Say what to offer the actor."""
    operates, mine = actor.level >= TO_OPERATE, task.assignee_id == actor.person_id
    moving = task.status in (TaskStatus.OPEN, TaskStatus.CLAIMED)
    may_give = operates and moving and not task.takes_several
    return Acts(
        release=task.status == TaskStatus.CLAIMED and (mine or operates),
        suspend=operates and moving,
        resume=operates and task.status == TaskStatus.SUSPENDED,
        snooze=may_act and mine,
        skip=may_act and task.allows("skip"),
        people=list(access.people_to_give(actor, task)[:MOST_PEOPLE]) if may_give else [],
    )


def is_put_off(task: Task) -> bool:
    """Tell whether a task is hidden from its person's list for now."""
    return task.follow_up_at is not None and task.follow_up_at > timezone.now()


def moments_to_put_off() -> list[Later]:
    """List usual moments: tomorrow, in three days and next Monday, in the morning where the person is."""
    today = timezone.localtime().replace(hour=MORNING, minute=0, second=0, microsecond=0)
    monday = timedelta(days=7 - today.weekday())
    return [
        Later("tomorrow", _("Tomorrow"), today + timedelta(days=1)),
        Later("in_3_days", _("In 3 days"), today + timedelta(days=3)),
        Later("monday", _("Monday"), today + monday),
    ]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a checklist as the page shows it."""

    id: str
    title: str
    required: bool
    done: bool


def points_of(task: Task, ticked: Sequence[str] | None = None) -> list[Point]:
    """List a task's checklist; `ticked` are the points that the person has just sent, else those kept count."""
    done = set(ticked) if ticked is not None else task.ticked_ids
    return [Point(one["id"], one["title"], one["required"], one["id"] in done) for one in task.checklist]


@dataclass(frozen=True, slots=True)
class Files:
    """What may be added to a task, in words and for the browser."""

    accept: str
    words: str
    required: bool


def files_of(task: Task) -> Files | None:
    """Say which files a task takes, or None where it takes none."""
    rules = FileRules.of(task.extra)
    if rules is None:
        return None
    facts = {"kinds": ", ".join(rules.endings), "size": spell_size(rules.max_size), "most": rules.max}
    words = _("%(kinds)s; up to %(size)s each, at most %(most)d.") % facts
    return Files(",".join(f".{ending}" for ending in rules.endings), words, rules.required)
