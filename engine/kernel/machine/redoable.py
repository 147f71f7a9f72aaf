"""Which answered tasks can be done again: those whose author allows it, until their list has acted on the outside.

A running list keeps each such task with the occurrence that was answered. The mark goes when a step behind the task begins
that the case cannot take back: a call, another workflow, something emitted. So nothing leaves the case twice because a person
changed their mind.
"""

from collections.abc import Iterator

from engine.kernel.machine.machine import Machine
from engine.kernel.program import Step
from engine.kernel.snapshot import Frame, Snapshot

REDO = "redo"
OUTWARD = frozenset({"call", "workflow", "emit", "continue_with"})
"""Kinds that act on what is outside the case."""


def note_answered(machine: Machine, frame: Frame, step: Step) -> None:
    """Remember in its list that a task was answered and can be done again."""
    line = machine.frames[frame.p]
    if line.list is not None and REDO in step.body.get("allow", ()):
        line.more = {**(line.more or {}), REDO: {**_marks(line), step.id: machine.iteration(frame)}}


def note_acted(machine: Machine, frame: Frame, step: Step) -> None:
    """Forget what could be done again in every list around a step that acts on the outside."""
    if step.kind not in OUTWARD or (step.kind == "workflow" and step.body.get("embed")):
        return
    for found in machine.upward(frame):
        _forget(found)
        if found.role == "linger":  # it left its list, which may still run next to it
            for other in machine.below(machine.frames[found.p]):
                _forget(other)


def _forget(frame: Frame) -> None:
    if frame.more and REDO in frame.more:
        frame.more = {name: value for name, value in frame.more.items() if name != REDO} or None


def forget_from(machine: Machine, line: Frame, place: int) -> None:
    """Forget the tasks of a list from a place on: they are about to be done again."""
    places = machine.definition.lists[str(line.list)].place
    kept = {name: iteration for name, iteration in _marks(line).items() if places[name] < place}
    _forget(line)
    if kept:
        line.more = {**(line.more or {}), REDO: kept}


def line_to_redo(machine: Machine, step: str, iteration: str) -> Frame | None:
    """Find the running list in which an answered task can be done again: its flow is behind the task."""
    for line in machine.frames.values():
        if line.list is not None and _marks(line).get(step) == iteration and _is_behind(machine, line, step):
            return line
    return None


def _is_behind(machine: Machine, line: Frame, step: str) -> bool:
    place = machine.definition.lists[str(line.list)].place
    return line.held == "linger" or place[str(line.at)] > place[step]


def _marks(line: Frame) -> dict[str, str]:
    marks: dict[str, str] = (line.more or {}).get(REDO, {})
    return marks


def redoable_in(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """List the tasks, with their iteration, that a stored instance could let be done again."""
    for frame in snapshot.frames:
        if frame.get("list"):
            yield from (frame.get("more") or {}).get(REDO, {}).items()
