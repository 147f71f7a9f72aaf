"""What follows when the body of a step is over.

Success: `output`, the result, what can be undone. Failure: retry, the step's own handlers, then its end; an error
that no handler catches ends the instance or makes it an incident that goes back to where the error began.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from engine.kernel.effects import Closing, ErrorRecord, WaitKind
from engine.kernel.errors import UNCAUGHT, ErrorClass, StepError, error_names, error_record
from engine.kernel.machine.decorators import decorate_result
from engine.kernel.machine.edited_input import kept_edit
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.jumps import way_on
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, SKIPPED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import begin_again, lingering, open_list, period_of
from engine.kernel.machine.step_table import KINDS
from engine.kernel.machine.step_timers import watch_named
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.transitions import InstanceStatus, StepStatus


def finish(machine: Machine, frame: Frame, outcome: str, value: Json, error: ErrorRecord | None) -> None:
    """Apply the attributes that follow a body, then end the step."""
    AFTER_BODY[outcome](machine, frame, value, error)


def _after_success(machine: Machine, frame: Frame, value: Json, _error: ErrorRecord | None) -> None:
    if lingering(machine, frame):
        frame.held = "linger"
        frame.more = {**(frame.more or {}), "after": value}
        return
    step = machine.step_of(frame)
    if not step.id:
        machine.attempt(frame, lambda: complete_case(machine, case_output(machine, frame)))
        return
    if "decorators" in step.spec:
        try:
            value = decorate_result(machine, step, value)
        except StepError as problem:
            _after_failure(machine, frame, None, problem.record(step.id, frame.attempt))
            return
    if "output" in step.spec:
        try:
            value = _output(machine, frame, step, value)
        except StepError as problem:
            fail(machine, frame, problem.record(step.id, frame.attempt))
            return
    succeed(machine, frame, value)


def _output(machine: Machine, frame: Frame, step: Step, value: Json) -> Json:
    """Compute the author's own result, which may read what the body gave as `result.<id>`."""
    names, kind = machine.names(frame), KINDS[step.kind]
    if not kind.has_result:
        return step.spec["output"].of(names)
    results = {**names.lookup("result"), kind.result_name(step): value}
    return step.spec["output"].of(With(names, {"result": results}))


def succeed(machine: Machine, frame: Frame, value: Json, status: StepStatus | None = None) -> None:
    """End a step as a success, keep its result, remember how to undo it, and choose where the flow continues."""
    try:
        to = way_on(machine, frame, value)
        machine.weigh(value)
    except StepError as problem:
        fail(machine, frame, problem.record(frame.step, frame.attempt))
        return
    keep_result(machine, frame, value)
    machine.end(frame, COMPLETED, value, status=status, to=to)


def keep_result(machine: Machine, frame: Frame, value: Json) -> None:
    """Write a step's result, and remember the run if it can be undone."""
    step = machine.step_of(frame)
    kind = KINDS[step.kind]
    if kind.has_result or "output" in step.spec:
        machine.write_result(frame, kind.result_name(step), value)
    if "undo" in step.lists:
        machine.done.append(_undoable(machine, frame, value))


def _undoable(machine: Machine, frame: Frame, value: Json) -> dict[str, Json]:
    """Remember what `undo` will need: names, results and state of this very run."""
    layers = list(machine.upward(frame))
    own = [layer.results for layer in reversed(layers) if layer.results is not None]
    names = [layer.env for layer in reversed(layers) if layer.env is not None]
    return {
        "run": frame.n,
        "step": frame.step,
        "value": copied(value),
        "results": copied({key: item for layer in own for key, item in layer.items()}),
        "env": copied({key: item for layer in names for key, item in layer.items()}),
        "iteration": machine.iteration(frame),
    }


def case_output(machine: Machine, frame: Frame) -> Json:
    """Compute what the instance returns."""
    output = machine.definition.head.get("output")
    return None if output is None else output.of(machine.names(frame))


def complete_case(machine: Machine, output: Json, outcome: str | None = None) -> None:
    """End the instance as a success, withdrawing what is left."""
    machine.output, machine.outcome = output, outcome
    machine.end(machine.root, COMPLETED)


def _after_failure(machine: Machine, frame: Frame, _value: Json, error: ErrorRecord | None) -> None:
    assert error is not None
    due = retry_due(machine, frame, error)
    if due is None:
        fail(machine, frame, error)
        return
    machine.withdraw_below(frame, keep_side=True)
    machine.note(frame, StepStatus.FAILED, error=error)
    frame.attempt += 1
    machine.note(frame, StepStatus.RETRYING, reason=f"{error.error_class}/{error.code}")
    leaf = machine.wait(frame, WaitKind.RETRY, due=due, role="retry")
    leaf.at, leaf.more = frame.attempt, {"error": error_names(error)}


def _after_other(outcome: str) -> Callable[[Machine, Frame, Json, ErrorRecord | None], None]:
    return lambda machine, frame, value, error: machine.end(frame, outcome, value, error)


AFTER_BODY: Mapping[str, Callable[[Machine, Frame, Json, ErrorRecord | None], None]] = {
    COMPLETED: _after_success,
    FAILED: _after_failure,
    SKIPPED: _after_other(SKIPPED),
    CANCELLED: _after_other(CANCELLED),
}


def retry_due(machine: Machine, frame: Frame, error: ErrorRecord) -> datetime | None:
    """Return when the step is to be tried again, or None when it is not."""
    policy = machine.step_of(frame).spec.get("retry")
    if policy is None or frame.attempt >= policy["attempts"] or not _covers(policy["on"], error):
        return None
    try:
        delay = _delay(machine, frame, policy)
    except StepError:
        return None
    return machine.now + min(timedelta(days=366), delay)


def error_of_retrying(machine: Machine) -> ErrorRecord | None:
    """Return the error of the step that failed last and is about to be tried again."""
    failed = [frame for frame in machine.frames.values() if frame.wait == WaitKind.RETRY and frame.more is not None]
    last = max(failed, key=lambda leaf: leaf.n, default=None)
    return None if last is None else error_record((last.more or {})["error"])


def _delay(machine: Machine, frame: Frame, policy: Mapping[str, Any]) -> timedelta:
    names = machine.names(frame)
    first = policy["delay"].of(names) if hasattr(policy["delay"], "of") else policy["delay"]
    growth = min(float(policy["factor"]) ** (frame.attempt - 1), 1e9)
    seconds = min(period_of(first, "retry.delay").length.total_seconds() * growth, 366 * 86400.0)
    if "max_delay" in policy:
        seconds = min(seconds, period_of(policy["max_delay"].of(names), "retry.max_delay").length.total_seconds())
    return timedelta(seconds=seconds * _spread(machine, frame, float(policy["jitter"])))


def _spread(machine: Machine, frame: Frame, jitter: float) -> float:
    """Move a delay by up to a part of itself, so that many instances do not come back at once; the same run always alike."""
    run = f"{machine.facts.id}:{frame.step}{machine.iteration(frame)}:{frame.attempt}"
    fraction = int.from_bytes(hashlib.sha256(run.encode()).digest()[:6]) / 2**48
    return 1 + min(jitter, 1.0) * (2 * fraction - 1)


def _covers(classes: list[str], error: ErrorRecord) -> bool:
    return bool({error.error_class, f"{error.error_class}/{error.code}", error.code} & set(classes))


def run_again(machine: Machine, frame: Frame) -> None:
    """Run the body once more after an operator fixed the step: as the next attempt, for which its time begins anew.

    What still lives of the attempt that failed is withdrawn.
    """
    machine.withdraw_below(frame, keep_side=True)
    timeout = watch_named(machine, frame, "timeout")
    if timeout is not None:
        machine.close(timeout, Closing.WITHDRAWN)
    frame.attempt += 1
    _begin_attempt(machine, frame)


def _begin_attempt(machine: Machine, frame: Frame) -> None:
    frame.phase, frame.more = None, kept_edit(frame)
    step = machine.step_of(frame)
    machine.attempt(frame, lambda: begin_again(machine, frame, step))


def fail(machine: Machine, frame: Frame, error: ErrorRecord, status: StepStatus | None = None) -> None:
    """Fail a step for good: its own handlers first, then its end."""
    if frame.phase is None and (_handled(machine, frame, error) or _caught(machine, frame, error)):
        return
    remember_origin(machine, frame, error)
    step = machine.step_of(frame)
    _forget(machine, frame, step)
    outcome = COMPLETED if step.spec.get("allow_failure") else FAILED
    machine.end(frame, outcome, error=error, status=status or StepStatus.FAILED)


def _forget(machine: Machine, frame: Frame, step: Step) -> None:
    """Remove the result of a step that failed, also that of an earlier run."""
    machine.forget_result(frame, KINDS[step.kind].result_name(step))


def _handled(machine: Machine, frame: Frame, error: ErrorRecord) -> bool:
    """Find the first `on_error` of the step that matches."""
    step = machine.step_of(frame)
    handlers = step.spec.get("on_error")
    if handlers is None:
        return False
    if not handlers:
        _forget(machine, frame, step)
        machine.end(frame, COMPLETED, error=error, status=StepStatus.FAILED)
        return True
    return _first_match(machine, frame, error, [(f"on_error.{n}", one.get("match")) for n, one in enumerate(handlers)])


def _caught(machine: Machine, frame: Frame, error: ErrorRecord) -> bool:
    """Find the first `on: error` handler of the host that matches."""
    handlers = machine.step_of(frame).spec.get("on", ())
    catching = [(f"on.{n}", one["error"]) for n, one in enumerate(handlers) if "error" in one]
    return _first_match(machine, frame, error, catching)


def _first_match(machine: Machine, frame: Frame, error: ErrorRecord, handlers: list[tuple[str, Any]]) -> bool:
    for name, condition in handlers:
        if condition is None or _holds(machine, frame, condition, error):
            _run_handler(machine, frame, name, error)
            return True
    return False


def _holds(machine: Machine, frame: Frame, condition: Any, error: ErrorRecord) -> bool:
    try:
        return bool(condition.holds(With(machine.names(frame), {"error": error_names(error)})))
    except StepError:
        return False


def _run_handler(machine: Machine, frame: Frame, name: str, error: ErrorRecord) -> None:
    """Run a handler's steps in place of what failed; their results are known to the flow after the step."""
    machine.withdraw_below(frame)
    machine.note(frame, StepStatus.FAILED, error=error)
    _forget(machine, frame, machine.step_of(frame))
    machine.handle(frame)
    open_list(machine, frame, name, role="on_error", env={"error": error_names(error)})


def told_handler(machine: Machine, frame: Frame, message: Ended) -> None:
    """Continue after the failed step once its handler is over, or pass the handler's own error up."""
    if message.outcome == FAILED:
        assert message.error is not None
        remember_origin(machine, frame, message.error)
        machine.end(frame, FAILED, error=message.error)
    else:
        end_handled(machine, frame, message, StepStatus.FAILED, "handled by on_error")


def end_handled(machine: Machine, frame: Frame, message: Ended, status: StepStatus, reason: str) -> None:
    """End a step whose handler ran instead of its body; the instance itself then ends as completed."""
    outcome = COMPLETED if message.outcome == SKIPPED else message.outcome
    if not frame.step and outcome == COMPLETED:
        machine.attempt(frame, lambda: complete_case(machine, case_output(machine, frame)))
    else:
        machine.end(frame, outcome, status=status, reason=reason, to=message.to)


def told_on_timeout(machine: Machine, frame: Frame, message: Ended) -> None:
    """Continue after a step that timed out, or pass up the error of its `on_timeout`."""
    if message.outcome == FAILED:
        assert message.error is not None
        remember_origin(machine, frame, message.error)
        machine.end(frame, FAILED, error=message.error, status=StepStatus.TIMED_OUT)
    else:
        end_handled(machine, frame, message, StepStatus.TIMED_OUT, "timed out")


def time_out(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Withdraw a body whose time ran out, then take the author's answer, the author's steps, or an error."""
    step = machine.step_of(frame)
    machine.close(leaf, Closing.ANSWERED)
    machine.withdraw_below(frame, Closing.EXPIRED, keep_side=True)
    expired = KINDS[step.kind].expired
    answer = expired(machine, frame, step) if expired is not None else None
    if answer is not None and "on_expire" in step.body:
        succeed(machine, frame, answer, StepStatus.TIMED_OUT)
    elif "on_timeout" in step.spec:
        if answer is not None:
            machine.write_result(frame, step.id, answer)
        machine.withdraw_below(frame)
        machine.handle(frame)
        machine.note(frame, StepStatus.TIMED_OUT)
        open_list(machine, frame, "on_timeout", role="on_timeout")
    else:
        error = StepError(ErrorClass.TIMEOUT, "timeout", f"`{step.id}` was not finished in time")
        fail(machine, frame, error.record(step.id, frame.attempt), StepStatus.TIMED_OUT)


def deadline(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Withdraw everything when the instance's own time is over; a handler at the head may catch it."""
    machine.close(leaf, Closing.ANSWERED)
    machine.withdraw_below(frame)
    error = StepError(ErrorClass.TIMEOUT, "deadline", "the instance was not finished in time")
    fail(machine, frame, error.record(None, 1), StepStatus.TIMED_OUT)


def retry_now(machine: Machine, frame: Frame, leaf: Frame) -> None:
    """Begin the next attempt when its time has come; an earlier release did not number it beforehand."""
    machine.close(leaf, Closing.ANSWERED)
    frame.attempt = int(leaf.at or frame.attempt + 1)
    _begin_attempt(machine, frame)


def remember_origin(machine: Machine, frame: Frame, error: ErrorRecord) -> None:
    """Keep the instance as it was when an error began that could become an incident.

    Below branches that are counted there is nothing to keep: when the join fails, the error begins anew there. A copy for each of
    thousands of items that fail would take as many times the whole instance.
    """
    if uncaught_end(machine, error) is None and id(error) not in machine.origins and not is_counted(machine, frame.p):
        machine.origins[id(error)] = (error, machine.checkpoint(frame))


def is_counted(machine: Machine, number: int) -> bool:
    """Return whether a frame is, or is inside, one that counts its branches: an error there begins anew when the join fails."""
    around = machine.upward(machine.frames[number]) if number in machine.frames else ()
    return any(machine.step_of(found).kind in ("for_each", "parallel") for found in around if found.step)


def uncaught_end(machine: Machine, error: ErrorRecord) -> InstanceStatus | None:
    """Return how an instance ends by an uncaught error; None: it becomes an incident, which can be fixed."""
    step = machine.definition.steps.get(error.step or "")
    if error.error_class == ErrorClass.TIMEOUT and step is not None and step.kind in MENDED_WHEN_LATE:
        return None
    return UNCAUGHT.get(error.error_class)


MENDED_WHEN_LATE = frozenset({"call", "workflow"})
"""Kinds whose timeout is not a person's missed answer: a retry may help."""
