"""Steps that are over at once: they write, decide, raise."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from engine.kernel.effects import Change, Emit
from engine.kernel.errors import StepError, business_error, expression_error
from engine.kernel.expressions.functions import as_text
from engine.kernel.machine.edited_input import edited
from engine.kernel.machine.handlers import escalate
from engine.kernel.machine.machine import COMPLETED, Machine
from engine.kernel.machine.size_limits import A_KEY
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.children import allow_start


def _set(machine: Machine, frame: Frame, step: Step) -> None:
    """Write business state; all values see the state before it."""
    values = step.body.of(machine.names(frame))
    if step.spec.get("if_present"):
        values = {key: value for key, value in values.items() if value is not None}
    write_state(machine, frame, values)
    machine.finish(frame, COMPLETED)


def write_state(machine: Machine, frame: Frame, values: Mapping[str, Json]) -> None:
    """Replace keys of state; a dotted key sets inside an object."""
    state = machine.state_of(frame)
    seen = machine.names(frame).lookup("state")
    for key, value in values.items():
        top, *inner = key.split(".")
        old = seen.get(top)
        machine.weigh(value, A_KEY)
        new = set_inside(state.get(top, old), inner, value)
        machine.changes.append(Change(frame.n, frame.step or "", top, old, new))
        state[top] = new
    machine.touch()


def set_inside(value: Json, path: list[str], new: Json) -> Json:
    """Return a copy of an object with one inner value replaced."""
    if not path:
        return new
    if value is not None and not isinstance(value, dict):
        raise expression_error(f"state has no object where `{path[0]}` is to be set")
    return {**(value or {}), path[0]: set_inside((value or {}).get(path[0]), path[1:], new)}


def _reference(machine: Machine, frame: Frame, step: Step) -> None:
    """Set the business reference."""
    set_reference(machine, step.body, machine.names(frame))
    machine.finish(frame, COMPLETED)


def set_reference(machine: Machine, spec: Mapping[str, Any], names: Any) -> None:
    """Compute the reference: the key as it is, or the parts joined; the parts are kept."""
    parts = spec["parts"].of(names) if "parts" in spec else None
    value = spec["key"].of(names) if "key" in spec else "-".join(as_text(part) for part in (parts or {}).values())
    machine.reference_parts = parts
    machine.reference = None if value is None else (value if isinstance(value, str) else json.dumps(value))[:200]
    machine.touch()


LONGEST_TITLE = 200


def read_head(machine: Machine, root: Frame) -> None:
    """Set the state, reference and title of an instance that begins, as its template's head says."""
    head = machine.definition.head
    names = machine.names(root)
    if "state" in head:
        machine.state = head["state"].of(names)
        machine.touch()
    if "reference" in head:
        _begin_reference(machine, head["reference"], machine.names(root))
    if "case_title" in head:
        _set_title(machine, head["case_title"], machine.names(root))


def _set_title(machine: Machine, spec: Any, names: Any) -> None:
    """Compute the title of the case, as of its start; an empty one is none."""
    text = as_text(spec.of(names))
    line = " ".join(text.split())
    machine.title = line[:LONGEST_TITLE] or None


def _begin_reference(machine: Machine, spec: Mapping[str, Any], names: Any) -> None:
    """Set the reference of an instance; one that it was given stays, and has parts only where it is the author's own."""
    given = machine.reference
    if given is None:
        set_reference(machine, spec, names)
    elif "parts" in spec:
        with suppress(StepError):
            set_reference(machine, spec, names)
        if machine.reference != given:
            machine.reference, machine.reference_parts = given, None


def _decide(machine: Machine, frame: Frame, step: Step) -> None:
    """Evaluate a decision table."""
    names = machine.names(frame)
    inputs = step.body["inputs"].of(names) | (edited(frame) or {})
    machine.note_input(frame, inputs)
    rows = [
        row
        for row in step.body["rows"]
        if all(cell_holds(cell, inputs.get(name)) for name, cell in row["when"].of(names).items())
    ]
    value = HITS[step.body["hit"]](machine, step, rows, names)
    machine.finish(frame, COMPLETED, value)


def cell_holds(cell: Json, value: Json) -> bool:
    """Return whether a cell of a decision table fits a value: equal, one of, or all bounds."""
    if isinstance(cell, list):
        return any(_same(one, value) for one in cell)
    if isinstance(cell, dict):
        return all(BOUNDS[bound](value, limit) for bound, limit in cell.items())
    return _same(cell, value)


def _same(left: Json, right: Json) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Json, Json], bool]:
    """Compare numbers with numbers and texts with texts; anything else does not hold."""

    def holds(value: Json, limit: Json) -> bool:
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (value, limit))
        texts = isinstance(value, str) and isinstance(limit, str)
        return (numbers or texts) and test(value, limit)

    return holds


BOUNDS: Mapping[str, Callable[[Json, Json], bool]] = {
    "lt": _ordered(lambda value, limit: value < limit),
    "le": _ordered(lambda value, limit: value <= limit),
    "gt": _ordered(lambda value, limit: value > limit),
    "ge": _ordered(lambda value, limit: value >= limit),
    "not": lambda value, limit: not cell_holds(limit, value),
}


def _first_hit(machine: Machine, step: Step, rows: list[Any], names: Any) -> Json:
    return rows[0]["then"].of(names) if rows else _no_hit(step, names)


def _unique_hit(machine: Machine, step: Step, rows: list[Any], names: Any) -> Json:
    if len(rows) > 1:
        raise business_error("many_match", f"{len(rows)} rows of `{step.id}` fit")
    return _first_hit(machine, step, rows, names)


def _all_hits(_machine: Machine, step: Step, rows: list[Any], names: Any) -> Json:
    if not rows and "default" in step.body:
        default = step.body["default"].of(names)
        return default if isinstance(default, list) else [default]
    return [row["then"].of(names) for row in rows]


def _no_hit(step: Step, names: Any) -> Json:
    if "default" not in step.body:
        raise business_error("no_match", f"no row of `{step.id}` fits")
    return step.body["default"].of(names)


HITS: Mapping[str, Callable[[Machine, Step, list[Any], Any], Json]] = {
    "first": _first_hit,
    "unique": _unique_hit,
    "collect": _all_hits,
}


def _fail(machine: Machine, frame: Frame, step: Step) -> None:
    """Fail with the author's own error."""
    names = machine.names(frame)
    code = as_text(step.body["code"].of(names))
    raise business_error(code, as_text(step.body["message"].of(names)) or code)


def _emit(machine: Machine, frame: Frame, step: Step) -> None:
    """Raise a signal, an event or an escalation."""
    send(machine, frame, step)
    if frame.n in machine.frames:
        machine.finish(frame, COMPLETED)


def send(machine: Machine, frame: Frame, step: Step) -> None:
    """Hand what is raised to its way out: own signals wait until all branches have run to their waits."""
    names = machine.names(frame)
    kind = next(key for key in ("signal", "event", "escalation") if key in step.body)
    payload = step.body["payload"].of(names) if "payload" in step.body else None
    SENDS[kind](machine, frame, step, names, payload)


def _send_signal(machine: Machine, _frame: Frame, step: Step, names: Any, payload: Json) -> None:
    name = as_text(step.body["signal"].of(names))
    if "key" not in step.body:
        machine.emits.append([name, None, copied(payload)])
        return
    ttl = step.body["ttl"].of(names) if "ttl" in step.body else None
    machine.effects.append(Emit("signal", name, as_text(step.body["key"].of(names)), copied(payload), ttl))


def _send_event(machine: Machine, _frame: Frame, step: Step, names: Any, payload: Json) -> None:
    allow_start(machine, own_life=True)
    key = as_text(step.body["key"].of(names)) if "key" in step.body else None
    machine.effects.append(Emit("event", as_text(step.body["event"].of(names)), key, copied(payload)))


def _send_escalation(machine: Machine, frame: Frame, step: Step, _names: Any, payload: Json) -> None:
    if not escalate(machine, frame, step.body["escalation"], copied(payload)):
        machine.effects.append(Emit("escalation", step.body["escalation"], None, copied(payload)))


SENDS: Mapping[str, Callable[[Machine, Frame, Step, Any, Json], None]] = {
    "signal": _send_signal,
    "event": _send_event,
    "escalation": _send_escalation,
}


KINDS.update(
    {
        "set": Kind(_set, has_result=False),
        "reference": Kind(_reference, has_result=False),
        "decide": Kind(_decide),
        "fail": Kind(_fail, has_result=False),
        "emit": Kind(_emit, has_result=False),
    }
)
