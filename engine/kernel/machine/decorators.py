"""Wrap the body of a step: change what it is given before each attempt, and what it gives after a success.

A body may wait for days, so a decorator is two pure functions, not one that calls the body. The kernel borrows them by
name from its caller; it knows none itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.json_safety import refuse_unsafe_json
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied

if TYPE_CHECKING:
    from engine.kernel.machine.machine import Machine

Change = Callable[[Json], Json]


@dataclass(frozen=True, slots=True)
class Decorator:
    """A wrapper of a step's body: `before` changes the values it is given, `after` its result. Both are pure."""

    before: Change | None = None
    after: Change | None = None


def decorate_given(machine: "Machine", frame: Frame, step: Step) -> None:
    """Apply the decorators to what the body is given, the first named first; every attempt begins anew."""
    changes = [(name, found.before) for name, found in _lent(machine, step) if found.before is not None]
    if not changes:
        return
    if frame.given is None:
        frame.given = frame.state or {}
    values = copied(frame.given)
    for name, change in changes:
        values = _changed(name, change, values)
        if not isinstance(values, dict):
            raise _spoilt(name, "it gives no object")
    if values or frame.state is not None:
        frame.state = values
    machine.forget_names()


def decorate_result(machine: "Machine", step: Step, value: Json) -> Json:
    """Apply the decorators to the body's result, the first named last: it is the outermost."""
    for name, found in reversed(_lent(machine, step)):
        if found.after is not None:
            value = _changed(name, found.after, copied(value))
    return value


def _lent(machine: "Machine", step: Step) -> list[tuple[str, Decorator]]:
    lend = machine.environment.decorator
    found = [(name, lend(name) if lend is not None else None) for name in step.spec["decorators"]]
    missing = [name for name, one in found if one is None]
    if missing:
        raise StepError(ErrorClass.DEFINITION, "no_decorator", f"there is no decorator `{missing[0]}`")
    return [(name, one) for name, one in found if one is not None]


def _changed(name: str, change: Change, value: Json) -> Json:
    changed = change(value)
    problems = refuse_unsafe_json(changed)
    if problems:
        raise _spoilt(name, f"{problems[0].path or 'its value'}: {problems[0].message}")
    return copied(changed)


def _spoilt(name: str, why: str) -> StepError:
    return StepError(ErrorClass.DEFINITION, "bad_decorator", f"the decorator `{name}`: {why}")
