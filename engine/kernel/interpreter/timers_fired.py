"""What happens when a timer of a step fires, and when something outside a step's body ends."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from engine.kernel.effects import Closing
from engine.kernel.machine.handlers import call_handler, timer_spec
from engine.kernel.machine.lingering import told_lingering
from engine.kernel.machine.machine import FAILED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.paused_clock import PAUSED, ran_out
from engine.kernel.machine.step_end import (
    deadline,
    end_handled,
    remember_origin,
    retry_now,
    time_out,
    told_handler,
    told_on_timeout,
)
from engine.kernel.machine.step_start import ask_again
from engine.kernel.machine.step_timers import due_of, open_timer
from engine.kernel.machine.task_timers import FAMILIES, ring_promise, ring_task
from engine.kernel.snapshot import Frame
from engine.kernel.steps.parallel import FILL, fill_on
from engine.kernel.transitions import StepStatus

MOST_OCCURRENCES = 10_000


def ring(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Fire the timer of a handler or reminder, and set it for the next time."""
    role = str(leaf.role)
    machine.close(leaf, Closing.ANSWERED)
    spec = timer_spec(machine, frame, role)
    if "every" in spec:
        _set_again(machine, frame, leaf, spec)
    if role.split(".")[0] in FAMILIES:
        ring_task(machine, frame, role, spec)
    if role in machine.step_of(frame).lists:
        call_handler(machine, frame, role, {})


def _set_again(machine: Machine, frame: Frame, leaf: Frame, spec: Mapping[str, Any]) -> None:
    """Set a repeating timer for its next time; times missed meanwhile are made up by one run and count as used."""
    base = datetime.fromisoformat(str(leaf.key))
    occurrence = int(leaf.at) + 1
    most = min(spec.get("times", MOST_OCCURRENCES), MOST_OCCURRENCES)
    while occurrence <= most and due_of(machine, frame, spec, base, occurrence) <= machine.now:
        occurrence += 1
    if occurrence <= most:
        open_timer(machine, frame, str(leaf.role), spec, base, occurrence)


def _told_interrupting(machine: Machine, host: Frame, message: Ended) -> None:
    """Continue after the host once its interrupting handler is over."""
    if message.outcome == FAILED:
        assert message.error is not None
        remember_origin(machine, host, message.error)
        machine.end(host, FAILED, error=message.error)
    else:
        end_handled(machine, host, message, StepStatus.CANCELLED, "interrupted")


def _told_beside(machine: Machine, scope: Frame, message: Ended) -> None:
    """Raise an error that leaves a handler in the scope that it runs in."""
    if message.outcome != FAILED:
        told_lingering(machine, scope, message)
    elif scope.list is not None:
        machine.end(scope, FAILED, error=message.error)
    else:
        machine.finish(scope, FAILED, error=message.error)


ROLES: Mapping[str, Callable[[Machine, Frame, Ended], None]] = {
    "on_error": told_handler,
    "on_timeout": told_on_timeout,
    "interrupting": _told_interrupting,
    "beside": _told_beside,
    "linger": told_lingering,
    FILL: fill_on,
}
"""What the end of something means that is no part of a step's body."""

DUE: Mapping[str, Callable[[Machine, Frame, Frame], None]] = {
    "timeout": time_out,
    "deadline": deadline,
    "retry": retry_now,
    "throttle": ask_again,
    "rate_limit": ask_again,
    "sla": ring_promise,
    PAUSED: ran_out,
}
"""What a leaf with a role does when it is due; handlers and reminders fire."""
