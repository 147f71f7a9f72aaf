"""Containers that run one list at a time."""

from engine.kernel.attributes import finish, open_list
from engine.kernel.definition import Step
from engine.kernel.machine import COMPLETED, Ended, Machine
from engine.kernel.snapshot import Frame
from engine.kernel.steps.table import KINDS, Kind


def _group(machine: Machine, frame: Frame, _step: Step) -> None:
    """Run a sequence."""
    open_list(machine, frame, "steps")


def pass_on(machine: Machine, frame: Frame, _step: Step, message: Ended) -> None:
    """End as the list ended."""
    finish(machine, frame, message.outcome, message.value, message.error)


def _if(machine: Machine, frame: Frame, step: Step) -> None:
    """Run the branch that the condition picks; a branch that is not written does nothing."""
    branch = "then" if step.body.holds(machine.names(frame)) else "else"
    if branch in step.lists:
        open_list(machine, frame, branch)
    else:
        finish(machine, frame, COMPLETED)


KINDS.update(
    {
        "group": Kind(_group, told=pass_on),
        "if": Kind(_if, told=pass_on, has_result=False),
    }
)
