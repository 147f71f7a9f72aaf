"""Other workflows: a child that is waited for, and one that lives its own life."""

from engine.kernel.editing import edited
from engine.kernel.effects import Closing, ErrorRecord, StartChild, WaitKind
from engine.kernel.errors import ErrorClass
from engine.kernel.machine import COMPLETED, FAILED, Machine
from engine.kernel.program import Step
from engine.kernel.signals import ChildEnded, Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.table import KINDS, Kind


def _workflow(machine: Machine, frame: Frame, step: Step) -> None:
    """Start a child and wait for its end."""
    given = _input(machine, frame, step)
    machine.note_input(frame, given)
    leaf = machine.wait(frame, WaitKind.CHILD, name=step.body["name"])
    name, version, new = step.body["name"], str(step.body["version"]), _new_id(machine, leaf.n)
    leaf.more = {"child": new or name, "version": _known_version(machine, name, version)}
    machine.effects.append(StartChild(leaf.n, name, version, given, step.id, step.path, new))


def _known_version(machine: Machine, name: str, version: str) -> Json:
    """Say which version a child has, as far as it is known before it is born."""
    if version == "same" and name == machine.facts.template:
        return machine.facts.version
    return int(version) if version.isdigit() else version


def _input(machine: Machine, frame: Frame, step: Step) -> Json:
    if (given := edited(frame)) is not None:
        return copied(dict(given))
    found = step.body["input"]
    return found.of(machine.names(frame)) if hasattr(found, "of") else copied(found)


def _new_id(machine: Machine, number: int) -> str | None:
    return str(machine.lent.new_id(number)) if machine.lent.new_id is not None else None


def _ended(machine: Machine, frame: Frame, leaf: Frame, happening: ChildEnded) -> None:
    """Take what came of the child: its output, or its error as the step's own."""
    machine.close(leaf, Closing.ANSWERED)
    if happening.status == "completed":
        output = happening.output if isinstance(happening.output, dict) else {"output": happening.output}
        value = {**copied(output), "outcome": happening.outcome, "instance": happening.instance}
        machine.finish(frame, COMPLETED, value)
    else:
        machine.finish(frame, FAILED, error=_error(frame, happening))


def _error(frame: Frame, happening: ChildEnded) -> ErrorRecord:
    if happening.status == "cancelled":
        return ErrorRecord(ErrorClass.BUSINESS.value, "cancelled", "the child was cancelled", frame.step, frame.attempt)
    found = happening.error if isinstance(happening.error, dict) else {}
    return ErrorRecord(
        found.get("class", ErrorClass.BUSINESS.value), found.get("code", happening.status),
        found.get("message", "the child failed"), frame.step, frame.attempt, copied(happening.error),
    )  # fmt: skip


def _continue_with(machine: Machine, frame: Frame, step: Step) -> None:
    """Start another workflow and go on."""
    given, new = _input(machine, frame, step), _new_id(machine, frame.n)
    machine.note_input(frame, given)
    machine.effects.append(
        StartChild(None, step.body["name"], str(step.body["version"]), given, step.id, step.path, new)
    )
    machine.finish(frame, COMPLETED, {"instance": new})


KINDS.update({"workflow": Kind(_workflow, answered=_ended), "continue_with": Kind(_continue_with)})
