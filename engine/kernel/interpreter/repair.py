"""What an operator does to an instance stopped at a failed step: find the step, resume the instance, skip the step."""

from engine.kernel.effects import ErrorRecord
from engine.kernel.errors import error_record
from engine.kernel.machine.edited_input import supply_output
from engine.kernel.machine.four_eyes import remember_person
from engine.kernel.machine.machine import SKIPPED, Machine
from engine.kernel.machine.operator_marks import note_operated
from engine.kernel.signals import StepSkipped
from engine.kernel.snapshot import Frame
from engine.kernel.transitions import InstanceStatus


def stuck(machine: Machine, run: int | None) -> Frame | None:
    """Find the failed step that an operator means: the one named, or the first."""
    for number in sorted(machine.frames):
        if machine.frames[number].phase == "stuck" and run in (None, number):
            return machine.frames[number]
    return None


def error_of_stuck(machine: Machine) -> ErrorRecord | None:
    """Return the error of the first step that is stuck: it remains until an operator helps, whatever else happens."""
    frame = stuck(machine, None)
    return None if frame is None else error_record((frame.more or {})["error"])


def let_go_on(machine: Machine, frame: Frame) -> None:
    """Set the instance running again unless another step is stuck too."""
    frame.phase, more = None, dict(frame.more or {})
    more.pop("error", None)
    frame.more = more or None
    machine.error = error_of_stuck(machine)
    machine.status = InstanceStatus.RUNNING if machine.error is None else InstanceStatus.INCIDENT


def apply_skip(machine: Machine, event: StepSkipped) -> bool:
    """Skip a failed step, with an operator's values in place of its result where any are given."""
    frame = stuck(machine, event.run)
    if frame is None:
        return False
    let_go_on(machine, frame)
    remember_person(machine, frame.step, event.by)
    note_operated(machine, frame)
    if event.output is None:
        machine.end(frame, SKIPPED, reason=event.reason)
    else:
        supply_output(machine, frame, event.output, event.reason)
    return True
