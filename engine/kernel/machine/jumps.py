"""Jumps within a list of steps: `next` of a step says where the flow continues once the step has succeeded.

The step decides while it is still alive, so that an error in a condition is its own error. Its list then continues
at the step named; a list that does not hold it ends, and the `if`, the `switch` or the host of the handler around it
carries the jump on. Every jump back begins a new pass of the list, which shows in the position of all that follows.
"""

from typing import Any

from engine.kernel.errors import business_error
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.step_table import KINDS
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame

MOST_JUMPS = 1000
"""How often a list goes back unless its author says otherwise."""


def way_on(machine: Machine, frame: Frame, value: Json) -> str | None:
    """Return the step with which the flow continues after a success; None: the one that follows."""
    if frame.more is not None and "jump" in frame.more:
        return str(frame.more["jump"])
    edge = _chosen(machine, frame, value)
    if edge is None:
        return None
    _refuse_too_many(machine, frame, edge)
    return str(edge["to"])


def _chosen(machine: Machine, frame: Frame, value: Json) -> dict[str, Any] | None:
    """Take the first edge that holds; edges of steps in a net belong to the net."""
    step = machine.step_of(frame)
    if "next" not in step.spec or machine.frames[frame.p].list is None:
        return None
    names, kind = machine.names(machine.frames[frame.p]), KINDS[step.kind]
    known = {**names.lookup("result"), kind.result_name(step): value} if kind.has_result else names.lookup("result")
    seen = With(names, {"result": known})
    return next((edge for edge in step.spec["next"] if "when" not in edge or edge["when"].holds(seen)), None)


def _refuse_too_many(machine: Machine, frame: Frame, edge: dict[str, Any]) -> None:
    line = _line_with(machine, frame, edge["to"])
    most = edge.get("max", MOST_JUMPS)
    if line is not None and is_back(machine, line, str(line.at), edge["to"]) and pass_of(line) > most:
        raise business_error("loop_limit", f"the list went back {most} times and would go to `{edge['to']}` again")


def _line_with(machine: Machine, frame: Frame, name: str) -> Frame | None:
    """Find the nearest running list that holds a step."""
    lines = (found for found in machine.upward(frame) if found.list is not None)
    return next((line for line in lines if name in machine.definition.lists[str(line.list)].place), None)


def is_back(machine: Machine, line: Frame, source: str, target: str) -> bool:
    """Return whether a jump within a list does not lead forward."""
    place = machine.definition.lists[str(line.list)].place
    return place[target] <= place[source]


def pass_of(line: Frame) -> int:
    """Return how often a list was begun or gone back in."""
    return int((line.more or {}).get("pass", 1))


def go_back(line: Frame) -> None:
    """Begin the next pass of a list."""
    line.more = {**(line.more or {}), "pass": pass_of(line) + 1}


def pass_mark(line: Frame) -> str | None:
    """Write a list's pass for positions; the first has no mark."""
    return f"#{pass_of(line)}" if pass_of(line) > 1 else None


def carry_jump(frame: Frame, target: str | None) -> None:
    """Pass on a jump that leads out of a list, or out of the step around it."""
    if target is not None:
        frame.more = {**(frame.more or {}), "jump": target}
