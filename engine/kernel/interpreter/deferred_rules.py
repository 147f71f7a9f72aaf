"""Rules that are looked at only when nothing else in the slice is ready.

In order: locks and places that became free, own signals, `enabled_while`, OR-joins and ends of nets, each in the order of frame
numbers. A rule returns whether something moved; then all parents are notified again before the next look.
"""

from collections.abc import Callable

from engine.kernel.errors import StepError
from engine.kernel.interpreter.signal_delivery import deliver_signal
from engine.kernel.machine.machine import FAILED, SKIPPED, Machine
from engine.kernel.machine.step_start import enter, go_on, hold_step, may_hold
from engine.kernel.snapshot import Frame
from engine.kernel.steps.nets import settle_net


def grant(machine: Machine) -> bool:
    """Resume the first step that is first in all its queues."""
    if not machine.mutexes:
        return False
    for frame in _held(machine, "mutex"):
        if may_hold(machine, frame, machine.step_of(frame)):
            go_on(machine, frame, "mutex")
            return True
    return False


def let_in(machine: Machine) -> bool:
    """Resume the first step that waited for a throttle slot and got one."""
    if not machine.definition.has_throttles or machine.environment.has_place is None:
        return False
    for frame in _held(machine, "throttle"):
        if frame.place is not None and machine.environment.has_place(frame.n):
            enter(machine, frame)
            return True
    return False


def _held(machine: Machine, why: str) -> list[Frame]:
    return [machine.frames[number] for number in sorted(machine.frames) if machine.frames[number].held == why]


def deliver_own(machine: Machine) -> bool:
    """Deliver the oldest own signal."""
    if not machine.emits:
        return False
    name, key, payload = machine.emits.popleft()
    deliver_signal(machine, name, key, payload)
    return True


def look_at_milestones(machine: Machine) -> bool:
    """Offer what has become enabled, withdraw what no longer is."""
    if not machine.definition.has_milestones:
        return False
    for number in sorted(machine.frames):
        frame = machine.frames[number]
        if frame.step and "enabled_while" in machine.step_of(frame).spec and _look(machine, frame):
            return True
    return False


def _look(machine: Machine, frame: Frame) -> bool:
    """Check one milestone; return whether it changed."""
    step = machine.step_of(frame)
    try:
        enabled = step.spec["enabled_while"].holds(machine.names(frame))
    except StepError as problem:
        machine.finish(frame, FAILED, error=problem.record(step.id, frame.attempt))
        return True
    if frame.held == "enabled" and enabled:
        go_on(machine, frame, "enabled_while")
        return True
    if frame.held not in ("enabled", "linger") and frame.phase is None and not enabled:
        _disable(machine, frame)
        return True
    return False


def _disable(machine: Machine, frame: Frame) -> None:
    """Withdraw a step whose milestone has passed; it returns under a new number, so its old token is stale."""
    step = machine.step_of(frame)
    if step.spec.get("missed") == "skip":
        machine.end(frame, SKIPPED, reason="enabled_while became false")
        return
    again = machine.new(frame.p)
    again.step, again.key, again.pos, again.role, again.state = (
        frame.step,
        frame.key,
        frame.pos,
        frame.role,
        frame.state,
    )
    again.sign, again.edit, again.again = frame.sign, frame.edit, frame.again + 1
    machine.withdraw(frame)
    hold_step(machine, again, "enabled")


def settle_nets(machine: Machine) -> bool:
    """Run free OR-joins and end finished nets."""
    if not machine.definition.has_nets:
        return False
    for number in sorted(machine.frames):
        frame = machine.frames[number]
        net = frame.step is not None and machine.step_of(frame).kind == "net"
        if (
            net
            and frame.phase is None
            and frame.more is not None
            and "tok" in frame.more
            and settle_net(machine, frame)
        ):
            return True
    return False


LATE_RULES: tuple[Callable[[Machine], bool], ...] = (grant, let_in, deliver_own, look_at_milestones, settle_nets)
