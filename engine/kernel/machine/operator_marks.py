"""Show a workflow where an operator intervened: `result.<id>.operated`.

An operator who passes over a failed step, or runs it again with another input, decides something that its author left to the
step. The run, and everything around it, is marked; when it ends the mark is kept next to its result, under a key of its
own, so that a result of any form, or none, can have one. A later run of the same step without an operator removes it.
"""

from engine.kernel.expressions.tokens import OPERATED
from engine.kernel.machine.machine import Machine
from engine.kernel.snapshot import Frame


def operated_key(name: str) -> str:
    """Return the key next to a result; no step id can be like it."""
    return f"{name}${OPERATED}"


def note_operated(machine: Machine, frame: Frame) -> None:
    """Note that an operator intervened in a run: everything around it is concerned too."""
    machine.operated = True
    for found in machine.upward(frame):
        if found.step:
            found.operated = True


def mark_operated(machine: Machine, frame: Frame, *names: str) -> None:
    """Keep for expressions whether an operator intervened in a run that ends."""
    for name in dict.fromkeys(names):
        if frame.operated:
            machine.write_result(frame, operated_key(name), True)
        else:
            machine.forget_result(frame, operated_key(name))
