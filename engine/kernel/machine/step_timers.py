"""Begin what watches over a step: its timeout, its reminders, its handlers, the deadline of the instance.

Watches are side waits: they die with their step and do not keep an instance alive. What happens when one fires is in
timers_fired.py.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from engine.kernel.effects import WaitKind
from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.machine.machine import Machine, moment_of
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame
from engine.kernel.timing.periods import parse_period


def watch(machine: Machine, frame: Frame, step: Step) -> None:
    """Open all side waits of a step."""
    for name, begin in WATCHES.items():
        if name in step.spec:
            begin(machine, frame, step)


def watch_named(machine: Machine, frame: Frame, role: str) -> Frame | None:
    """Find the live watch of a step by its role."""
    return next((leaf for leaf in machine.kids(frame) if leaf.role == role and leaf.side), None)


def watch_time(machine: Machine, frame: Frame, step: Step) -> None:
    """Start the timer of a step, unless it runs already."""
    if "timeout" in step.spec and watch_named(machine, frame, "timeout") is None:
        _timeout(machine, frame, step)


def _timeout(machine: Machine, frame: Frame, step: Step) -> None:
    due = _after(machine, machine.now, step.spec["timeout"].of(machine.names(frame)))
    machine.wait(frame, WaitKind.TIMER, due=due, role="timeout", side=True)


def _limits(machine: Machine, frame: Frame, step: Step) -> None:
    if "deadline" in step.spec["limits"]:
        due = _after(machine, machine.now, step.spec["limits"]["deadline"].of(machine.names(frame)))
        machine.wait(frame, WaitKind.TIMER, due=due, role="deadline", side=True)


def _reminders(machine: Machine, frame: Frame, step: Step) -> None:
    for place, reminder in enumerate(step.spec["reminders"]):
        open_timer(machine, frame, f"reminders.{place}", reminder, machine.now, 1)


def _handlers(machine: Machine, frame: Frame, step: Step) -> None:
    for place, handler in enumerate(step.spec["on"]):
        kind = next(key for key in ("signal", "after", "at", "every", "error", "escalation") if key in handler)
        HANDLERS[kind](machine, frame, f"on.{place}", handler)


def _on_signal(machine: Machine, frame: Frame, role: str, handler: Mapping[str, Any]) -> None:
    names = machine.names(frame)
    key = handler["key"].of(names) if "key" in handler else None
    name = str(handler["signal"].of(names))
    machine.wait(frame, WaitKind.SIGNAL, role=role, side=True, name=name, key=None if key is None else str(key))


def _on_time(machine: Machine, frame: Frame, role: str, handler: Mapping[str, Any]) -> None:
    open_timer(machine, frame, role, handler, machine.now, 1)


def _on_call(_machine: Machine, _frame: Frame, _role: str, _handler: Mapping[str, Any]) -> None:
    """Open nothing: errors and escalations come from inside."""


HANDLERS: Mapping[str, Callable[[Machine, Frame, str, Mapping[str, Any]], None]] = {
    "signal": _on_signal,
    "after": _on_time,
    "at": _on_time,
    "every": _on_time,
    "error": _on_call,
    "escalation": _on_call,
}
"""How each handler listens while its host is open."""

WATCHES: Mapping[str, Callable[[Machine, Frame, Step], None]] = {
    "timeout": _timeout,
    "limits": _limits,
    "reminders": _reminders,
    "on": _handlers,
}
"""Attributes that open side waits when a body begins."""


def open_timer(
    machine: Machine, frame: Frame, role: str, spec: Mapping[str, Any], base: datetime, occurrence: int
) -> None:
    """Open the timer of one occurrence of a reminder or handler; `base` is when the step began."""
    due = due_of(machine, frame, spec, base, occurrence)
    leaf = machine.wait(frame, WaitKind.TIMER, due=due, role=role, side=True)
    leaf.at, leaf.key = occurrence, base.isoformat()


def due_of(machine: Machine, frame: Frame, spec: Mapping[str, Any], base: datetime, occurrence: int) -> datetime:
    """Return when an occurrence of a reminder or handler is due, counted from when the step began."""
    names = machine.names(frame)
    if "at" in spec:
        return moment_of(spec["at"].of(names), "at")
    if "after" in spec:
        return _after(machine, base, spec["after"].of(names))
    return _after(machine, base, spec["every"].of(names), occurrence)


def _after(_machine: Machine, base: datetime, value: Json, times: int = 1) -> datetime:
    try:
        return parse_period(value if isinstance(value, str) else "").times(times).after(base)
    except (ValueError, OverflowError) as problem:
        raise StepError(ErrorClass.EXPRESSION, "bad_duration", str(problem)) from None
