"""Calls to the outside: the intent is committed, the answer comes under the wait's token."""

from collections.abc import Callable, Mapping
from typing import Any

from engine.kernel.effects import Closing, ErrorRecord, MakeCall, WaitKind
from engine.kernel.errors import ErrorClass
from engine.kernel.expressions.functions import as_text
from engine.kernel.expressions.secret_marks import refuse_marks
from engine.kernel.machine.edited_input import edited
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.idempotency_keys import key_at
from engine.kernel.machine.machine import COMPLETED, FAILED, Machine
from engine.kernel.machine.step_end import time_out
from engine.kernel.machine.step_start import later, period_of
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.machine.step_timers import watch_named
from engine.kernel.program import Step
from engine.kernel.signals import CallFailed, CallSucceeded, Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.timing.periods import parse_moment

DEFAULT_TIMEOUT = 30.0
"""The default seconds of one attempt of a call."""
MAX_TIMEOUT = 3600.0
"""Seconds that an attempt has at most, whatever was written."""
TIMEOUT_GRACE = 1.0
"""Seconds by which an attempt may outlast the step's own time: so that the step's own timer fires first."""


def _call(machine: Machine, frame: Frame, step: Step) -> None:
    """Commit the intent of an outside call and wait for what comes of it, unless it can be made within the slice."""
    frame.sent_as = frame.sent_as or key_of_call(machine, frame, step)
    call = describe_call(machine, frame, step, frame.sent_as, edited(frame) or {})
    machine.note_input(frame, call.request)
    answer = machine.environment.perform(call, step.id) if machine.environment.perform is not None else None
    if answer is not None:
        ANSWERS[type(answer)](machine, frame, answer)
        return
    machine.wait(frame, WaitKind.CALL, due=later(machine, f"PT{call.timeout_seconds:g}S", "call"), call=call)


def key_of_call(machine: Machine, frame: Frame, step: Step) -> str:
    """Compute the key of a call: the author's own, else that of the occurrence."""
    written = as_text(step.body["key"].of(machine.names(frame))) if "key" in step.body else ""
    return written or key_at(machine, frame, step.path)


def describe_call(machine: Machine, frame: Frame, step: Step, key: str, given: Mapping[str, Json]) -> MakeCall:
    """Compute the request, with what an operator gave in place of the author's own."""
    names = machine.names(frame)
    transport = next(key for key in step.body if key not in ("into", "key"))
    own = {name: value for name, value in step.body[transport].items() if name not in given}
    request = {name: _computed(value, names) for name, value in own.items()} | copied(dict(given))
    secrets = machine.definition.secrets.get(step.id, ())
    bare = With(names, {"secret": dict.fromkeys(secrets, "")}) if secrets else names
    refuse_marks({name: _computed(value, bare) for name, value in step.body[transport].items()} if secrets else request)
    return MakeCall(transport, request, key, max(frame.attempt, 1), _patience(machine, frame, step), secrets)


def _computed(value: Any, names: Any) -> Json:
    return value.of(names) if hasattr(value, "of") else copied(value)


def _patience(machine: Machine, frame: Frame, step: Step) -> float:
    """Return how many seconds this attempt has: its own time, but hardly more than the step has left."""
    own = DEFAULT_TIMEOUT
    if "attempt_timeout" in step.spec:
        written = step.spec["attempt_timeout"].of(machine.names(frame))
        own = period_of(written, "attempt_timeout").length.total_seconds()
    left = _seconds_left(machine, frame)
    return max(min(own, MAX_TIMEOUT, MAX_TIMEOUT if left is None else left + TIMEOUT_GRACE), 0.001)


def _seconds_left(machine: Machine, frame: Frame) -> float | None:
    """Return how much is left of the time for the whole step; None where that has no end."""
    whole = watch_named(machine, frame, "timeout")
    return None if whole is None else (parse_moment(str(whole.due)) - machine.now).total_seconds()


def _answered(machine: Machine, frame: Frame, leaf: Frame, event: CallSucceeded | CallFailed) -> None:
    machine.close(leaf, Closing.ANSWERED)
    ANSWERS[type(event)](machine, frame, event)


def _succeeded(machine: Machine, frame: Frame, event: CallSucceeded) -> None:
    machine.finish(frame, COMPLETED, event.value)


def _failed(machine: Machine, frame: Frame, event: CallFailed) -> None:
    """Fail the step; a late attempt that comes back when the step's own time is over is that, whichever is told first."""
    whole, left = watch_named(machine, frame, "timeout"), _seconds_left(machine, frame)
    if event.error_class == ErrorClass.TIMEOUT and whole is not None and left is not None and left <= 0:
        time_out(machine, frame, whole)
        return
    error = ErrorRecord(event.error_class, event.code, event.message, frame.step, frame.attempt, copied(event.value))
    machine.finish(frame, FAILED, error=error)


ANSWERS: Mapping[type, Callable[[Machine, Frame, Any], None]] = {CallSucceeded: _succeeded, CallFailed: _failed}


def _into(step: Step) -> str:
    return str(step.body.get("into", step.id))


KINDS.update({"call": Kind(_call, answered=_answered, result_name=_into)})
