"""Do an answered task again: its list goes back to it, as by a `next` of the author's.

What began behind the task is withdrawn, and what was done there is done anew when the flow comes to it. What was answered stays
in the record; results stay what they were until the new answers replace them.
"""

from collections import deque
from collections.abc import Iterator

from engine.kernel.interpreter.repair import error_of_stuck
from engine.kernel.machine.jumps import go_back
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.redoable import forget_from, line_to_redo
from engine.kernel.machine.step_start import open_at
from engine.kernel.signals import TaskRedone
from engine.kernel.snapshot import Frame
from engine.kernel.transitions import InstanceStatus


def apply_redo(machine: Machine, event: TaskRedone) -> bool:
    """Open an answered task anew; false where its list is over, or has acted on the outside since."""
    line = line_to_redo(machine, event.step, event.iteration)
    if line is None:
        return False
    place = machine.definition.lists[str(line.list)].place[event.step]
    for frame in list(_behind(machine, line, place)):
        machine.withdraw(frame)
    machine.queue = deque(message for message in machine.queue if message.parent != line.n)
    machine.error = error_of_stuck(machine)
    machine.status = InstanceStatus.RUNNING if machine.error is None else InstanceStatus.INCIDENT
    line.held = None
    forget_from(machine, line, place)
    go_back(line)
    open_at(machine, line, place)
    return True


def _behind(machine: Machine, line: Frame, place: int) -> Iterator[Frame]:
    """Yield what still runs of the steps behind a place of a list, newest first: also what left the list and lingers."""
    for frame in reversed(machine.kids(line)):
        if frame.role != "linger" or _place_of(machine, line, frame) > place:
            yield frame
    for above in machine.upward(machine.frames[line.p]):
        for frame in reversed(machine.kids(above)):
            if frame.role == "linger" and _place_of(machine, line, frame) > place:
                yield frame


def _place_of(machine: Machine, line: Frame, frame: Frame) -> int:
    """Return the place of a list's step that a frame's step is, or is inside; -1 where it is in none."""
    places = machine.definition.lists[str(line.list)].place
    step = machine.step_of(frame) if frame.step else None
    while step is not None and step.home != line.list:
        step = machine.definition.steps[step.parent] if step.parent else None
    return -1 if step is None else places[step.id]
