"""Record what the kernel is told in one turn: the events, and what it asked the platform meanwhile.

The kernel is a function of its definition, its snapshot and this. So anyone who has the rows of an instance's audit can run it
again to the same snapshot (engine.runtime.replay). Only what was said is kept: a turn in which nothing was asked is its events.
Calendars and decorators are not recorded; a replay uses those of today. Secrets never reach the kernel, so none is here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from typing import Any, get_args

from engine.kernel.signals import CallFailed, CallSucceeded, Environment, Event, Json, Started

KIND = "is"
EVENTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}
LEFT_OUT = {Started: frozenset({"input"})}
"""What the same row says already: an instance's input is in the act that started it."""
LIGHT = 4_096
"""Below this the weight of a snapshot decides nothing."""
USUAL_STEPS = Environment.__dataclass_fields__["max_steps"].default


def told_event(event: Event | CallSucceeded | CallFailed) -> dict[str, Json]:
    """Write an event as its type and those of its fields that say something."""
    kind: Any = type(event)
    usual = _defaults(kind)
    said = {name: value for name in _names(kind) if (value := getattr(event, name)) != usual.get(name, MISSING)}
    return {KIND: kind.__name__, **said}


def event_of(told: Mapping[str, Json]) -> Any:
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
