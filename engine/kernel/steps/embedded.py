"""Run the steps of an embedded workflow inside the instance: its own `start`, everybody's state."""

from engine.kernel.effects import ErrorRecord
from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.machine import COMPLETED, FAILED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import open_list
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame

INSTEAD = frozenset({"on_error", "on_timeout", "interrupting"})
"""Roles of what runs below the embedding step but is the embedding author's own."""


def start_embedded(machine: Machine, frame: Frame, step: Step, given: Json) -> None:
    """Check what the workflow is given, and run its steps; inside, `start` is that."""
    if "steps" not in step.lists:
        raise StepError(ErrorClass.DEFINITION, "not_embedded", f"`{step.body['name']}` was never put into this version")
    check = step.body.get("schema")
    given, problems = check(given) if check is not None else (given, ())
    if problems:
        found = "; ".join(f"{problem.path or 'input'}: {problem.message}" for problem in problems)
        raise StepError(ErrorClass.DEFINITION, "bad_input", found)
    frame.more = {**(frame.more or {}), "start": given}
    open_list(machine, frame, "steps", env={"start": given})


def told_embedded(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    """End as the workflow's steps ended, with its output."""
    value = embedded_value(machine, frame, step) if message.outcome == COMPLETED else None
    machine.finish(frame, message.outcome, value, message.error)


def embedded_value(machine: Machine, frame: Frame, _step: Step) -> Json:
    """Compute what the workflow gives at its end."""
    return _with_outcome(embedded_output(machine, frame), None)


def embedded_output(machine: Machine, frame: Frame) -> Json:
    """Compute the workflow's `output`, in which `start` is what it was given."""
    output = machine.step_of(frame).body.get("output")
    names = With(machine.names(frame), {"start": (frame.more or {}).get("start")})
    return {} if output is None else output.of(names)


def _with_outcome(output: Json, outcome: str | None) -> dict[str, Json]:
    return {**(output if isinstance(output, dict) else {"output": output}), "outcome": outcome}


def host_of(machine: Machine, frame: Frame) -> Frame | None:
    """Find the step that embeds what a frame belongs to; None where it is the instance's own."""
    below = frame
    for found in machine.upward(frame):
        inside = found is not frame and found.step is not None and below.role not in INSTEAD
        if inside and machine.step_of(found).kind == "workflow":
            return found
        below = found
    return None


def complete_embedded(machine: Machine, host: Frame, outcome: str | None, output: Json) -> None:
    """End an embedded workflow as a success under its author's name for it."""
    machine.withdraw_below(host)
    host.held = None
    machine.finish(host, COMPLETED, _with_outcome(output, outcome))


def cancel_embedded(machine: Machine, host: Frame) -> None:
    """End an embedded workflow as cancelled: the step that embeds it fails, as with a child."""
    machine.withdraw_below(host)
    host.held = None
    text = "the embedded workflow was cancelled"
    machine.finish(
        host, FAILED, error=ErrorRecord(ErrorClass.BUSINESS.value, "cancelled", text, host.step, host.attempt)
    )
