"""Let an operator's edit stand in place of what a failed step would be begun with.

A step with an `input` of its own gets the edit as that. Of the kinds that tell what they are begun with, a call's request and a
table's inputs are edited key by key, a child's input as a whole. The edit lasts for the further attempts of that step; a call
that was edited is another call to the outside, under a key of its own.
"""

from collections.abc import Mapping

from engine.kernel.machine import Machine
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied

EDITABLE = frozenset({"call", "decide", "workflow", "continue_with"})


def can_be_edited(step: Step) -> bool:
    """Tell whether a step is begun with something that can be edited."""
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
    """Return of a frame's notes what outlasts an attempt."""
    return {"edited": frame.more["edited"]} if frame.more and "edited" in frame.more else None


def edited(frame: Frame) -> Mapping[str, Json] | None:
    """Return what an operator gave in place of the step's own input."""
    found: Mapping[str, Json] | None = (frame.more or {}).get("edited", {}).get("input")
    return found
