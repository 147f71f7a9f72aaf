"""Other workflows: a child that is waited for, and one that runs on its own."""

from engine.kernel.effects import Closing, ErrorRecord, StartChild, WaitKind
from engine.kernel.errors import ErrorClass, StepError
from engine.kernel.json_safety import FieldError
from engine.kernel.machine.edited_input import edited
from engine.kernel.machine.four_eyes import remember_person
from engine.kernel.machine.machine import COMPLETED, FAILED, Machine
from engine.kernel.machine.operator_marks import note_operated
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import ChildEnded, Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.embedded import embedded_value, start_embedded, told_embedded


def _workflow(machine: Machine, frame: Frame, step: Step) -> None:
    """Start a child and wait for its end, or run the steps of one that is embedded."""
    given = _input(machine, frame, step)
    machine.note_input(frame, given)
    if step.body.get("embed"):
        start_embedded(machine, frame, step, given)
        return
    allow_start(machine, own_life=False)
    leaf = machine.wait(frame, WaitKind.CHILD, name=step.body["name"])
    name, version, new = step.body["name"], str(step.body["version"]), _new_id(machine, leaf.n)
    leaf.more = {"child": new or name, "version": _known_version(machine, name, version)}
    machine.effects.append(StartChild(leaf.n, name, version, given, step.id, step.path, new))


def _known_version(machine: Machine, name: str, version: str) -> Json:
    """Return the version of a child, as far as it is known before its start."""
    if version == "same" and name == machine.facts.template:
        return machine.facts.version
    return int(version) if version.isdigit() else version


def _so_far(machine: Machine, frame: Frame, step: Step) -> Json:
    return embedded_value(machine, frame, step) if step.body.get("embed") else None


def allow_start(machine: Machine, *, own_life: bool) -> None:
    """Fail the step where one more instance may not be started: chains of starts have an end."""
    refuse = machine.environment.refuse_new_instance
    refusal = refuse(own_life, machine.waited) if refuse is not None else None
    if refusal is not None:
        raise StepError(ErrorClass.DEFINITION, *refusal)


def _input(machine: Machine, frame: Frame, step: Step) -> Json:
    if (given := edited(frame)) is not None:
        return copied(dict(given))
    found = step.body["input"]
    return found.of(machine.names(frame)) if hasattr(found, "of") else copied(found)


def unfit_input(name: str, problem: FieldError) -> str:
    """Return the message that names the workflow and the field of its input that is invalid."""
    return f"`{name}` does not take this input: {problem.path or 'input'}: {problem.message}"


def _new_id(machine: Machine, number: int) -> str | None:
    return str(machine.environment.new_id(number)) if machine.environment.new_id is not None else None


def _ended(machine: Machine, frame: Frame, leaf: Frame, event: ChildEnded) -> None:
    """Take what came of the child: its output, or its error as the step's own."""
    machine.close(leaf, Closing.ANSWERED)
    for name, at in event.people.items():
        remember_person(machine, frame.step, name, at)
    if event.operated:
        note_operated(machine, frame)
    if event.status == "completed":
        output = event.output if isinstance(event.output, dict) else {"output": event.output}
        value = {**copied(output), "outcome": event.outcome, "instance": event.instance}
        machine.finish(frame, COMPLETED, value)
    else:
        machine.finish(frame, FAILED, error=_error(frame, event))


def _error(frame: Frame, event: ChildEnded) -> ErrorRecord:
    if event.status == "cancelled":
        return ErrorRecord(ErrorClass.BUSINESS.value, "cancelled", "the child was cancelled", frame.step, frame.attempt)
    found = event.error if isinstance(event.error, dict) else {}
    return ErrorRecord(
        found.get("class", ErrorClass.BUSINESS.value), found.get("code", event.status),
        found.get("message", "the child failed"), frame.step, frame.attempt, copied(event.error),
    )  # fmt: skip


def _continue_with(machine: Machine, frame: Frame, step: Step) -> None:
    """Start another workflow and continue."""
    allow_start(machine, own_life=True)
    given, new = _input(machine, frame, step), _new_id(machine, frame.n)
    machine.note_input(frame, given)
    machine.effects.append(
        StartChild(None, step.body["name"], str(step.body["version"]), given, step.id, step.path, new)
    )
    machine.finish(frame, COMPLETED, {"instance": new})


KINDS.update(
    {
        "workflow": Kind(_workflow, told=told_embedded, answered=_ended, so_far=_so_far),
        "continue_with": Kind(_continue_with),
    }
)
