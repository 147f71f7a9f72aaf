"""Use an operator's edit in place of the input of a failed step.

A step with an `input` of its own gets the edit as that. Of the kinds that tell what they are begun with, a call's request and a
table's inputs are edited key by key, a child's input as a whole. The edit lasts for the further attempts of that step; a call
that was edited is another call to the outside, under a key of its own.
"""

from collections.abc import Mapping

from engine.kernel.machine.machine import COMPLETED, Machine
from engine.kernel.machine.step_table import KINDS
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.transitions import StepStatus

ANSWERED = frozenset({"outcome", "by", "at", "comment", "expired", "operated"})
DECIDED: Mapping[str, frozenset[str]] = {"task": ANSWERED, "workflow": frozenset({"outcome", "instance"})}
"""What only a person's answer, or a child's end, says of a step: an operator cannot invent it."""

EDITABLE = frozenset({"call", "decide", "workflow", "continue_with"})


def can_be_edited(step: Step) -> bool:
    """Return whether a step is begun with something that can be edited."""
    return "input" in step.spec or step.kind in EDITABLE


def edit(machine: Machine, frame: Frame, given: Mapping[str, Json]) -> None:
    """Keep an edit for the attempt that follows; what it sends, or what is sent inside it, is another effect."""
    frame.edit, frame.sent_as = frame.attempt + 1, None
    if "input" in machine.step_of(frame).spec:
        frame.state = copied(dict(given))
        machine.forget_names()
    else:
        frame.more = {**(frame.more or {}), "edited": {"input": copied(dict(given))}}


def kept_edit(frame: Frame) -> dict[str, Json] | None:
    """Return the part of a frame's notes that survives an attempt."""
    return {"edited": frame.more["edited"]} if frame.more and "edited" in frame.more else None


def edited(frame: Frame) -> Mapping[str, Json] | None:
    """Return what an operator gave in place of the step's own input."""
    found: Mapping[str, Json] | None = (frame.more or {}).get("edited", {}).get("input")
    return found


def supply_output(machine: Machine, frame: Frame, output: Json, reason: str) -> None:
    """End a step as skipped, with an operator's values where its result would be; what follows continues as after a success."""
    step = machine.step_of(frame)
    value = _given(step, output)
    if KINDS[step.kind].has_result or "output" in step.spec:
        machine.write_result(frame, KINDS[step.kind].result_name(step), value)
    machine.end(frame, COMPLETED, value, status=StepStatus.SKIPPED, reason=reason)


def _given(step: Step, output: Json) -> Json:
    """Leave out of an operator's output what only a person's answer, or a child's end, says of a step."""
    if not isinstance(output, dict):
        return copied(output)
    return {name: copied(value) for name, value in output.items() if name not in DECIDED.get(step.kind, ())}
