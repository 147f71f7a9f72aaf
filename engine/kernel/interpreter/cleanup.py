"""Clean up whenever a step ends, in whatever way: its places in queues are freed, its `finally` runs.

`finally` is over at once: set, if, emit and call. A call there is committed as an intent without a wait. What
goes wrong in it changes nothing.
"""

from collections.abc import Callable, Mapping

from engine.kernel.effects import MakeCallLater
from engine.kernel.errors import StepError
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.operator_marks import mark_operated
from engine.kernel.machine.redoable import note_acted
from engine.kernel.machine.step_table import KINDS
from engine.kernel.program import Step
from engine.kernel.snapshot import Frame
from engine.kernel.steps.calls import describe_call, key_of_call
from engine.kernel.steps.graphs import close_pending
from engine.kernel.steps.immediate import send, write_state


def leave(machine: Machine, frame: Frame, _outcome: str) -> None:
    """Free what the step held and run its `finally`."""
    step = machine.step_of(frame)
    if step.id:
        mark_operated(machine, frame, step.id, KINDS[step.kind].result_name(step))
    if "mutex" in step.spec:
        for line in machine.mutexes.values():
            if frame.n in line:
                line.remove(frame.n)
    if step.kind == "graph":
        close_pending(machine, frame)
    if "finally" in step.lists and frame.attempt:
        run_finally(machine, frame, step.lists["finally"])


def run_finally(machine: Machine, frame: Frame, key: str) -> None:
    """Run a list of steps at once, one after the other."""
    for step in machine.definition.lists[key].steps:
        try:
            if "when" not in step.spec or step.spec["when"].holds(machine.names(frame)):
                if machine.definition.redoes:
                    note_acted(machine, frame, step)
                AT_ONCE[step.kind](machine, frame, step)
        except StepError:
            continue


def _set(machine: Machine, frame: Frame, step: Step) -> None:
    write_state(machine, frame, step.body.of(machine.names(frame)))


def _if(machine: Machine, frame: Frame, step: Step) -> None:
    branch = "then" if step.body.holds(machine.names(frame)) else "else"
    if branch in step.lists:
        run_finally(machine, frame, step.lists[branch])


def _call(machine: Machine, frame: Frame, step: Step) -> None:
    call = describe_call(machine, frame, step, key_of_call(machine, frame, step), {})
    machine.effects.append(MakeCallLater(step.path, step.id, frame.n, call))


AT_ONCE: Mapping[str, Callable[[Machine, Frame, Step], None]] = {"set": _set, "if": _if, "emit": send, "call": _call}
"""The kinds that `finally` may contain."""
