"""Check a definition against the workflows around it: what it hands to those that it starts, and whether it starts itself again.

Both are warnings: another version of a child may be active when the instance runs, and a condition may end a recursion.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.forms import check_values
from engine.kernel.signals import Json
from engine.kernel.steps.children import unfit_input

STARTS = ("workflow", "continue_with")
WAITS = ("task", "wait", "signal", "call")
RUN_ONCE = ("group", "parallel")
Canonical = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Aside:
    """What is to be said at a step."""

    step: str
    path: str
    code: str
    message: str
    hint: str


def check_around(own: Canonical, others: Mapping[str, Canonical]) -> Iterator[Aside]:
    """Return what concerns a definition and those around it, by name, its own included."""
    around = {**others, own["workflow"]: own}
    for step in _all_steps(own["steps"]):
        yield from _unfit_input(step, around)
    yield from _comes_back(own, around)


def _all_steps(value: Json) -> Iterator[Canonical]:
    """Return every step below, in any list of steps."""
    if isinstance(value, list):
        for one in value:
            yield from _all_steps(one)
    elif isinstance(value, dict):
        if "id" in value and "path" in value:
            yield value
        for one in value.values():
            yield from _all_steps(one)


def emitted_events(definition: Canonical) -> set[str]:
    """Return the names of the events that a definition emits, where they are written out."""
    emits = (step.get("emit") for step in _all_steps(definition["steps"]))
    names = {str(one["event"]) for one in emits if isinstance(one, dict) and "event" in one}
    return {name for name in names if "${" not in name}


# What a child is given


def _unfit_input(step: Canonical, around: Mapping[str, Canonical]) -> Iterator[Aside]:
    kind = next((kind for kind in STARTS if isinstance(step.get(kind), dict)), None)
    child = around.get(step[kind]["name"]) if kind else None
    given = step[kind].get("input") if kind else None
    if child is None or kind is None or not isinstance(given, dict) or step[kind].get("version") != "latest":
        return
    computed = {name for name, value in given.items() if "${" in str(value)}
    _, errors = check_values(child.get("input"), given)
    for error in errors:
        name = error.path.split(".")[0].split("[")[0]
        if error.code == "additionalProperties" or (name and name not in computed):
            message = unfit_input(child["workflow"], error)
            yield Aside(step["id"], step["path"], "child_input", message, "give what its `input` asks for")


# Whether it starts itself again


def _comes_back(own: Canonical, around: Mapping[str, Canonical]) -> Iterator[Aside]:
    name = own["workflow"]
    for step, target in _starts_at_once(own, around):
        way = _way(target, name, around, {target})
        if way is not None:
            told = " → ".join((name, *way))
            message = f"this starts `{name}` again, with no wait in between ({told})"
            hint = "let one of them wait, or see to it that a condition ends it"
            yield Aside(step["id"], step["path"], "starts_itself", message, hint)


def _way(name: str, wanted: str, around: Mapping[str, Canonical], seen: set[str]) -> tuple[str, ...] | None:
    """Find a way from one workflow to another on which nothing waits."""
    if name == wanted:
        return (name,)
    for _, target in _starts_at_once(around[name], around):
        if target not in seen:
            seen.add(target)
            way = _way(target, wanted, around, seen)
            if way is not None:
                return (name, *way)
    return None


def _starts_at_once(definition: Canonical, around: Mapping[str, Canonical]) -> list[tuple[Canonical, str]]:
    """Return what a definition starts before anything in it has surely waited."""
    found: list[tuple[Canonical, str]] = []
    _walk(definition["steps"], around, found, {definition["workflow"]})
    return found


def _walk(
    steps: list[Canonical], around: Mapping[str, Canonical], found: list[tuple[Canonical, str]], above: set[str]
) -> bool:
    """Go through a list until something surely waits; return whether it did."""
    return any(_passes(step, around, found, above) for step in steps)


def _passes(
    step: Canonical, around: Mapping[str, Canonical], found: list[tuple[Canonical, str]], above: set[str]
) -> bool:
    found += [(step, target) for target in _targets(step, around)]
    sure = "when" not in step
    if any(kind in step for kind in WAITS):
        return sure
    if "workflow" in step:
        return sure and _surely_waits(step["workflow"]["name"], around, above)
    below = list(_lists(step))
    waits = [_walk(steps, around, found, above) for steps in below]
    if "if" in step or "switch" in step:
        return sure and bool({"else", "default"} & {*step, *(step.get("switch") or {})}) and all(waits)
    return sure and any(kind in step for kind in RUN_ONCE) and any(waits)


def _targets(step: Canonical, around: Mapping[str, Canonical]) -> Iterator[str]:
    for kind in STARTS:
        if isinstance(step.get(kind), dict) and step[kind]["name"] in around:
            yield step[kind]["name"]
    emitted = (step.get("emit") or {}).get("event") if isinstance(step.get("emit"), dict) else None
    for name, other in around.items():
        if emitted and (other.get("event") or {}).get("name") == emitted:
            yield name


def _surely_waits(name: str, around: Mapping[str, Canonical], above: set[str]) -> bool:
    if name in above or name not in around:
        return name not in around
    return _walk(around[name]["steps"], around, [], above | {name})


def _lists(step: Canonical) -> Iterator[list[Canonical]]:
    """Return the lists of steps directly inside a step of a plain kind; nets, graphs and handlers order theirs otherwise."""
    for name in ("then", "else"):
        if isinstance(step.get(name), list):
            yield step[name]
    for kind in ("group", "for_each", "repeat", "selector"):
        if isinstance(step.get(kind), dict):
            yield step[kind].get("steps") or []
    for one in (step.get("parallel") or {}).get("branches") or ():
        yield one["steps"]
    switch = step.get("switch") or {}
    for one in switch.get("cases") or ():
        yield one["steps"]
    if "default" in switch:
        yield switch["default"]
