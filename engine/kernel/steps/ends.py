"""Steps that end something further out."""

from engine.kernel.attributes import case_output, complete_case, finish
from engine.kernel.definition import Step
from engine.kernel.machine import COMPLETED, Machine
from engine.kernel.snapshot import Frame
from engine.kernel.steps.table import KINDS, Kind


def _complete(machine: Machine, frame: Frame, step: Step) -> None:
    """End the case as a success under the author's name for it."""
    names = machine.names(frame)
    outcome = step.body["outcome"].of(names) if "outcome" in step.body else None
    output = step.body["output"].of(names) if "output" in step.body else case_output(machine, frame)
    finish(machine, frame, COMPLETED)
    complete_case(machine, output, None if outcome is None else str(outcome))


KINDS.update({"complete": Kind(_complete, has_result=False)})
