"""Begin steps and lists of steps.

Opening goes through gates, in order: each lets the step pass, ends it, or holds it until something changes. Then the
watches over it begin (timeouts, reminders, handlers), then the kind's body.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from engine.kernel.effects import Closing, WaitKind
from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.machine.decorators import decorate_given
from engine.kernel.machine.jumps import carry_jump, go_back, is_back, pass_mark
from engine.kernel.machine.machine import COMPLETED, SKIPPED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.redoable import note_acted
from engine.kernel.machine.step_table import KINDS
from engine.kernel.machine.step_timers import watch, watch_time
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.timing.periods import Period, parse_period
from engine.kernel.transitions import StepStatus

Gate = Callable[[Machine, Frame, Step], bool]


def open_step(machine: Machine, step: Step, parent: Frame, **more: Any) -> Frame:
    """Begin a step below a list or container; `more` are slots of the new frame."""
    frame = machine.new(parent.n)
    frame.step = step.id
    for slot, value in more.items():
        setattr(frame, slot, value)
    machine.steps_run += 1
    machine.made_before = machine.made
    if step.gated:
        machine.attempt(frame, lambda: pass_gates(machine, frame, step, ""))
    else:
        machine.attempt(frame, lambda: begin(machine, frame, step))
    return frame


def pass_gates(machine: Machine, frame: Frame, step: Step, after: str) -> None:
    """Go through the gates behind one (all of them for ""), then begin the body."""
    names = list(GATES)
    for name in names[names.index(after) + 1 if after else 0 :]:
        if name in step.spec and not GATES[name](machine, frame, step):
            return
    begin(machine, frame, step)


def _when(machine: Machine, frame: Frame, step: Step) -> bool:
    condition = step.spec["when"]
    if condition.holds(machine.names(frame)):
        return True
    frame.attempt = 1
    machine.end(frame, SKIPPED, reason=f"when: {condition.text} was false")
    return False


def _input(machine: Machine, frame: Frame, step: Step) -> bool:
    """Merge the step's input over the state, for all inside it."""
    values = step.spec["input"].of(machine.names(frame))
    check = step.spec.get("input_schema")
    values, problems = check(values) if check is not None else (values, ())
    if problems:
        found = "; ".join(f"{problem.path or 'input'}: {problem.message}" for problem in problems)
        raise StepError(ErrorClass.DEFINITION, "bad_input", found)
    frame.state = values
    machine.forget_names()
    return True


def _scope(machine: Machine, frame: Frame, step: Step) -> bool:
    if step.spec["scope"] == "own" and frame.state is None:
        frame.state = {}
        machine.forget_names()
    return True


def _enabled_while(machine: Machine, frame: Frame, step: Step) -> bool:
    if step.spec["enabled_while"].holds(machine.names(frame)):
        return True
    hold_step(machine, frame, "enabled")
    return False


def _mutex(machine: Machine, frame: Frame, step: Step) -> bool:
    """Queue for every name; the first of all queues continues."""
    for name in step.spec["mutex"]:
        line = machine.mutexes.setdefault(name, [])
        if frame.n not in line and not _held_above(machine, frame, line):
            line.append(frame.n)
    if may_hold(machine, frame, step):
        return True
    hold_step(machine, frame, "mutex")
    return False


def _throttle(machine: Machine, frame: Frame, step: Step) -> bool:
    """Ask for a place under the key and wait in line for it, unless a step has one that this one runs inside."""
    key = _key(machine, frame, step, "throttle")
    if machine.environment.has_place is None or any(
        found.place and found.place[0] == key for found in machine.upward(frame)
    ):
        return True
    frame.place = [key, step.spec["throttle"]["limit"]]
    hold_step(machine, frame, "throttle")
    _look_later(machine, frame)
    return False


def _look_later(machine: Machine, frame: Frame) -> None:
    """Wait for a slot; a freed slot sends a signal, and the timer covers a lost one."""
    machine.wait(frame, WaitKind.TIMER, due=machine.now + LOOK_AGAIN, role="throttle")


LOOK_AGAIN = timedelta(minutes=10)


def _rate_limit(machine: Machine, frame: Frame, step: Step) -> bool:
    """Ask whether the step may continue now; over the limit it asks again later."""
    spec, key = step.spec["rate_limit"], _key(machine, frame, step, "rate_limit")
    seconds = period_of(spec["per"].of(machine.names(frame)), "rate_limit.per").length.total_seconds()
    again = machine.environment.admit(key, spec["limit"], seconds) if machine.environment.admit is not None else None
    if again is not None:
        hold_step(machine, frame, "rate_limit")
        machine.wait(frame, WaitKind.TIMER, due=again, role="rate_limit")
    return again is None


def _key(machine: Machine, frame: Frame, step: Step, attribute: str) -> str:
    spec = step.spec[attribute]
    return str(spec["key"].of(machine.names(frame))) if "key" in spec else f"{machine.facts.template}:{step.id}"


def ask_again(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Ask once more whether a slowed step may continue."""
    machine.close(leaf, Closing.ANSWERED)
    gate, step = str(leaf.role), machine.step_of(frame)
    if gate == "throttle" and frame.place is not None:
        _look_later(machine, frame)  # let_in looks at the end of every slice
        return
    frame.held = None
    if GATES[gate](machine, frame, step):
        _pass_behind(machine, frame, step, gate)


def enter(machine: Machine, frame: Frame) -> None:
    """Resume a step that got its throttle slot."""
    for leaf in machine.kids(frame):
        if leaf.role == "throttle":
            machine.close(leaf, Closing.ANSWERED)
    go_on(machine, frame, "throttle")


def _held_above(machine: Machine, frame: Frame, line: list[int]) -> bool:
    """Return whether the step runs inside the one that holds the name: then it passes."""
    return bool(line) and any(found.n == line[0] for found in machine.upward(frame) if found is not frame)


def may_hold(machine: Machine, frame: Frame, step: Step) -> bool:
    """Return whether a step is first in all its lines."""
    lines = [machine.mutexes.get(name, []) for name in step.spec["mutex"]]
    return all(frame.n not in line or line[0] == frame.n for line in lines)


def hold_step(machine: Machine, frame: Frame, why: str) -> None:
    """Hold a step, or a further attempt of it, until something resumes it."""
    frame.held = why
    if frame.attempt > 1:
        machine.note(frame, StepStatus.RETRYING, reason=f"held back: {why}")
        return
    frame.attempt = 1
    machine.note(frame, StepStatus.PENDING, began=True, reason=f"held back: {why}")


def go_on(machine: Machine, frame: Frame, gate: str) -> None:
    """Resume a held step after the gate that held it."""
    frame.held = None
    step = machine.step_of(frame)
    machine.attempt(frame, lambda: _pass_behind(machine, frame, step, gate))


def _pass_behind(machine: Machine, frame: Frame, step: Step, gate: str) -> None:
    """Continue after a gate: to the first attempt of the body, or to the one that is due."""
    (begin_again if frame.attempt > 1 else pass_gates)(machine, frame, step, gate)


GATES: Mapping[str, Gate] = {
    "when": _when,
    "input": _input,
    "scope": _scope,
    "enabled_while": _enabled_while,
    "mutex": _mutex,
    "throttle": _throttle,
    "rate_limit": _rate_limit,
}
"""The gates before a body, in order; a gate returns whether the step may continue now."""
BEFORE_ATTEMPTS = ("throttle", "rate_limit")
"""The gates before every attempt; a throttle slot is kept between attempts."""


def begin(machine: Machine, frame: Frame, step: Step) -> None:
    """Start the body, with what watches over it."""
    frame.attempt = 1
    machine.note(frame, StepStatus.RUNNING, began=True)
    if step.watched:
        watch(machine, frame, step)
    start_body(machine, frame, step)


def begin_again(machine: Machine, frame: Frame, step: Step, after: str = "") -> None:
    """Go through what is asked before every attempt (behind one of it), then start the body once more."""
    for name in BEFORE_ATTEMPTS[BEFORE_ATTEMPTS.index(after) + 1 if after else 0 :]:
        if name in step.spec and not GATES[name](machine, frame, step):
            return
    machine.note(frame, StepStatus.RUNNING, began=True)
    watch_time(machine, frame, step)
    start_body(machine, frame, step)


def start_body(machine: Machine, frame: Frame, step: Step) -> None:
    """Start one attempt of the body, given what the step's decorators make of its input."""
    if "decorators" in step.spec:
        decorate_given(machine, frame, step)
    if machine.definition.redoes:
        note_acted(machine, frame, step)
    KINDS[step.kind].start(machine, frame, step)


def later(machine: Machine, value: Json, what: str) -> datetime:
    """Return when a computed duration from now is over."""
    return period_of(value, what).after(machine.now)


def due_on_calendar(machine: Machine, value: Json, what: str, calendar: str | None) -> datetime:
    """Return when a computed duration from now is over: in business time if a calendar is given."""
    if calendar is None:
        return later(machine, value, what)
    found = machine.environment.calendar(calendar) if machine.environment.calendar is not None else None
    if found is None:
        raise StepError(ErrorClass.DEFINITION, "no_calendar", f"{what}: there is no calendar `{calendar}`")
    period_of(value, what)
    try:
        due: datetime = found.add_business_time(machine.now, value)
    except ValueError as problem:
        raise StepError(ErrorClass.EXPRESSION, "bad_duration", f"{what}: {problem}") from None
    return due


def period_of(value: Json, what: str) -> Period:
    """Read a computed duration, or fail the step."""
    try:
        return parse_period(value if isinstance(value, str) else "")
    except ValueError as problem:
        raise StepError(ErrorClass.EXPRESSION, "bad_duration", f"{what}: {problem}") from None


def open_list(machine: Machine, frame: Frame, name: str, **more: Any) -> Frame:
    """Begin one of the lists of steps inside a step; `more` are slots of the new frame."""
    return open_steps(machine, frame, machine.step_of(frame).lists[name], **more)


def open_steps(machine: Machine, frame: Frame, which: str, **more: Any) -> Frame:
    """Begin a list of steps by its key in the definition, below any frame."""
    steps = machine.definition.lists[which]
    line = machine.new(frame.n)
    line.list = which
    for slot, value in more.items():
        setattr(line, slot, copied(value))
    if not steps.steps:
        machine.end(line, COMPLETED)
        return line
    open_at(machine, line, 0)
    return line


def told_line(machine: Machine, line: Frame, message: Ended) -> None:
    """Continue with the next step of a list, or end it as its step ended."""
    steps = machine.definition.lists[line.list or ""]
    if message.outcome not in (COMPLETED, SKIPPED):
        machine.end(line, message.outcome, error=message.error)
        return
    if message.value is not None and steps.owner:
        line.more = {**(line.more or {}), "last": message.value}
    if message.to is not None:
        _jump(machine, line, str(message.step), message.to)
        return
    place = steps.place[str(message.step)] + 1
    if place == len(steps.steps):
        end_line(machine, line)
    else:
        open_at(machine, line, place)


def open_at(machine: Machine, line: Frame, place: int) -> None:
    """Begin the step at a place of a running list."""
    step = machine.definition.lists[line.list or ""].steps[place]
    line.at = step.id
    open_step(machine, step, line, pos=pass_mark(line))


def _jump(machine: Machine, line: Frame, source: str, target: str) -> None:
    """Continue at the step named; a list that does not hold it ends and hands the jump on."""
    place = machine.definition.lists[line.list or ""].place.get(target)
    if place is None:
        carry_jump(line, target)
        end_line(machine, line)
        return
    if is_back(machine, line, source, target):
        go_back(line)
    open_at(machine, line, place)


def end_line(machine: Machine, line: Frame) -> None:
    """End a list as a success once nothing lingers in it."""
    if lingering(machine, line):
        line.held = "linger"
    else:
        more = line.more or {}
        machine.end(line, COMPLETED, more.get("last"), to=more.get("jump"))


def lingering(machine: Machine, frame: Frame) -> bool:
    """Return whether something fired earlier still runs in a scope."""
    below = machine.children[frame.n]
    return bool(below) and any(machine.frames[number].role in LINGERS for number in below)


LINGERS = frozenset({"linger", "beside"})
"""Roles of what runs on in a scope without being part of its body: fired joins, and handlers that do not interrupt."""
