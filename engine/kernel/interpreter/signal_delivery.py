"""Deliver named signals: each to exactly one taker, in a fixed order.

First the oldest open wait of that name and key, then a for_each that adds or closes, then a handler, innermost first;
else it is kept if a `signal` step of that name wants early ones, else it is lost. Own signals are delivered when
every ready branch has run to its wait, so that a sibling which opens its wait later in the same slice hears them.
"""

from collections.abc import Callable, Iterator

from engine.kernel.effects import Closing, WaitKind
from engine.kernel.machine.handlers import call_handler
from engine.kernel.machine.machine import COMPLETED, Machine
from engine.kernel.machine.step_start import period_of
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.parallel import add_item
from engine.kernel.steps.waits import reschedule
from engine.kernel.timing.periods import spell_moment

Taker = Callable[[Machine, Frame, Json], None]


def deliver_signal(machine: Machine, name: str, key: str | None, payload: Json, *, everyone: bool = False) -> bool:
    """Hand a signal to its taker, keep it, or lose it; return whether it was taken."""
    machine.received["signal"] = copied(payload)
    machine.touch()
    takers = list(_takers(machine, name, key))
    for leaf, take in takers if everyone else takers[:1]:
        if leaf.n in machine.frames:
            take(machine, leaf, copied(payload))
    if not takers and not everyone:
        _keep(machine, name, key, payload)
    return bool(takers)


def _takers(machine: Machine, name: str, key: str | None) -> Iterator[tuple[Frame, Taker]]:
    heard = [leaf for leaf in machine.leaves() if _hears(leaf, name, key)]
    for leaf in heard:
        if leaf.wait == WaitKind.SIGNAL.value and leaf.role is None:
            yield leaf, wake
    for leaf in heard:
        if leaf.wait == WaitKind.ADD.value:
            yield leaf, _add
    for leaf in heard:
        if leaf.role == "reschedule":
            yield leaf, _reschedule
    handlers = [leaf for leaf in heard if leaf.role is not None and leaf.role.startswith("on.")]
    for leaf in sorted(handlers, key=lambda leaf: (-len(list(machine.upward(leaf))), leaf.n)):
        yield leaf, _call


def _hears(leaf: Frame, name: str, key: str | None) -> bool:
    """Return whether a wait hears a signal; one without key is addressed to the instance and reaches every wait."""
    return leaf.name is not None and leaf.name[0] == name and key in (None, leaf.name[1])


def wake(machine: Machine, leaf: Frame, payload: Json) -> None:
    """Complete a `signal` step with the signal that it waits for."""
    frame = machine.frames[leaf.p]
    machine.close(leaf, Closing.ANSWERED)
    machine.attempt(frame, lambda: machine.finish(frame, COMPLETED, {} if payload is None else payload))


def _add(machine: Machine, leaf: Frame, payload: Json) -> None:
    frame = machine.frames[leaf.p]
    machine.attempt(frame, lambda: add_item(machine, frame, leaf, payload))


def _reschedule(machine: Machine, leaf: Frame, payload: Json) -> None:
    frame = machine.frames[leaf.p]
    machine.attempt(frame, lambda: reschedule(machine, frame, payload))


def _call(machine: Machine, leaf: Frame, payload: Json) -> None:
    host = machine.frames[leaf.p]
    machine.attempt(host, lambda: call_handler(machine, host, str(leaf.role), {"signal": payload}))


def _keep(machine: Machine, name: str, key: str | None, payload: Json) -> None:
    """Keep a signal that no wait takes yet, if some step of the definition accepts early ones."""
    if any(_wants_early(step, name) for step in machine.definition.steps.values()):
        machine.early.append([name, key, copied(payload), spell_moment(machine.now)])


def _wants_early(step: Step, name: str) -> bool:
    if step.kind != "signal" or step.body["name"] != name:
        return False
    ttl = step.raw["signal"].get("ttl")
    return ttl is None or "${" in ttl or bool(period_of(ttl, "ttl").length)
