"""The world of a simulation: a clock, people, all instances, what calls answer, and signals on their way."""

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from engine.kernel.effects import (
    BarPeople,
    CancelChild,
    ChangeTask,
    Effect,
    Emit,
    MakeCallLater,
    NotifyPeople,
    OpenTask,
    PauseClock,
    ResumeClock,
    StartChild,
    Wait,
    WaitKind,
)
from engine.kernel.errors import error_names
from engine.kernel.program import Definition
from engine.kernel.signals import (
    CancelCase,
    ChildEnded,
    ClockPaused,
    ClockResumed,
    Continue,
    Environment,
    Event,
    Json,
    NamedSignal,
    RetryDue,
    StepRetried,
    StepSkipped,
    TaskClaimed,
    TaskCompleted,
    TaskRedone,
    TaskReleased,
    TaskSkipped,
    TimerDue,
)
from engine.kernel.simulator.calls import answered
from engine.kernel.simulator.environment import Budget, OverBudget, Places, SimulationSetup, Turns, calendars_of
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.naming import most_exact
from engine.kernel.simulator.people import Person, Refused, everybody_in, may_act, people_inside, read_people
from engine.kernel.simulator.starts import ChildStarts
from engine.kernel.snapshot import Snapshot
from engine.kernel.timing.calendars import Calendar
from engine.kernel.timing.periods import parse_moment, parse_period, spell_moment
from engine.kernel.transitions import InstanceStatus, TaskStatus

MONDAY = "2030-01-07T09:00:00Z"
MOST_TURNS = 20_000
_MOVES_ANYTHING = (
    TaskCompleted, TaskClaimed, TaskReleased, TaskSkipped, TaskRedone, ClockPaused, ClockResumed, CancelCase, StepRetried,
    StepSkipped,
)  # fmt: skip
"""What reaches a stopped instance; everything else is held until it resumes."""
_RINGS: Mapping[WaitKind, type] = {WaitKind.TIMER: TimerDue, WaitKind.RETRY: RetryDue}


class World:
    """Everything outside the instances, under a fake clock."""

    def __init__(
        self, definitions: Mapping[str, Definition], test: Mapping[str, Json], setup: SimulationSetup | None = None
    ) -> None:
        self.definitions = definitions
        self.setup = setup or SimulationSetup()
        self.budget = Budget(self.setup)
        self.calendars = calendars_of(test)
        self.turns = Turns()
        self.places = Places()
        self.last_given: dict[tuple[str, str], str] = {}
        self.test = test
        self.now: datetime = parse_moment(str(test.get("at") or MONDAY))
        self.people = read_people(test.get("people") or {})
        self.invented: dict[str, Person] = {}
        """People whom the test does not describe, once one of them has acted."""
        self.instances: list[Instance] = []
        self.beginning = ChildStarts(self)
        self.starts: deque[tuple[Instance, Event]] = deque()
        self.pending: deque[tuple[Instance, Event]] = deque()
        self.on_their_way: list[tuple[Instance, int]] = []
        """Which waits have a signal by key that is still to be delivered."""
        self.kept: list[tuple[str, str, Json, datetime, str | None]] = []
        self.barred: tuple[str, ...] = ()
        """Tasks that the last actor could not end because of four eyes."""
        self.ids = 0
        self.used: set[str] = set()
        """Which of the test's answers and calls were asked for."""

    def person(self, name: str) -> Person:
        """Return a person of the cast; an invented person has the usual level and no role."""
        return self.people.get(name) or self.invented.get(name) or Person(name)

    def next_id(self, _number: int) -> str:
        """Return the id of the next instance: of the form that the platform's have, and the same whenever the test is played."""
        self.ids += 1
        return _case_id(self.now, self.ids)

    def environment(self, instance: Instance | None = None) -> Environment:
        """Return the environment that the platform would give the kernel, under the simulation's clock and within its budget."""
        return Environment(
            self.now,
            max_steps=self.budget.steps_left,
            max_made=self.budget.made_left,
            stop=self.setup.stop,
            calendar=self._calendar,
            admit=partial(self.turns.admit, self.now),
            has_place=partial(self.places.has, instance) if instance is not None else None,
            new_id=self.next_id,
            members=self._members,
            manager=self.manager_of,
            decorator=self.setup.decorator,
        )

    def _calendar(self, name: str) -> Calendar | None:
        if name in self.calendars or self.setup.calendar is None:
            return self.calendars.get(name)
        return self.setup.calendar(name)

    def stored(self, snapshot: Snapshot) -> Snapshot:
        """Send a snapshot through JSON, as storing would."""
        return Snapshot.from_json(json.loads(json.dumps(snapshot.to_json())))

    def start(self, name: str, given: Json, by: str | None, label: str) -> Instance:
        """Start an instance as a person and run it to its first waits, or refuse it."""
        instance = self.beginning.start(name, given, by, label)
        self.settle()
        return instance

    def send(self, instance: Instance, event: Event) -> bool:
        """Apply an event, then everything that follows from it at once; return whether it was applied."""
        applied = self._turn(instance, event)
        self.settle()
        return applied

    def settle(self) -> None:
        """Carry out everything that is pending: what a slice starts begins before anything else."""
        turns = 0
        while self.starts or self.pending:
            turns += 1
            if turns > MOST_TURNS:
                raise OverBudget("it never stops running")
            self._turn(*(self.starts or self.pending).popleft())
        self.on_their_way.clear()

    def _turn(self, instance: Instance, event: Event) -> bool:
        if instance.is_over:
            return False
        if instance.status is InstanceStatus.INCIDENT and not isinstance(event, _MOVES_ANYTHING):
            instance.held.append(event)
            return False
        found = instance.send(event)
        self.barred = found.barred
        for effect in found.effects:
            self._carry_out(instance, effect)
        for wait in found.opened:
            if wait.call is not None:
                self._answer_call(instance, wait)
            elif wait.kind is WaitKind.SIGNAL and wait.key is not None and not wait.side:
                self._offer_kept(instance, wait)
        if instance.definition.has_throttles:
            self.pending += [(let_in, Continue()) for let_in in self.places.look(instance)]
        if instance.is_over:
            self._ended(instance)
        elif instance.held and instance.status is not InstanceStatus.INCIDENT:
            self.pending.extend((instance, one) for one in instance.held)
            instance.held.clear()
        return found.applied[0]

    # calls

    def _answer_call(self, instance: Instance, wait: Wait) -> None:
        call = wait.call
        assert call is not None
        instance.calls[wait.step] += 1
        instance.requests.append((wait.step, call))
        answer = self._call_answer(instance, wait)
        self.pending.append((instance, answered(wait.token, call.transport, answer)))

    def _call_answer(self, instance: Instance, wait: Wait) -> Mapping[str, Json]:
        given = self._given(instance, "calls", wait)
        return given if given is not None else {}

    def _given(self, instance: Instance, family: str, wait: Wait) -> Any:
        """Find what a test gives for a step: by its full name, its item or its id; a list goes round by round."""
        table = self.test.get(family) or {}
        key = most_exact(table, (*instance.places, (wait.step, wait.iteration)))
        if key is None:
            return None
        self.used.add(f"{family}:{key}")
        return self._round(instance, f"{family}:{key}", table[key])

    def _round(self, instance: Instance, key: str, given: Any) -> Any:
        if not isinstance(given, list):
            return given
        place = instance.rounds[key]
        instance.rounds[key] += 1
        return given[min(place, len(given) - 1)] if given else None

    # effects

    def _carry_out(self, instance: Instance, effect: Effect) -> None:
        _EFFECTS[type(effect)](self, instance, effect)

    def _cancel_child(self, instance: Instance, effect: CancelChild) -> None:
        child = instance.children.get(effect.token)
        if child is not None:
            self.pending.append((child, CancelCase("the parent withdrew it")))

    def _emit(self, instance: Instance, effect: Emit) -> None:
        record = {effect.kind: effect.name, "key": effect.key, "payload": effect.payload}
        instance.emitted.append({name: value for name, value in record.items() if value is not None})
        if effect.kind == "signal" and effect.key is not None:
            self.signal(effect.name, effect.key, effect.payload, effect.ttl)
        if effect.kind == "event":
            self.beginning.start_listeners(instance, effect)

    def _send_call(self, instance: Instance, effect: MakeCallLater) -> None:
        instance.calls[effect.step] += 1
        instance.requests.append((effect.step, effect.call))
        self.used.add(
            f"calls:{instance.label}/{effect.step}".replace(":/", ":")
        )  # made, though nobody hears the answer

    def _notify(self, instance: Instance, effect: NotifyPeople) -> None:
        record = {"notice": effect.step, "key": effect.why, "payload": {"to": list(effect.to)} if effect.to else None}
        instance.emitted.append({name: value for name, value in record.items() if value is not None})

    def _change(self, instance: Instance, effect: ChangeTask) -> None:
        task = instance.tasks[effect.token]
        if not task.is_open:
            return
        task.wait = task.wait._replace(task=change_task(task.task, effect))
        name = effect.assignee
        picked = task.claimed_by is not None and instance.definition.claims_decide
        if name is None or picked or name in task.answered_by:
            return
        if may_act(task.task, name, self.person(name), people_inside(instance, task.task)):
            task.assignee, task.status = name, TaskStatus.OPEN
            task.asked.add(name)

    def _bar(self, instance: Instance, effect: BarPeople) -> None:
        """Update the people whom four eyes exclude from an open task; an excluded assignee loses it, as on the platform."""
        task = instance.tasks[effect.token]
        task.wait = task.wait._replace(task=replace(task.task, excluded=effect.excluded))
        if task.claimed_by in effect.excluded and not instance.definition.claims_decide:
            task.assignee, task.status = None, TaskStatus.OPEN

    def _pause(self, instance: Instance, effect: PauseClock) -> None:
        """Show a task as due at no time while its clock is paused."""
        task = instance.tasks[effect.token]
        task.stood_due, task.wait = task.task.due_at, task.wait._replace(task=replace(task.task, due_at=None))

    def _resume(self, instance: Instance, effect: ResumeClock) -> None:
        task = instance.tasks[effect.token]
        due = effect.pause.move(task.stood_due) if task.stood_due else task.task.due_at
        task.stood_due, task.wait = None, task.wait._replace(task=replace(task.task, due_at=due))

    def _members(self, roles: Sequence[str], level: int) -> set[str]:
        """Return the people of the test who hold one of these roles and are of a level."""
        return {one.name for one in self.people.values() if one.roles & set(roles) and one.level >= level}

    def manager_of(self, name: str) -> str | None:
        """Return who leads a person, as the test says."""
        return self.person(name).manager

    # signals

    def send_named(self, instance: Instance, name: str, payload: Json, by: str | None = None) -> bool:
        """Send a signal to one instance; refuse it where the instance has ended or not begun."""
        if instance.is_over or instance.status is InstanceStatus.QUEUED:
            raise Refused("status", f"the case is {instance.status.value}")
        return self.operate(instance, NamedSignal(name, None, payload, by=by))

    def operate(self, instance: Instance, event: Event) -> bool:
        """Move an instance otherwise than by an answer; refuse it where four eyes exclude the person from a task it ends."""
        applied = self._turn(instance, event)
        if self.barred:
            raise Refused("four_eyes", "another person must do this")
        self.settle()
        return applied

    def signal(
        self,
        name: str,
        key: str,
        payload: Json,
        ttl: str | None = None,
        *,
        everybody: bool = False,
        by: str | None = None,
    ) -> int:
        """Deliver a signal by key to the instance that waits longest, or to all; keep it for the sender's time if none waits."""
        waiting = self._waiting(name, key)
        reached = waiting if everybody else waiting[:1]
        for instance, token in reached:
            self.pending.append((instance, NamedSignal(name, key, payload, by=by)))
            self.on_their_way.append((instance, token))
        until = parse_period(ttl).after(self.now) if ttl is not None else self.now
        if not reached and not everybody and until > self.now:
            self.kept.append((name, key, payload, until, by))
        return len(reached)

    def _waiting(self, name: str, key: str) -> list[tuple[Instance, int]]:
        """List the waits for a signal that have none on its way: side waits last, then the oldest first."""
        found = [
            (wait.side, one.opened_at[wait.token], number, wait.token, one)
            for number, one in enumerate(self.instances)
            for wait in one.waits.values()
            if wait.name == name and wait.key == key and (one, wait.token) not in self.on_their_way
        ]
        return [(one, token) for _, _, _, token, one in sorted(found, key=lambda entry: entry[:4])]

    def _offer_kept(self, instance: Instance, wait: Wait) -> None:
        for entry in self.kept:
            name, key, payload, until, by = entry
            if (name, key) == (wait.name, wait.key) and until > self.now:
                self.kept.remove(entry)
                self.pending.append((instance, NamedSignal(name, key, payload, by=by)))
                self.on_their_way.append((instance, wait.token))
                return

    # ends and time

    def _ended(self, instance: Instance) -> None:
        if instance.parent is not None:
            parent, token = instance.parent
            instance.parent = None
            error = error_names(instance.error) if instance.error is not None else None
            ended = ChildEnded(
                token, instance.status.value, instance.outcome, instance.output, error, instance.facts.id,
                people=everybody_in(instance), operated=instance.snapshot is not None and instance.snapshot.operated,
            )  # fmt: skip
            self.pending.append((parent, ended))
        self.beginning.admit(instance.definition)

    def timers(self) -> list[tuple[datetime, int, Instance, Wait]]:
        """List the timers that will fire, the next first."""
        found = [
            (wait.due_at, number, one, wait)
            for number, one in enumerate(self.instances)
            for wait in one.waits.values()
            if wait.kind in _RINGS and wait.due_at is not None and one.status is InstanceStatus.RUNNING
        ]
        return sorted(found, key=lambda entry: (entry[0], entry[1], entry[3].token))

    def ring(self, instance: Instance, wait: Wait) -> None:
        """Fire one timer."""
        self.send(instance, _RINGS[wait.kind](wait.token))

    def spell(self, moment: datetime | None) -> str | None:
        """Write a moment as tests write it."""
        return None if moment is None else spell_moment(moment)


def _case_id(now: datetime, number: int) -> str:
    """Make a UUIDv7 of a moment and a number, with what would be chance drawn from both."""
    milliseconds = int(now.timestamp() * 1000) & (2**48 - 1)
    drawn = int.from_bytes(hashlib.sha256(f"{milliseconds}:{number}".encode()).digest()[:8]) >> 2
    return str(UUID(int=milliseconds << 80 | 0x7 << 76 | (number & 0xFFF) << 64 | 0x2 << 62 | drawn))


def change_task(task: OpenTask, change: ChangeTask) -> OpenTask:
    """Return a task as an escalation leaves it."""
    return replace(
        task,
        priority=change.priority or task.priority,
        roles=tuple(dict.fromkeys((*task.roles, *change.roles))),
        users=tuple(dict.fromkeys((*task.users, *change.users))),
    )


_EFFECTS: Mapping[type, Any] = {
    StartChild: lambda world, instance, effect: world.beginning.start_child(instance, effect),
    CancelChild: World._cancel_child,
    Emit: World._emit,
    MakeCallLater: World._send_call,
    NotifyPeople: World._notify,
    ChangeTask: World._change,
    BarPeople: World._bar,
    PauseClock: World._pause,
    ResumeClock: World._resume,
}
