"""Read a canonical definition aloud: its steps as an outline, a source with its findings line by line."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.kernel.language_kinds import KINDS


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the outline; `branch` says by which way it is reached when its parent has several."""

    depth: int
    name: str
    kind: str
    words: str
    branch: str


def outline_of(canonical: dict[str, Any] | None) -> list[Step]:
    """List all steps in the order written."""
    return list(_walk((canonical or {}).get("steps") or [], 0, ""))


def _walk(steps: list[Any], depth: int, branch: str) -> Iterator[Step]:
    for position, step in enumerate(steps):
        kind = next((key for key in step if key in KINDS), "step")
        yield Step(depth, step["id"], kind, _words(step, kind), branch if position == 0 else "")
        for way, body in _bodies(step):
            yield from _walk(body, depth + 1, way)


def _bodies(value: Any, way: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Find the lists of steps inside a step, however deep its kind keeps them; `then` before what follows it."""
    if isinstance(value, dict):
        for key in sorted(value, key=lambda key: key != "then"):
            yield from _bodies(value[key], key)
    elif isinstance(value, list) and value and all(isinstance(entry, dict) and "path" in entry for entry in value):
        yield way, value
    elif isinstance(value, list):
        for entry in value:
            yield from _bodies(entry, way)


def _words(step: dict[str, Any], kind: str) -> str:
    inside = step.get(kind)
    if step.get("title"):
        return str(step["title"])
    if isinstance(inside, dict):
        return str(inside.get("title") or ", ".join(inside))
    return str(inside) if isinstance(inside, str) else ""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a source and what was found in it."""

    number: int
    text: str
    findings: tuple[dict[str, Any], ...]
    severity: str


def lines_of_source(source: str, findings: list[dict[str, Any]]) -> list[SourceLine]:
    """Lay a source out line by line, each finding under its line."""
    by_line: dict[int, list[dict[str, Any]]] = {}
    for finding in findings:
        by_line.setdefault(finding["line"], []).append(finding)
    return [
        SourceLine(number, text, tuple(by_line.get(number, ())), _worst(by_line.get(number, [])))
        for number, text in enumerate(source.splitlines(), 1)
    ]


def _worst(findings: list[dict[str, Any]]) -> str:
    severities = {finding["severity"] for finding in findings}
    return "error" if "error" in severities else "warning" if severities else ""


def count_words(findings: list[dict[str, Any]]) -> str:
    """Say what keeps a draft from being activated, or that nothing does."""
    errors = sum(finding["severity"] == "error" for finding in findings)
    if not errors:
        return "Nothing keeps it from being activated."
    return f"Mend {errors} error{'s' if errors > 1 else ''} to activate."
