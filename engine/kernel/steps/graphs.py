"""A graph: every step runs at most once, as soon as all it needs has ended; dead paths are skipped."""

from collections.abc import Iterable
from typing import Any

from engine.kernel.errors import error_names, error_record
from engine.kernel.machine.frame_tree import Tree
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, SKIPPED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import open_step
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.transitions import StepStatus

_SATISFIES = {
    "success": frozenset({COMPLETED}),
    "failure": frozenset({FAILED}),
    "complete": frozenset({COMPLETED, FAILED, SKIPPED, CANCELLED}),
}
"""Which ends satisfy a need."""


def _graph(machine: Machine, frame: Frame, step: Step) -> None:
    """Open every step that needs nothing; the others are pending."""
    frame.more = {"ended": {}, "begun": [], "values": {}, "errors": {}}
    _say(machine, _steps(machine, step), StepStatus.PENDING)
    _settle(machine, frame, step)


def _say(machine: Machine, steps: Iterable[Step], status: StepStatus) -> None:
    """Set the status of steps that have no run of their own."""
    machine.step_status |= {step.id: status.value for step in steps}
    machine.version += machine.definition.reads_status


def unbegun(tree: Tree, frame: Frame) -> tuple[Step, ...]:
    """List the steps of a live graph that have not begun."""
    begun = (frame.more or {}).get("begun", ())
    steps = tree.definition.lists[tree.step_of(frame).lists["steps"]].steps
    return tuple(step for step in steps if step.id not in begun)


def close_pending(machine: Machine, frame: Frame) -> None:
    """Close pending steps of a graph that ends."""
    left = [step for step in unbegun(machine, frame) if machine.step_status.get(step.id) == StepStatus.PENDING]
    if left:
        _say(machine, left, StepStatus.CANCELLED)


def _steps(machine: Machine, step: Step) -> tuple[Step, ...]:
    return machine.definition.lists[step.lists["steps"]].steps


def _settle(machine: Machine, frame: Frame, step: Step) -> None:
    """Begin or skip each step whose needs have all ended; end the graph when all steps have."""
    graph: Any = frame.more
    for child in _steps(machine, step):
        ready = child.id not in graph["begun"] and all(need in graph["ended"] for need, _ in needs_of(machine, child))
        if ready and frame.n in machine.frames:
            graph["begun"].append(child.id)
            _begin_or_skip(machine, frame, child)
    if len(graph["ended"]) == len(_steps(machine, step)) and frame.n in machine.frames:
        _end(machine, frame, step)


def needs_of(machine: Machine, child: Step) -> list[tuple[str, str]]:
    """List what a step needs: what the author wrote, and every sibling whose result it reads."""
    written = [(need["step"], need["on"]) for need in child.spec.get("needs", ())]
    named = {name for name, _ in written}
    read = machine.definition.reads.get(child.id, ())
    return written + [(name, "success") for name in read if name not in named]


def _begin_or_skip(machine: Machine, frame: Frame, child: Step) -> None:
    graph: Any = frame.more
    needs = needs_of(machine, child)
    satisfied = [graph["ended"][name] in _SATISFIES[wanted] for name, wanted in needs]
    enough = any(satisfied) if child.spec.get("join") == "or" else all(satisfied)
    if enough or not needs:
        open_step(machine, child, frame, key=child.id)
    else:
        skipped = machine.new(frame.n)
        skipped.step, skipped.key, skipped.attempt = child.id, child.id, 1
        machine.end(skipped, SKIPPED, reason="what it needs did not come about")


def _told(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    graph: Any = frame.more
    graph["ended"][message.key] = message.outcome
    if message.outcome == COMPLETED:
        graph["values"][message.key] = copied(message.value)
    if message.error is not None and message.outcome == FAILED:
        graph["errors"][message.key] = error_names(message.error)
    _settle(machine, frame, step)


def _end(machine: Machine, frame: Frame, step: Step) -> None:
    """Fail if no step needs the failure of a failed step."""
    graph: Any = frame.more
    for child in _steps(machine, step):
        if child.id in graph["errors"] and not _expected(machine, step, child.id):
            machine.finish(frame, FAILED, error=error_record(graph["errors"][child.id]))
            return
    machine.finish(frame, COMPLETED, _values(machine, frame, step))


def _expected(machine: Machine, step: Step, failed: str) -> bool:
    pairs = [pair for child in _steps(machine, step) for pair in needs_of(machine, child)]
    return any(name == failed and wanted in ("failure", "complete") for name, wanted in pairs)


def _values(_machine: Machine, frame: Frame, _step: Step) -> Json:
    return copied((frame.more or {}).get("values", {}))


def cancel_pending(machine: Machine, frame: Frame, names: set[str]) -> None:
    """Settle steps that have not begun as cancelled."""
    graph, step = frame.more, machine.step_of(frame)
    assert graph is not None
    for child in _steps(machine, step):
        if child.id in names and child.id not in graph["begun"]:
            graph["begun"].append(child.id)
            cancelled = machine.new(frame.n)
            cancelled.step, cancelled.key, cancelled.attempt = child.id, child.id, 1
            machine.end(cancelled, CANCELLED, status=StepStatus.CANCELLED, reason="cancelled before it began")


KINDS.update({"graph": Kind(_graph, told=_told, so_far=_values)})
