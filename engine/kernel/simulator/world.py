"""The world of a simulation: a clock, people, all cases, what calls answer, and signals on their way."""

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from engine.kernel.calendars import Calendar
from engine.kernel.effects import (
    CancelChild,
    ChangeTask,
    Effect,
    Emit,
    ErrorRecord,
    MakeCallLater,
    OpenTask,
    StartChild,
    TellPeople,
    Wait,
    WaitKind,
)
from engine.kernel.errors import StepError, error_names
from engine.kernel.forms import check_values
from engine.kernel.periods import parse_moment, parse_period, spell_moment
from engine.kernel.program import Definition
from engine.kernel.signals import (
    CallFailed,
    CallSucceeded,
    CancelCase,
    ChildEnded,
    Happening,
    InstanceFacts,
    Json,
    Lent,
    NamedSignal,
    RetryDue,
    Started,
    TimerDue,
)
from engine.kernel.simulator.instance import Instance, names_of
from engine.kernel.simulator.lending import Budget, Lending, OverBudget, Turns, calendars_of
from engine.kernel.simulator.people import Person, Refused, may_act, read_people
from engine.kernel.snapshot import Snapshot
from engine.kernel.steps.children import unfit_input
from engine.kernel.transitions import TaskStatus
from engine.kernel.triggers import event_start

MONDAY = "2030-01-07T09:00:00Z"
MOST_TURNS = 20_000
DEEPEST_STARTS = 60
_RETRIED_STATUS = frozenset({408, 425, 429})
_RINGS: Mapping[WaitKind, type] = {WaitKind.TIMER: TimerDue, WaitKind.RETRY: RetryDue}


class World:
    """Everything outside the cases, under a fake clock."""

    def __init__(
        self, definitions: Mapping[str, Definition], test: Mapping[str, Json], lending: Lending | None = None
    ) -> None:
        self.definitions = definitions
        self.lending = lending or Lending()
        self.budget = Budget(self.lending)
        self.calendars = calendars_of(test)
        self.turns = Turns()
        self.last_given: dict[tuple[str, str], str] = {}
        self.test = test
        self.now: datetime = parse_moment(str(test.get("at") or MONDAY))
        self.people = read_people(test.get("people") or {})
        self.instances: list[Instance] = []
        self.pending: deque[tuple[Instance, Happening]] = deque()
        self.kept: list[tuple[str, str, Json, datetime]] = []
        self.ids = 0
        self.starting = 0
        """How many cases are being started, one by another."""

    def person(self, name: str) -> Person:
        """Give a person of the cast; strangers are of the usual level and have no role."""
        return self.people.get(name, Person(name))

    def lend_id(self, _number: int) -> str:
        """Give the id of the next case: of the form that the platform's have, and the same whenever the test is played."""
        self.ids += 1
        return _case_id(self.now, self.ids)

    def lend(self) -> Lent:
        """Lend the kernel what the platform would lend it, under the simulation's clock and within its budget."""
        return Lent(
            self.now,
            max_steps=self.budget.steps_left,
            stop=self.lending.stop,
            calendar=self._calendar,
            admit=partial(self.turns.admit, self.now),
            new_id=self.lend_id,
            decorator=self.lending.decorator,
        )

    def _calendar(self, name: str) -> Calendar | None:
        if name in self.calendars or self.lending.calendar is None:
            return self.calendars.get(name)
        return self.lending.calendar(name)

    def stored(self, snapshot: Snapshot) -> Snapshot:
        """Send a snapshot through JSON, as storing would."""
        return Snapshot.from_json(json.loads(json.dumps(snapshot.to_json())))

    def start(
        self,
        name: str,
        given: Json,
        by: str | None,
        label: str,
        new_id: str | None = None,
        reference: str | None = None,
    ) -> Instance:
        """Start a case; refuse an input that does not fit."""
        definition = self.definitions[name]
        if by is not None:
            self._refuse_starter(definition, self.person(by))
        filled, problems = check_values(definition.input_schema, {} if given is None else given)
        if problems:
            raise Refused("invalid", problems[0].message, tuple(problem.path for problem in problems))
        facts = InstanceFacts(new_id or self.lend_id(0), name, 1, by, self.now, reference)
        instance = Instance(self, definition, facts, label)
        self.instances.append(instance)
        self.starting += 1
        if self.starting > DEEPEST_STARTS:
            raise OverBudget(f"more than {DEEPEST_STARTS} cases start one another without a wait in between")
        try:
            self._start_or_queue(instance, filled)
        finally:
            self.starting -= 1
        return instance

    def _refuse_starter(self, definition: Definition, person: Person) -> None:
        if person.level < definition.starters.min_level:
            raise Refused("level", f"level {definition.starters.min_level} is needed")
        roles = set(definition.starters.roles)
        if roles and not roles & person.roles:
            raise Refused("not_candidate", "others may start this")

    def _start_or_queue(self, instance: Instance, given: Json) -> None:
        limits = instance.definition.canonical.get("limits") or {}
        most = limits.get("concurrent")
        if most is not None and self._admitted(instance.definition.name) >= most:
            if limits.get("at_limit") == "refuse":
                self.instances.remove(instance)
                raise Refused("limit", "as many cases run as may")
            instance.output = given
            return
        self.send(instance, Started(given))

    def _admitted(self, name: str) -> int:
        running = [one for one in self.instances if one.definition.name == name and one.parent is None]
        return sum(one.snapshot is not None and not one.is_over for one in running)

    def send(self, instance: Instance, happening: Happening) -> bool:
        """Apply a happening, then everything that follows from it at once; answer whether it was applied."""
        applied = self._turn(instance, happening)
        turns = 0
        while self.pending:
            turns += 1
            if turns > MOST_TURNS:
                raise OverBudget("it does not come to rest")
            self._turn(*self.pending.popleft())
        return applied

    def _turn(self, instance: Instance, happening: Happening) -> bool:
        if instance.is_over:
            return False
        found = instance.send(happening)
        for effect in found.effects:
            self._carry_out(instance, effect)
        for wait in found.opened:
            if wait.call is not None:
                self._answer_call(instance, wait)
            elif wait.kind is WaitKind.SIGNAL and wait.key is not None and not wait.side:
                self._offer_kept(instance, wait)
        if instance.is_over:
            self._ended(instance)
        return found.applied[0]

    # calls

    def _answer_call(self, instance: Instance, wait: Wait) -> None:
        call = wait.call
        assert call is not None
        instance.calls[wait.step] += 1
        instance.requests.append((wait.step, call))
        answer = self._call_answer(instance, wait)
        self.pending.append((instance, _answered(wait.token, call.transport, answer)))

    def _call_answer(self, instance: Instance, wait: Wait) -> Mapping[str, Json]:
        given = self._given(instance, "calls", wait)
        return given if given is not None else {}

    def _given(self, instance: Instance, family: str, wait: Wait) -> Any:
        """Find what a test gives for a step: by its full name, its item or its id; a list goes round by round."""
        table = self.test.get(family) or {}
        prefix = f"{instance.label}/" if instance.label else ""
        for name in sorted(names_of(wait), key=len, reverse=True):
            for key in (prefix + name, name) if not prefix else (prefix + name,):
                if key in table:
                    return self._round(instance, f"{family}:{key}", table[key])
        return None

    def _round(self, instance: Instance, key: str, given: Any) -> Any:
        if not isinstance(given, list):
            return given
        place = instance.rounds[key]
        instance.rounds[key] += 1
        return given[min(place, len(given) - 1)] if given else None

    # effects

    def _carry_out(self, instance: Instance, effect: Effect) -> None:
        _EFFECTS[type(effect)](self, instance, effect)

    def _start_child(self, instance: Instance, effect: StartChild) -> None:
        label = f"{instance.label}/{effect.step}" if instance.label else effect.step
        label = label if effect.token is not None else effect.name
        if effect.name not in self.definitions:
            if effect.token is not None:
                answer = self._stub(instance, effect)
                self.pending.append((instance, answer))
            return
        definition = self.definitions[effect.name]
        _, problems = check_values(definition.input_schema, {} if effect.input is None else effect.input)
        if problems:
            self._refuse_child(instance, effect, unfit_input(effect.name, problems[0]))
            return
        child = self.start(effect.name, effect.input, None, label, effect.instance)
        if effect.token is None:
            return
        child.parent = (instance, effect.token)
        instance.children[effect.token] = child
        if child.is_over:
            self._ended(child)

    def _refuse_child(self, instance: Instance, effect: StartChild, message: str) -> None:
        """Answer the parent's wait as the platform does: its input does not fit the child."""
        if effect.token is not None:
            error = error_names(ErrorRecord("definition", "child_input", message, effect.step))
            self.pending.append((instance, ChildEnded(effect.token, "failed", None, None, error, "")))

    def _stub(self, instance: Instance, effect: StartChild) -> ChildEnded:
        """Answer for a child whose definition is not at hand: as `calls` says, else completed with nothing."""
        wait = instance.waits.get(effect.token or 0)
        given = self._given(instance, "calls", wait) if wait is not None else None
        output = (given or {}).get("result", {})
        return ChildEnded(effect.token or 0, "completed", None, output, None, effect.instance or "")

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
            self._event(effect)

    def _event(self, effect: Emit) -> None:
        """Start every workflow that the event is meant for; a payload that does not fit starts nothing."""
        for name, definition in self.definitions.items():
            found = None
            with suppress(StepError):
                found = event_start(definition, effect.name, effect.payload, self.now)
            if found is not None:
                with suppress(Refused):
                    self.start(name, found.input, None, name, reference=found.reference)

    def _send_call(self, instance: Instance, effect: MakeCallLater) -> None:
        instance.calls[effect.step] += 1
        instance.requests.append((effect.step, effect.call))

    def _tell(self, instance: Instance, effect: TellPeople) -> None:
        record = {"notice": effect.step, "key": effect.why, "payload": {"to": list(effect.to)} if effect.to else None}
        instance.emitted.append({name: value for name, value in record.items() if value is not None})

    def _change(self, instance: Instance, effect: ChangeTask) -> None:
        task = instance.tasks[effect.token]
        assert task.wait.task is not None
        changed = change_task(task.wait.task, effect)
        task.wait = task.wait._replace(task=changed)
        if effect.assignee is not None and may_act(changed, effect.assignee, self.person(effect.assignee)):
            task.assignee, task.claimed_by, task.status = effect.assignee, None, TaskStatus.OPEN

    # signals

    def signal(self, name: str, key: str, payload: Json, ttl: str | None = None) -> int:
        """Bring a signal by key to whoever waits; keep it for the sender's time when nobody does."""
        waiting = [
            (wait.token, one)
            for one in self.instances
            for wait in one.waits.values()
            if wait.name == name and wait.key == key
        ]
        if waiting:
            self.pending.append((waiting[0][1], NamedSignal(name, key, payload)))
        elif ttl is not None:
            self.kept.append((name, key, payload, parse_period(ttl).after(self.now)))
        return len(waiting[:1])

    def _offer_kept(self, instance: Instance, wait: Wait) -> None:
        for entry in self.kept:
            name, key, payload, until = entry
            if (name, key) == (wait.name, wait.key) and until > self.now:
                self.kept.remove(entry)
                self.pending.append((instance, NamedSignal(name, key, payload)))
                return

    # ends and time

    def _ended(self, instance: Instance) -> None:
        if instance.parent is not None:
            parent, token = instance.parent
            instance.parent = None
            error = error_names(instance.error) if instance.error is not None else None
            ended = ChildEnded(
                token, instance.status.value, instance.outcome, instance.output, error, instance.facts.id
            )
            self.pending.append((parent, ended))
        self._admit(instance.definition.name)

    def _admit(self, name: str) -> None:
        for waiting in self.instances:
            if waiting.definition.name == name and waiting.snapshot is None:
                self.pending.append((waiting, Started(waiting.output)))
                return

    def timers(self) -> list[tuple[datetime, int, Instance, Wait]]:
        """List what will ring, the next first."""
        found = [
            (wait.due_at, number, one, wait)
            for number, one in enumerate(self.instances)
            for wait in one.waits.values()
            if wait.kind in _RINGS and wait.due_at is not None and not one.is_over
        ]
        return sorted(found, key=lambda entry: (entry[0], entry[1], entry[3].token))

    def ring(self, instance: Instance, wait: Wait) -> None:
        """Let one timer ring."""
        self.send(instance, _RINGS[wait.kind](wait.token))

    def spell(self, moment: datetime | None) -> str | None:
        """Write a moment as tests write it."""
        return None if moment is None else spell_moment(moment)


def _case_id(now: datetime, number: int) -> str:
    """Make a UUIDv7 of a moment and a number, with what would be chance drawn from both."""
    milliseconds = int(now.timestamp() * 1000) & (2**48 - 1)
    drawn = int.from_bytes(hashlib.sha256(f"{milliseconds}:{number}".encode()).digest()[:8]) >> 2
    return str(UUID(int=milliseconds << 80 | 0x7 << 76 | (number & 0xFFF) << 64 | 0x2 << 62 | drawn))


def _answered(token: int, transport: str, answer: Mapping[str, Json]) -> Happening:
    """Turn what a test says of a call into what the transport would have said."""
    if "error" in answer:
        code = str(answer.get("code", answer["error"]))
        return CallFailed(token, str(answer["error"]), code, str(answer.get("message", code)), answer.get("body"))
    if "result" in answer or transport == "python":
        return CallSucceeded(token, answer.get("result", {} if "result" not in answer else None))
    if transport == "email":
        return CallSucceeded(token, {"id": answer.get("id", "mail")})
    return _answered_http(token, answer)


def _answered_http(token: int, answer: Mapping[str, Json]) -> Happening:
    status = int(answer.get("status", 200))
    value = {"status": status, "headers": answer.get("headers", {}), "body": answer.get("body", {})}
    if status < 400:
        return CallSucceeded(token, value)
    again = status in _RETRIED_STATUS or status >= 500
    return CallFailed(token, "transport" if again else "business", f"http_{status}", f"the answer was {status}", value)


def change_task(task: OpenTask, change: ChangeTask) -> OpenTask:
    """Give a task as an escalation leaves it."""
    return replace(
        task,
        priority=change.priority or task.priority,
        roles=tuple(dict.fromkeys((*task.roles, *change.roles))),
        users=tuple(dict.fromkeys((*task.users, *change.users))),
    )


_EFFECTS: Mapping[type, Any] = {
    StartChild: World._start_child,
    CancelChild: World._cancel_child,
    Emit: World._emit,
    MakeCallLater: World._send_call,
    TellPeople: World._tell,
    ChangeTask: World._change,
}
