"""Preview what would follow: from each answer to an open task, and from each of its timers.

Nobody guesses here: the kernel, which knows no clock and no outside, carries the answer out on a copy of the case, and what comes
of it is thrown away. Calls are not made, functions of the host are not run, nothing is written or locked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from engine import access
from engine.errors import Unreadable
from engine.kernel.effects import ChangeTask, NotifyPeople, Slice, WaitKind
from engine.kernel.forms import fill_defaults
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.signals import Environment, Event, Json, TaskCompleted, TimerDue
from engine.kernel.snapshot import copied
from engine.kernel.transitions import InstanceStatus
from engine.models import Task, Wait
from engine.runtime import claims
from engine.runtime.calendars import calendar_named
from engine.runtime.claims import readable_or_refused
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Loaded
from workflowplatform.accounts.actor import Actor

SHOWN = frozenset(
    {"task", "call", "wait", "signal", "first", "workflow", "continue_with", "emit", "complete", "fail", "cancel"}
)
"""Kinds of steps that people notice; the others only lead there."""
MOST_TIMERS = 6


@dataclass(frozen=True, slots=True)
class Ahead:
    """What would follow. `steps` are the paths of the steps that people notice, in the order begun."""

    steps: tuple[str, ...] = ()
    who: Mapping[str, str] | None = None
    status: str = InstanceStatus.RUNNING
    outcome: str | None = None
    stays: bool = False
    """Whether the task stays open, as where others have to answer too."""
    known: bool = True
    """False where it depends on what is filled in."""
    change: ChangeTask | None = None
    emails: NotifyPeople | None = None

    @property
    def ends(self) -> bool:
        return self.status != InstanceStatus.RUNNING


@dataclass(frozen=True, slots=True)
class AtTime:
    """What a timer of a task would bring, and when."""

    at: datetime
    ahead: Ahead


@dataclass(frozen=True, slots=True)
class Foresight:
    """All that may follow from an open task as it is now."""

    outcomes: Mapping[str, Ahead] = field(default_factory=dict)
    timers: tuple[AtTime, ...] = ()
    unreadable: str = ""
    """Why nothing can be foreseen, where what is stored cannot be read."""


def foresee(*, actor: Actor, task: Task) -> Foresight:
    """Return what each outcome of an open task and each of its timers would bring, for people who see the case."""
    try:
        return _foresee(actor, task)
    except Unreadable as refusal:
        return Foresight(unreadable=refusal.message)


def _foresee(actor: Actor, task: Task) -> Foresight:
    loaded = _case(actor, task)
    if loaded is None:
        return Foresight()
    answers = {
        outcome["name"]: TaskCompleted(task.token, outcome["name"], actor.name, _prefilled(task), "")
        for outcome in task.outcomes
    }
    return Foresight(
        {name: _ahead(loaded, task, answer, loaded.now) for name, answer in answers.items()},
        tuple(AtTime(due, _ahead(loaded, task, TimerDue(token), due)) for token, due in _timers(task)),
    )


def _prefilled(task: Task) -> dict[str, Json]:
    """Return the answer that one would send without filling anything in."""
    values = fill_defaults(task.form or {}, copied(task.payload if isinstance(task.payload, dict) else {}))
    asked = (task.form or {}).get("properties") or {}
    return {key: value for key, value in values.items() if key in asked}


def _case(actor: Actor, task: Task) -> Loaded | None:
    """Read the case as it is now, without a lock; only one that runs can continue."""
    if task.is_over or not access.visible_instances(actor).filter(pk=task.instance_id).exists():
        return None
    loaded = claims.load([task.instance_id]).get(task.instance_id)
    return loaded if loaded and loaded.snapshot and loaded.status is InstanceStatus.RUNNING else None


def _timers(task: Task) -> Sequence[tuple[int, datetime]]:
    waits = Wait.objects.filter(instance_id=task.instance_id, tenant_id=task.tenant_id)
    run = waits.filter(token=task.token).values("run")[:1]
    beside = waits.filter(side=True, kind=WaitKind.TIMER, due_at__isnull=False, run=run)
    timers = beside.order_by("due_at").values_list("token", "due_at")[:MOST_TIMERS]
    return [(token, due) for token, due in timers if due is not None]


def _ahead(loaded: Loaded, task: Task, event: Event, now: datetime) -> Ahead:
    environment = Environment(
        now=now,
        calendar=lambda name: calendar_named(loaded.tenant_id, name),
        manager=partial(access.manager_named, loaded.tenant_id),
    )
    definition = definition_of(loaded.version_id)
    with readable_or_refused():
        result = advance(definition, loaded.snapshot, loaded.facts, [event], environment)
    if not any(result.applied) or result.status is InstanceStatus.INCIDENT:
        return Ahead(known=False)
    return Ahead(
        steps=tuple(dict.fromkeys(entry.path for entry in result.trace if entry.began and entry.kind in SHOWN)),
        who={
            wait.path: wait.task.assignee or ", ".join((*wait.task.roles, *wait.task.users))
            for wait in result.opened
            if wait.task
        },
        status=result.status,
        outcome=result.outcome,
        stays=any(wait["token"] == task.token for wait in result.snapshot.waits),
        change=_change(result, task.token),
        emails=_emails(result, task.token),
    )


def _change(result: Slice, token: int) -> ChangeTask | None:
    return next((one for one in result.effects if isinstance(one, ChangeTask) and one.token == token), None)


def _emails(result: Slice, token: int) -> NotifyPeople | None:
    return next((one for one in result.effects if isinstance(one, NotifyPeople) and one.token == token), None)
