"""What the attributes beside a step mean, in the order in which they act.

Opening goes through gates (`when` …): each lets the step pass, ends it or holds it. Then side waits begin, then the
kind's body. When the body is over, `finish` asks retry, `output`, `on_error`; whatever is left is the step's end. A
child that is no part of the body (a handler's list, a timeout's leaf) carries a role, and ROLES says what its end
means.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from engine.kernel.definition import Step
from engine.kernel.effects import Closing, ErrorRecord, WaitKind
from engine.kernel.errors import UNCAUGHT, ErrorClass, StepError, error_names
from engine.kernel.machine import COMPLETED, FAILED, SKIPPED, Checkpoint, Ended, Machine
from engine.kernel.periods import Period, parse_period
from engine.kernel.scope import With
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.table import KINDS
from engine.kernel.transitions import StepStatus

Gate = Callable[[Machine, Frame, Step], bool]


def open_step(machine: Machine, step: Step, parent: Frame, *, key: Any = None) -> Frame:
    """Begin a step below a list or container."""
    frame = machine.new(parent.n)
    frame.step, frame.key = step.id, key
    machine.steps_run += 1
    attempt(machine, frame, lambda: _pass_gates(machine, frame, step))
    return frame


def attempt(machine: Machine, frame: Frame, act: Callable[[], None]) -> None:
    """Do something for a step; what goes wrong in it is the step's error."""
    try:
        act()
    except StepError as problem:
        record = problem.record(frame.step or None, max(frame.attempt, 1))
        finish(machine, frame, FAILED, error=record)


def _pass_gates(machine: Machine, frame: Frame, step: Step) -> None:
    for name, gate in GATES.items():
        if name in step.spec and not gate(machine, frame, step):
            return
    begin(machine, frame, step)


def _when(machine: Machine, frame: Frame, step: Step) -> bool:
    condition = step.spec["when"]
    if condition.holds(machine.names(frame)):
        return True
    frame.attempt = 1
    machine.note(frame, StepStatus.PENDING, began=True)
    machine.end(frame, SKIPPED, reason=f"when: {condition.text} was false")
    return False


GATES: Mapping[str, Gate] = {"when": _when}
"""What stands before a body, in order; a gate answers whether the step may go on now."""


def begin(machine: Machine, frame: Frame, step: Step) -> None:
    """Start the body, with what watches over it."""
    frame.attempt = 1
    machine.note(frame, StepStatus.RUNNING, began=True)
    for name, watch in WATCHES.items():
        if name in step.spec:
            watch(machine, frame, step)
    KINDS[step.kind].start(machine, frame, step)


def _watch_timeout(machine: Machine, frame: Frame, step: Step) -> None:
    due = later(machine, step.spec["timeout"].of(machine.names(frame)), "timeout")
    machine.wait(frame, WaitKind.TIMER, due=due, role="timeout", side=True)


WATCHES: Mapping[str, Callable[[Machine, Frame, Step], None]] = {"timeout": _watch_timeout}
"""Side waits that begin with a body and die with its step."""


def later(machine: Machine, value: Json, what: str) -> datetime:
    """Say when a computed duration from now is over."""
    return period_of(value, what).after(machine.now)


def period_of(value: Json, what: str) -> Period:
    """Read a computed duration, or fail the step."""
    try:
        return parse_period(value if isinstance(value, str) else "")
    except ValueError as problem:
        raise StepError(ErrorClass.EXPRESSION, "bad_duration", f"{what}: {problem}") from None


def finish(machine: Machine, frame: Frame, outcome: str, value: Json = None, error: ErrorRecord | None = None) -> None:
    """Let the attributes after a body act now that it is over, then end the step."""
    AFTER_BODY[outcome](machine, frame, value, error)


def _after_success(machine: Machine, frame: Frame, value: Json, _error: ErrorRecord | None) -> None:
    step = machine.step_of(frame)
    if not step.id:
        attempt(machine, frame, lambda: complete_case(machine, case_output(machine, frame)))
        return
    if "output" in step.spec:
        try:
            value = step.spec["output"].of(machine.names(frame))
        except StepError as problem:
            fail(machine, frame, problem.record(step.id, frame.attempt))
            return
    succeed(machine, frame, value)


def succeed(machine: Machine, frame: Frame, value: Json, status: StepStatus | None = None) -> None:
    """End a step as a success and keep its result."""
    step = machine.step_of(frame)
    kind = KINDS[step.kind]
    if kind.has_result or "output" in step.spec:
        machine.write_result(frame, kind.result_name(step), copied(value))
    machine.end(frame, COMPLETED, value, status=status)


def case_output(machine: Machine, frame: Frame) -> Json:
    """Compute what the case returns."""
    output = machine.definition.head.get("output")
    return None if output is None else output.of(machine.names(frame))


def complete_case(machine: Machine, output: Json, outcome: str | None = None) -> None:
    """End the case as a success, withdrawing what is left."""
    machine.output, machine.outcome = output, outcome
    machine.end(machine.frames[machine.children[0][0]], COMPLETED)


def _after_failure(machine: Machine, frame: Frame, _value: Json, error: ErrorRecord | None) -> None:
    assert error is not None
    due = retry_due(machine, frame, error)
    if due is None:
        fail(machine, frame, error)
        return
    machine.withdraw_below(frame, keep_side=True)
    machine.note(frame, StepStatus.RETRYING, error=error, reason=f"{error.error_class}/{error.code}")
    machine.wait(frame, WaitKind.RETRY, due=due, role="retry")


def _after_other(outcome: str) -> Callable[[Machine, Frame, Json, ErrorRecord | None], None]:
    return lambda machine, frame, value, error: machine.end(frame, outcome, value, error)


AFTER_BODY: Mapping[str, Callable[[Machine, Frame, Json, ErrorRecord | None], None]] = {
    COMPLETED: _after_success,
    FAILED: _after_failure,
    SKIPPED: _after_other("skipped"),
    "cancelled": _after_other("cancelled"),
}


def retry_due(machine: Machine, frame: Frame, error: ErrorRecord) -> datetime | None:
    """Say when the step is to be tried again, or None when it is not."""
    policy = machine.step_of(frame).spec.get("retry")
    if policy is None or frame.attempt >= policy["attempts"] or not _covers(policy["on"], error):
        return None
    names = machine.names(frame)
    delay: timedelta = period_of(policy["delay"].of(names), "retry.delay").length * policy["factor"] ** (
        frame.attempt - 1
    )
    longest = policy.get("max_delay")
    if longest is not None:
        delay = min(delay, period_of(longest.of(names), "retry.max_delay").length)
    return machine.now + min(timedelta(days=366), delay)


def _covers(classes: list[str], error: ErrorRecord) -> bool:
    return error.error_class in classes or f"{error.error_class}/{error.code}" in classes or error.code in classes


def try_again(machine: Machine, frame: Frame) -> None:
    """Run the body once more, as the next attempt."""
    frame.attempt += 1
    frame.phase = None
    step = machine.step_of(frame)
    machine.note(frame, StepStatus.RUNNING, began=True)
    attempt(machine, frame, lambda: KINDS[step.kind].start(machine, frame, step))


def fail(machine: Machine, frame: Frame, error: ErrorRecord, status: StepStatus | None = None) -> None:
    """Fail a step for good: its own handlers first, then its end."""
    if frame.phase is None and _handled(machine, frame, error):
        return
    _remember_origin(machine, frame, error)
    step = machine.step_of(frame)
    machine.forget_result(frame, step.id)
    if step.spec.get("allow_failure"):
        machine.end(frame, COMPLETED, error=error, status=status or StepStatus.FAILED)
    else:
        machine.end(frame, FAILED, error=error, status=status)


def _handled(machine: Machine, frame: Frame, error: ErrorRecord) -> bool:
    """Look for the first handler of the step that matches."""
    for place, handler in enumerate(machine.step_of(frame).spec.get("on_error", ())):
        if _matches(machine, frame, handler, error):
            _run_handler(machine, frame, f"on_error.{place}", error)
            return True
    return "on_error" in machine.step_of(frame).spec and _ignored(machine, frame, error)


def _ignored(machine: Machine, frame: Frame, error: ErrorRecord) -> bool:
    """Ignore every error where `on_error` is empty: the flow goes on after the step."""
    if machine.step_of(frame).spec["on_error"]:
        return False
    machine.end(frame, COMPLETED, error=error, status=StepStatus.FAILED)
    return True


def _matches(machine: Machine, frame: Frame, handler: Mapping[str, Any], error: ErrorRecord) -> bool:
    condition = handler.get("match")
    if condition is None:
        return True
    try:
        return bool(condition.holds(With(machine.names(frame), {"error": error_names(error)})))
    except StepError:
        return False


def _run_handler(machine: Machine, frame: Frame, name: str, error: ErrorRecord) -> None:
    machine.withdraw_below(frame)
    machine.note(frame, StepStatus.FAILED, error=error)
    frame.phase = "handling"
    frame.more = {**(frame.more or {}), "error": error_names(error)}
    open_list(machine, frame, name, role="on_error", env={"error": error_names(error)})


def open_list(
    machine: Machine,
    frame: Frame,
    name: str,
    *,
    role: str | None = None,
    key: Any = None,
    env: dict[str, Json] | None = None,
    pos: str | None = None,
) -> Frame:
    """Begin a list of steps inside a step."""
    steps = machine.definition.lists[machine.step_of(frame).lists[name]]
    line = machine.new(frame.n)
    line.list, line.role, line.key, line.env, line.pos = steps.key, role, key, copied(env), pos
    if not steps.steps:
        machine.end(line, COMPLETED)
        return line
    line.at = steps.steps[0].id
    open_step(machine, steps.steps[0], line)
    return line


def told_line(machine: Machine, line: Frame, message: Ended) -> None:
    """Go on with the next step of a list, or end it as its step ended."""
    steps = machine.definition.lists[line.list or ""]
    if message.outcome not in (COMPLETED, SKIPPED):
        machine.end(line, message.outcome, error=message.error)
        return
    if message.value is not None and steps.owner:
        line.more = {"last": message.value}
    place = steps.place[str(message.step)] + 1
    if place == len(steps.steps):
        machine.end(line, COMPLETED, (line.more or {}).get("last"))
        return
    line.at = steps.steps[place].id
    open_step(machine, steps.steps[place], line)


def _told_handler(machine: Machine, frame: Frame, message: Ended) -> None:
    """Go on after the failed step once its handler is over, or pass the handler's own error up."""
    if message.outcome == FAILED:
        assert message.error is not None
        _remember_origin(machine, frame, message.error)
        machine.end(frame, FAILED, error=message.error)
    else:
        machine.forget_result(frame, frame.step or "")
        outcome = COMPLETED if message.outcome == SKIPPED else message.outcome
        machine.end(frame, outcome, status=StepStatus.FAILED, reason="handled by on_error")


def _told_on_timeout(machine: Machine, frame: Frame, message: Ended) -> None:
    if message.outcome == FAILED:
        assert message.error is not None
        machine.end(frame, FAILED, error=message.error, status=StepStatus.TIMED_OUT)
    else:
        outcome = COMPLETED if message.outcome == SKIPPED else message.outcome
        machine.end(frame, outcome, status=StepStatus.TIMED_OUT)


ROLES: Mapping[str, Callable[[Machine, Frame, Ended], None]] = {
    "on_error": _told_handler,
    "on_timeout": _told_on_timeout,
}
"""What the end of a list means that is no part of a step's body."""


def _time_out(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Withdraw a body whose time ran out, then take the author's answer, the author's steps, or an error."""
    step = machine.step_of(frame)
    machine.close(leaf, Closing.ANSWERED)
    machine.withdraw_below(frame, Closing.EXPIRED)
    expired = KINDS[step.kind].expired
    answer = expired(machine, frame, step) if expired is not None else None
    if answer is not None and "on_expire" in step.body:
        succeed(machine, frame, answer, StepStatus.TIMED_OUT)
    elif "on_timeout" in step.spec:
        if answer is not None:
            machine.write_result(frame, step.id, answer)
        frame.phase = "handling"
        machine.note(frame, StepStatus.TIMED_OUT)
        open_list(machine, frame, "on_timeout", role="on_timeout")
    else:
        error = StepError(ErrorClass.TIMEOUT, "timeout", f"`{step.id}` was not done in time")
        fail(machine, frame, error.record(step.id, frame.attempt), StepStatus.TIMED_OUT)


def _retry_now(machine: Machine, frame: Frame, leaf: Frame) -> None:
    machine.close(leaf, Closing.ANSWERED)
    try_again(machine, frame)


DUE: Mapping[str, Callable[[Machine, Frame, Frame], None]] = {"timeout": _time_out, "retry": _retry_now}
"""What a leaf with a role does when its time has come."""


def _remember_origin(machine: Machine, frame: Frame, error: ErrorRecord) -> None:
    """Keep how the case stood when an error began that could become an incident."""
    if error.error_class in UNCAUGHT or id(error) in machine.origins:
        return
    marks = (len(machine.closed), len(machine.effects), len(machine.trace), len(machine.changes))
    copy = type(machine.snapshot()).from_json(copied(machine.snapshot().to_json()))
    machine.origins[id(error)] = (error, Checkpoint(frame.n, copy, marks, dict(machine.opened)))


def leave(machine: Machine, frame: Frame, outcome: str) -> None:
    """Tidy up after a step that goes, in whatever way."""
