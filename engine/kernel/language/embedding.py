"""Put another workflow's steps into the one that embeds it: under ids of their own, with its head as steps.

What is embedded is the canonical form of a version that was activated, so nothing in it is wrong by itself. Every id gets
the embedding step's in front, wherever something refers to it; the language's own tables say where that is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine.kernel.expressions.interpolation import pieces
from engine.kernel.language.shapes import ATTRIBUTES, BESIDE, HEAD, IN_GRAPH, Field
from engine.kernel.language.step_lists import all_steps
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json

Lookup = Callable[[str, Json], tuple[int, Mapping[str, Json]] | None]
"""Returns the number and the canonical form of a workflow's version by its name; None where there is none."""
Names = Mapping[str, str]


def embedded_names(canonical: Mapping[str, Json]) -> set[str]:
    """Return all workflows that a canonical definition has embedded."""
    return {
        step["workflow"]["name"]
        for kind, step in _every_step(canonical)
        if kind == "workflow" and step["workflow"].get("embed")
    }


def _every_step(canonical: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    for steps in (canonical["steps"], *(handler["steps"] for handler in canonical.get("on", ()))):
        yield from all_steps(steps, KINDS)


def embedded_body(canonical: Mapping[str, Json], step: str) -> dict[str, Json]:
    """Return what a step that embeds a workflow holds of it: its steps, its output, and what its input must be."""
    names = {name: f"{step}_{name}" for name in _own_names(canonical)}
    body: dict[str, Json] = {"steps": _steps(canonical, names, step)}
    if "input" in canonical:
        body["schema"] = canonical["input"]
    if "output" in canonical:
        body["output"] = _renamed(HEAD.fields["output"], canonical["output"], names)
    return body


def _own_names(canonical: Mapping[str, Json]) -> set[str]:
    """List the names of results: those of steps, and those that calls give their own."""
    steps = list(_every_step(canonical))
    return {step["id"] for _, step in steps} | {
        step["call"]["into"] for kind, step in steps if kind == "call" and "into" in step["call"]
    }


def _steps(canonical: Mapping[str, Json], names: Names, step: str) -> list[Json]:
    """Return the workflow's steps; what its head says of state, handlers and time becomes steps too."""
    steps = _renamed(HEAD.fields["steps"], canonical["steps"], names)
    for key in ("calendar", "undo"):
        if key in canonical:
            _keep_for_tasks(key, canonical[key], steps)
    if "state" in canonical:
        values = _renamed(HEAD.fields["state"], canonical["state"], names)
        steps = [{"id": _free(f"{step}_state", names), "auto_id": True, "set": values}, *steps]
    watched: dict[str, Json] = {}
    if "on" in canonical:
        watched["on"] = _renamed(HEAD.fields["on"], canonical["on"], names)
    if "deadline" in canonical.get("limits", {}):
        watched["timeout"] = canonical["limits"]["deadline"]
    if watched:
        steps = [{"id": _free(f"{step}_all", names), "auto_id": True, "group": {"steps": steps}, **watched}]
    return list(steps)


def _free(name: str, names: Names) -> str:
    while name in names.values():
        name += "_"
    return name


def _keep_for_tasks(key: str, value: Json, steps: list[dict[str, Json]]) -> None:
    """Copy into the tasks what the head that they leave says of them: the calendar by which they count, the time for undo."""
    for kind, step in all_steps(steps, KINDS):
        if kind == "task":
            step["task"].setdefault(key, value)


def _renamed(field: Field, raw: Json, names: Names) -> Json:
    """Return a canonical value with every id in it renamed."""
    rename = RENAMERS.get(field.reader)
    return raw if rename is None else rename(field, raw, names)


def _step(raw: Mapping[str, Json], names: Names) -> dict[str, Json]:
    kind = next(key for key in raw if key in KINDS)
    fields = {**ATTRIBUTES, **IN_GRAPH, **BESIDE.get(kind, {}), kind: KINDS[kind]}
    kept = {key: value for key, value in raw.items() if key not in ("id", "path")}
    inside = {key: _renamed(fields[key], value, names) if key in fields else value for key, value in kept.items()}
    return {"id": names[raw["id"]], **inside}


def _list_of_steps(_field: Field, raw: Json, names: Names) -> Json:
    return [_step(step, names) for step in raw]


def _shape(field: Field, raw: Json, names: Names) -> Json:
    assert field.shape is not None
    fields = field.shape.fields
    return {key: _renamed(fields[key], value, names) if key in fields else value for key, value in raw.items()}


def _shapes(field: Field, raw: Json, names: Names) -> Json:
    return [_shape(field, one, names) for one in raw]


def _each(field: Field, raw: Json, names: Names) -> Json:
    assert field.each is not None
    return [_renamed(field.each, one, names) for one in raw]


def _mapped(field: Field, raw: Json, names: Names) -> Json:
    assert field.each is not None
    return {key: _renamed(field.each, value, names) for key, value in raw.items()}


def _name(_field: Field, raw: Json, names: Names) -> Json:
    return names.get(raw, raw)


def _several(_field: Field, raw: Json, names: Names) -> Json:
    return [names.get(one, one) for one in raw]


def _expression(_field: Field, raw: Json, names: Names) -> Json:
    return in_expression(raw, names)


def _value(_field: Field, raw: Json, names: Names) -> Json:
    if isinstance(raw, dict):
        return {key: _value(_field, value, names) for key, value in raw.items()}
    if isinstance(raw, list):
        return [_value(_field, value, names) for value in raw]
    return _text(raw, names) if isinstance(raw, str) and "${" in raw else raw


def _text(text: str, names: Names) -> str:
    """Rename in the expressions of a text, from the last to the first: places before stay what they are."""
    for piece in reversed([piece for piece in pieces(text) if piece.expression]):
        end = piece.offset + len(piece.text)
        text = text[: piece.offset] + in_expression(piece.text, names) + text[end:]
    return text


_MENTION = re.compile(
    r"""(?P<head>\bget\(\s*(?:result|status)\s*,\s*['"])(?P<looked>\w+)"""
    r"""|(?P<index>(?<![\w.])(?:result|status)\s*\[\s*['"])(?P<key>\w+)"""
    r"""|(?P<root>(?<![\w.])(?:result|status)\s*\.\s*)(?P<name>\w+)"""
    r"""|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
)
"""Where an expression names a result: looked for, by key, by name; quoted texts are passed over."""


def in_expression(text: str, names: Names) -> str:
    """Rename the results and statuses that an expression reads."""
    return _MENTION.sub(lambda found: _mention(found, names), text)


def _mention(found: re.Match[str], names: Names) -> str:
    for before, name in (("head", "looked"), ("index", "key"), ("root", "name")):
        if found[name] is not None:
            return str(found[before]) + names.get(found[name], found[name])
    return found[0]


RENAMERS: Mapping[str, Callable[[Field, Any, Names], Json]] = {
    "condition": _expression,
    **dict.fromkeys(
        ("value", "textvalue", "duration", "moment", "when_due", "principals", "state_keys", "cell"), _value
    ),
    **dict.fromkeys(("shape", "loop", "cancel", "embeddable", "own_kind"), _shape),
    **dict.fromkeys(("branches", "handlers"), _shapes),
    **dict.fromkeys(("ref", "exit", "into"), _name),
    "refs": _several,
    "list": _each,
    "map": _mapped,
    "steps": _list_of_steps,
}
"""How the value of a field is renamed, by its reader; the rest contains no ids."""
