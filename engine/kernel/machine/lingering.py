"""Keep what was fired running: a scope ends only when what lingers in it has ended.

Scopes are groups, branches, items, handlers, graphs, nets, any_order and the instance. A fired join is told to its parent
at once and moves under the nearest scope, with its position and its names; its branches run to their end and count
for nothing.
"""

from engine.kernel.effects import ErrorRecord
from engine.kernel.machine.idempotency_keys import carry_position
from engine.kernel.machine.jumps import way_on
from engine.kernel.machine.machine import COMPLETED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import end_line, lingering
from engine.kernel.machine.step_table import KINDS
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.transitions import StepStatus

SCOPE_KINDS = frozenset({"group", "graph", "net", "any_order", "workflow", "ext"})
"""Kinds whose step frame is a scope."""


def is_scope(machine: Machine, frame: Frame) -> bool:
    """Return whether a frame is a scope: a step of such a kind, or a list that is a branch, an item or a handler."""
    if frame.step is not None:
        return machine.step_of(frame).kind in SCOPE_KINDS
    return frame.list is not None and (
        frame.role is not None or machine.step_of(machine.frames[frame.p]).kind in ("parallel", "for_each", "first")
    )


def scope_above(machine: Machine, frame: Frame) -> Frame:
    """Find the nearest scope that encloses a frame."""
    return next(found for found in machine.upward(frame) if found is not frame and is_scope(machine, found))


def fire(machine: Machine, frame: Frame, value: Json, error: ErrorRecord | None = None) -> None:
    """Report to the parent now; what still lives below continues under the nearest scope."""
    scope, to = scope_above(machine, frame), way_on(machine, frame, value)
    carry_position(machine, frame, scope)
    frame.env = carried_names(machine, frame, scope) or None
    message = Ended(frame.p, frame.n, frame.role, frame.step, frame.key, COMPLETED, value, error, to)
    _note_fired(machine, frame, value)
    if machine.definition.has_offers:
        machine.rules.happened(machine, frame)
    machine.move(frame, scope)
    frame.role, frame.key, frame.results = "linger", None, copied(frame.results or {})
    machine.forget_names()
    machine.queue.append(message)


def carried_names(machine: Machine, frame: Frame, scope: Frame) -> dict[str, Json]:
    """Gather the names that a frame has and its scope has not."""
    found: dict[str, Json] = {}
    for layer in machine.upward(frame):
        if layer is scope:
            break
        found = {**(layer.env or {}), **found}
    return {name: copied(value) for name, value in found.items()}


def _note_fired(machine: Machine, frame: Frame, value: Json) -> None:
    step = machine.step_of(frame)
    if KINDS[step.kind].has_result:
        machine.write_result(frame, step.id, copied(value))
    machine.rules.leave(machine, frame, COMPLETED)
    machine.note(frame, StepStatus.SUCCESS, output=value)


def dissolve(machine: Machine, frame: Frame) -> None:
    """Remove a fired frame when its last branch has ended."""
    machine.queue.append(Ended(frame.p, frame.n, frame.role, frame.step, None, COMPLETED))
    machine.drop(frame)


def told_lingering(machine: Machine, scope: Frame, _message: Ended) -> None:
    """Check again a scope that was held only by what lingered in it."""
    if scope.held != "linger" or lingering(machine, scope):
        return
    scope.held = None
    if scope.list is not None:
        end_line(machine, scope)
    else:
        more = dict(scope.more or {})
        value = more.pop("after", None)
        scope.more = more or None
        machine.finish(scope, COMPLETED, value)
