"""Actions on the page of a task besides the answer: assign, snooze, pause, skip.

The services decide; this only keeps a page from offering what they would refuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from engine import access
from engine.kernel.transitions import TaskStatus
from engine.models import Task
from engine.services.tasks.handover import REMIND_ONCE_IN
from engine.services.tasks.redo import can_redo
from tasks_inbox.presenters.files import Files, rules_shown
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MORNING = 8


@dataclass(frozen=True, slots=True)
class SnoozeChoice:
    """A moment until which a task can be snoozed with one click."""

    name: str
    word: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Acts:
    """What a person may do with a task besides answering it."""

    release: bool
    suspend: bool
    resume: bool
    snooze: bool
    skip: bool
    gives: bool
    """Whether the task can be given to another person."""
    redo: bool = False
    """Whether the answered task can be done again."""
    delegate: bool = False
    """Whether the task can be delegated, and a person asked about it."""

    @property
    def any(self) -> bool:
        return self.suspend or self.resume or self.snooze or self.skip


def acts_for(actor: Actor, task: Task, *, may_act: bool) -> Acts:
    """Return the actions to offer to the actor."""
    operates, mine = actor.level >= TO_OPERATE, access.holds(actor, task)
    moving = task.status in (TaskStatus.OPEN, TaskStatus.CLAIMED)
    moves = moving and access.moves(actor, task)
    may_give = moves and not task.takes_several
    return Acts(
        release=moves and task.assignee_id is not None,
        suspend=operates and moving,
        resume=operates and task.status == TaskStatus.SUSPENDED,
        snooze=may_act and mine,
        skip=may_act and task.allows("skip"),
        gives=may_give,
        delegate=may_give and may_act and mine,
        redo=can_redo(actor, task),
    )


def is_snoozed(task: Task) -> bool:
    """Return whether a task is hidden from its assignee's list for now."""
    return task.follow_up_at is not None and task.follow_up_at > timezone.now()


def snooze_choices() -> list[SnoozeChoice]:
    """List usual moments: tomorrow, in three days and next Monday, in the morning where the person is."""
    today = timezone.localtime().replace(hour=MORNING, minute=0, second=0, microsecond=0)
    monday = timedelta(days=7 - today.weekday())
    return [
        SnoozeChoice("tomorrow", _("Tomorrow"), today + timedelta(days=1)),
        SnoozeChoice("in_3_days", _("In 3 days"), today + timedelta(days=3)),
        SnoozeChoice("monday", _("Monday"), today + monday),
    ]


def waiting_context(task: Task) -> dict[str, Any]:
    """Return the question for whose answer a task waits, and what its page says of the clock."""
    question = task.questions.filter(ended_at__isnull=True).first() if task.waiting_since else None
    reminded = question.reminded_at if question else None
    due, paused = task.clock_due_at, task.clock_paused_at
    return {
        "question": question,
        "may_remind": reminded is None or timezone.now() - reminded >= REMIND_ONCE_IN,
        "clock_left": due - paused if due and paused and due > paused else None,
    }


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
    return [Point(one.id, one.title, one.required, one.id in done) for one in task.checklist]


def files_of(task: Task) -> Files | None:
    """Return which files a task accepts, or None where it accepts none."""
    rules = task.rules.files
    return None if rules is None else rules_shown(rules)
