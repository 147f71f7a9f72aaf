"""Find the lists of steps inside a step, for code that walks a definition without reading its source."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from engine.kernel.language.step_shapes import KINDS
from engine.kernel.signals import Json


def bodies(step: dict[str, Json], kind: str) -> list[tuple[str, list[dict[str, Json]]]]:
    """List every list of steps inside a step, with the name it has in paths."""
    found: list[tuple[str, list[dict[str, Json]]]] = []
    spec = step[kind]
    inside: dict[str, Any] = spec if isinstance(spec, dict) and kind != "set" else {}
    found += [
        (key, inside[key])
        for key in ("steps", "default")
        if (kind in _WITH_BODY or kind == "workflow") and key in inside
    ]
    found += [(f"case.{place}", case["steps"]) for place, case in enumerate(inside.get("cases", ()))]
    found += [(branch["name"], branch["steps"]) for branch in inside.get("branches", ())]
    found += [(key, step[key]) for key in ("then", "else", "on_timeout", "finally", "undo") if key in step]
    for key in ("on_error", "on", "reminders"):
        found += [(f"{key}.{place}", handler["steps"]) for place, handler in enumerate(step.get(key, ()))]
    for place, escalation in enumerate(inside.get("escalate", ()) if kind == "task" else ()):
        found += [(f"escalate.{place}", escalation["steps"])] if "steps" in escalation else []
    return found


def all_steps(steps: list[dict[str, Json]], kinds: Collection[str]) -> Iterator[tuple[str, dict[str, Json]]]:
    """Walk a canonical definition's steps in the order written, inner ones after their own, each with its kind."""
    for step in steps:
        kind = next(key for key in step if key in kinds)
        yield kind, step
        for _name, inner in bodies(step, kind):
            yield from all_steps(inner, kinds)


def calendars_named(canonical: Mapping[str, Json]) -> set[str]:
    """Return the business calendars by which a canonical definition counts, wherever it does."""
    lists = [canonical.get("steps") or [], *(handler["steps"] for handler in canonical.get("on") or ())]
    specs = [step[kind] for steps in lists for kind, step in all_steps(steps, KINDS) if kind in ("task", "wait")]
    named = (
        place.get("calendar") for place in (canonical, canonical.get("schedule"), *specs) if isinstance(place, dict)
    )
    return {name for name in named if isinstance(name, str)}


_WITH_BODY = frozenset({"repeat", "for_each", "graph", "net", "any_order", "selector", "group", "switch", "ext"})
HOLDS_STEPS = _WITH_BODY | {"if", "parallel", "first"}
"""Kinds whose own steps run inside them."""
