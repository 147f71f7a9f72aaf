"""Lay a source out line by line with its findings, and say what keeps it from being activated."""

from dataclasses import dataclass
from typing import Any


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
