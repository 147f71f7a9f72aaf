"""Provide what the kernel asks for in a turn: the moment, ids, the bounds of the transaction; and record what it was told.

A slice has its own bound. What follows from it in the same transaction, children that run at once and parents that continue
after them, is taken from one allowance; the rest is queued, and a worker takes it later, tenants in turn. So no tenant holds a
worker, a lock or memory for longer than an allowance lasts.

The kernel is a function of its definition, its snapshot and what it was told. So anyone who has the rows of an instance's audit
can run it again to the same snapshot (engine.runtime.replay). Only what was said is kept: a turn in which nothing was asked is
its events. Calendars and decorators are not recorded; a replay uses those of today. Secrets never reach the kernel, so none is
here.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from functools import cache, partial
from typing import Any, get_args
from uuid import UUID

from engine.access.four_eyes import members_of
from engine.access.people import manager_named
from engine.conf import conf
from engine.extensions.decorators import decorator_named
from engine.kernel.effects import Slice
from engine.kernel.signals import CallFailed, CallSucceeded, Environment, Event, Json, Started, TaskReopened
from engine.models import Instance
from engine.runtime.calendars import calendar_named
from engine.runtime.projection import Loaded
from engine.runtime.rate_limits import take_turn
from engine.runtime.throttles import runs_let_in
from engine.runtime.transactional_functions import FunctionRunner
from workflowplatform.ids import uuid7

LEAST_SECONDS, LEAST_STEPS = 0.005, 10
"""What a slice has in any case, however many there are in its transaction."""
STEPS_PER_START = 5
"""How many steps the rows of a new instance are worth."""

Refusal = tuple[str, str]

KIND = "is"
EVENTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
LEFT_OUT = {Started: frozenset({"input"}), TaskReopened: frozenset({"before"})}
"""What the audit says already: an instance's input is in the act that started it, and a replay comes by every snapshot."""
LIGHT = 4_096
"""Below this the weight of a snapshot decides nothing."""
USUAL_STEPS = Environment.__dataclass_fields__["max_steps"].default


def never() -> bool:
    """Return False: nobody asked to stop."""
    return False


@dataclass(slots=True)
class Allowance:
    """How much is left of what a transaction may do."""

    slices: int = 1
    """How many instances it was asked to move."""
    starts: int = field(default_factory=lambda: conf.transaction_starts)
    lined_up: int = 0
    """How many instances were asked for so far: what cannot run here is written nevertheless."""
    steps: int = field(default_factory=lambda: conf.transaction_steps)
    seconds: float = field(default_factory=lambda: conf.transaction_seconds)
    began_at: float = field(default_factory=time.monotonic)
    is_asked_to_stop: Callable[[], bool] = never
    families: dict[UUID, int] = field(default_factory=dict)
    """How many descendants each family has that was asked after."""
    _most_starts: int = 0

    def __post_init__(self) -> None:
        self._most_starts = self.starts

    @classmethod
    def for_turn(
        cls, slices: int, steps: int, seconds: float, is_asked_to_stop: Callable[[], bool] = never
    ) -> "Allowance":
        """Return the allowance of a worker's turn: shorter than that of a transaction that a user waits for."""
        starts = max(2, min(conf.transaction_starts, steps // STEPS_PER_START))
        seconds = min(seconds, conf.transaction_seconds)
        steps = min(steps, conf.transaction_steps)
        return cls(slices=slices, starts=starts, steps=steps, seconds=seconds, is_asked_to_stop=is_asked_to_stop)

    @property
    def is_left(self) -> bool:
        return self.steps > 0 and time.monotonic() < self.began_at + self.seconds and not self.is_asked_to_stop()

    @property
    def slice_seconds(self) -> float:
        """Return how long one slice may take: a share of the whole where there are many."""
        share = self.seconds / self.slices
        return min(conf.slice_seconds, max(share, LEAST_SECONDS))

    @property
    def slice_steps(self) -> int:
        """Return how many steps one slice may begin: no more than are left, but some in any case."""
        return min(conf.slice_steps, max(self.steps, LEAST_STEPS))

    def stop_slice(self) -> Callable[[], bool]:
        """Return what the kernel asks between the steps of a slice that begins now: whether it has to end.

        A slice may use so much of its thread's own processor time: other work on the machine does not cut it short. The clock
        bounds the transaction, for functions that block.
        """
        used_up_at = time.thread_time() + self.slice_seconds
        over_at = self.began_at + max(self.seconds, conf.slice_seconds)
        return lambda: time.thread_time() > used_up_at or time.monotonic() > over_at or self.is_asked_to_stop()

    def spend(self, result: Slice) -> None:
        """Count the steps that a slice began."""
        self.steps -= sum(entry.began for entry in result.trace)

    def take_start(self) -> bool:
        """Take the place of one instance that begins to run here, if any is left."""
        crowded = self.lined_up >= 2 * self._most_starts
        self.starts -= 1
        return self.starts >= 0 and self.is_left and not crowded

    def refusing(self, loaded: Loaded) -> Callable[[bool, bool], Refusal | None]:
        """Make what the kernel asks before a step starts one more instance."""

        def refuse(own_life: bool, waited: bool) -> Refusal | None:
            if own_life and waited:
                return None
            if own_life and loaded.hops >= conf.longest_chain:
                return "endless_chain", _TOO_LONG.format(most=conf.longest_chain)
            return self._count(loaded)

        return refuse

    def _count(self, loaded: Loaded) -> Refusal | None:
        """Count one more descendant of a family, up to the most it may have."""
        most = conf.most_descendants
        root = loaded.root_id or loaded.instance_id
        if root not in self.families:
            born_now = loaded.root_id is None and loaded.state_version == 0
            self.families[root] = 0 if born_now else Instance.objects.filter(root_id=root)[:most].count()
        self.families[root] += 1
        return None if self.families[root] <= most else ("too_many_descendants", _TOO_MANY.format(most=most))


_TOO_LONG = (
    "{most} instances started one another without a wait in between, which is the most (WORKFLOW_LONGEST_CHAIN). "
    "Let one of them wait, or end the chain by a condition."
)
_TOO_MANY = (
    "One instance has at most {most} descendants (WORKFLOW_MOST_DESCENDANTS). "
    "Start fewer, or let what is started wait before it starts more."
)


def environment_of(
    loaded: Loaded, perform: FunctionRunner | None = None, allowance: Allowance | None = None
) -> Environment:
    """Return the environment of a turn: the moment, its bounds, and ids for instances that it may start."""
    allowance = allowance or Allowance()
    let_in = cache(partial(runs_let_in, loaded.instance_id))
    return Environment(
        now=loaded.now,
        max_steps=allowance.slice_steps,
        stop=allowance.stop_slice(),
        largest=conf.largest_state,
        weight=loaded.weight,
        admit=partial(take_turn, loaded.tenant_id, loaded.now),
        has_place=lambda run: run in let_in(),
        calendar=lambda name: calendar_named(loaded.tenant_id, name),
        perform=perform,
        new_id=lambda number: uuid7(),
        members=lambda roles, level: members_of(loaded.tenant_id, roles, level),
        manager=cache(partial(manager_named, loaded.tenant_id)),
        refuse_new_instance=allowance.refusing(loaded),
        decorator=decorator_named,
    )


# What it was told


def told_event(event: Event | CallSucceeded | CallFailed) -> dict[str, Json]:
    """Write an event as its type and those of its fields that say something."""
    kind: Any = type(event)
    usual = _defaults(kind)
    said = {name: value for name in _names(kind) if (value := getattr(event, name)) != usual.get(name, MISSING)}
    return {KIND: kind.__name__, **said}


def read_event(told: Mapping[str, Json]) -> Any:
    """Read an event that was written so."""
    kind = EVENTS[told[KIND]]
    given = {name: value for name, value in told.items() if name != KIND}
    return kind(**dict.fromkeys(LEFT_OUT.get(kind, ())) | given)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.name not in LEFT_OUT.get(kind, ()))


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    made = {one.name: one.default_factory() for one in fields(kind) if one.default_factory is not MISSING}
    return made | {one.name: one.default for one in fields(kind) if one.default is not MISSING}


@dataclass(slots=True)
class Recorder:
    """Lends the kernel an environment, and remembers what was answered through it."""

    admitted: list[Json] = field(default_factory=list)
    let_in: list[int] = field(default_factory=list)
    performed: list[Json] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    members: list[list[str]] = field(default_factory=list)
    managers: list[str | None] = field(default_factory=list)
    refused: list[Json] = field(default_factory=list)
    looks: int = 0
    """How often the kernel asked whether to stop, until it was told to."""
    stopped: bool = False

    def lend(self, real: Environment) -> Environment:
        """Return the environment with ears."""
        return replace(
            real,
            stop=self._stop(real.stop),
            admit=self._heard(self.admitted, real.admit, spelled_moment),
            has_place=self._place(real.has_place),
            perform=self._heard(self.performed, real.perform, lambda event: event and told_event(event)),
            new_id=self._heard(self.ids, real.new_id, str),
            members=self._heard(self.members, real.members, sorted),
            manager=self._heard(self.managers, real.manager, lambda name: name),
            refuse_new_instance=self._heard(self.refused, real.refuse_new_instance, lambda said: said and list(said)),
        )

    @staticmethod
    def _heard(heard: list[Any], ask: Any, spell: Callable[[Any], Json]) -> Any:
        if ask is None:
            return None

        def answer(*asked: Any) -> Any:
            found = ask(*asked)
            heard.append(spell(found))
            return found

        return answer

    def _stop(self, ask: Any) -> Any:
        if ask is None:
            return None

        def answer() -> bool:
            if not self.stopped:
                self.looks += 1
                self.stopped = bool(ask())
            return self.stopped

        return answer

    def _place(self, ask: Any) -> Any:
        if ask is None:
            return None

        def answer(run: int) -> bool:
            found = bool(ask(run))
            if found and run not in self.let_in:
                self.let_in.append(run)
            return found

        return answer

    def turn(self, events: Iterable[Event], environment: Environment, reference: str | None) -> dict[str, Json]:
        """Write down a turn: its events, and what else was said."""
        said = {
            "reference": reference,
            "steps": environment.max_steps if environment.max_steps != USUAL_STEPS else None,
            "looks": self.looks if self.stopped else None,
            "weight": environment.weight if environment.weight > LIGHT else None,
            "admitted": self.admitted if any(self.admitted) else None,
            "let_in": self.let_in or None,
            "performed": self.performed if any(self.performed) else None,
            "ids": self.ids or None,
            "members": self.members if any(self.members) else None,
            "managers": self.managers if any(self.managers) else None,
            "refused": self.refused if any(self.refused) else None,
        }
        told = {"events": [told_event(event) for event in events]}
        return told | {name: value for name, value in said.items() if value is not None}


def spelled_moment(at: datetime | None) -> str | None:
    """Write when to ask again; None lets a step through."""
    return at.isoformat() if at else None
