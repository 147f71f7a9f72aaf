"""Steps that wait: for a time, for a named signal."""

from engine.kernel.effects import Closing, WaitKind
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.machine import COMPLETED, Machine, moment_of
from engine.kernel.machine.step_start import due_on_calendar, period_of
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json, TimerDue
from engine.kernel.snapshot import Frame
from engine.kernel.timing.periods import parse_moment


def _wait(machine: Machine, frame: Frame, step: Step) -> None:
    """Open a durable timer, and listen for a signal that moves it."""
    names = machine.names(frame)
    if "for" in step.body:
        due = due_on_calendar(machine, step.body["for"].of(names), "wait.for", step.body.get("calendar"))
    else:
        due = moment_of(step.body["until"].of(names), "wait.until")
    machine.wait(frame, WaitKind.TIMER, due=due)
    if "reschedule" in step.body:
        machine.wait(frame, WaitKind.SIGNAL, role="reschedule", side=True, name=step.body["reschedule"]["signal"])


def _rang(machine: Machine, frame: Frame, leaf: Frame, _event: TimerDue) -> None:
    machine.close(leaf, Closing.ANSWERED)
    machine.finish(frame, COMPLETED)


def reschedule(machine: Machine, frame: Frame, payload: Json) -> None:
    """Replace the time that a step waits for: a new timer under a new token."""
    spec = machine.step_of(frame).body["reschedule"]
    due = moment_of(spec["until"].of(With(machine.names(frame), {"signal": payload})), "reschedule.until")
    for leaf in machine.kids(frame):
        if leaf.wait == WaitKind.TIMER.value and leaf.role is None:
            machine.close(leaf, Closing.WITHDRAWN)
    machine.wait(frame, WaitKind.TIMER, due=due)


def _signal(machine: Machine, frame: Frame, step: Step) -> None:
    """Wait for a named signal, unless one came early."""
    names = machine.names(frame)
    key = step.body["key"].of(names) if "key" in step.body else None
    ttl = step.body["ttl"].of(names) if "ttl" in step.body else None
    name, key = step.body["name"], None if key is None else str(key)
    found, payload = take_early(machine, name, key, ttl)
    if found:
        machine.finish(frame, COMPLETED, {} if payload is None else payload)
    else:
        machine.wait(frame, WaitKind.SIGNAL, name=name, key=key)


def take_early(machine: Machine, name: str, key: str | None, ttl: Json) -> tuple[bool, Json]:
    """Take a signal of this name that came early and is not too old."""
    for place, (kept, kept_key, payload, came) in enumerate(machine.early):
        if kept != name or kept_key not in (None, key):
            continue
        if ttl is None or period_of(ttl, "ttl").after(parse_moment(came)) > machine.now:
            del machine.early[place]
            return True, payload
    return False, None


KINDS.update(
    {
        "wait": Kind(_wait, answered=_rang, has_result=False),
        "signal": Kind(_signal),
    }
)
