"""A source line by line with its findings, and the comparison of two texts."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.kernel.findings import Finding

AROUND = 2
"""How many equal lines are shown around those that differ."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a source with its findings."""

    number: int
    text: str
    findings: tuple[dict[str, Any], ...]
    severity: str


def lines_of_source(source: str, findings: list[dict[str, Any]]) -> list[SourceLine]:
    """Return a source line by line, each with its findings."""
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


def shown(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Prepare findings for a page: quotation marks instead of backticks."""
    return [
        finding.as_json() | {"message": _quoted(finding.message), "hint": _quoted(finding.hint)} for finding in findings
    ]


def _quoted(words: str) -> str:
    return re.sub(r"`([^`]*)`", "“\\1”", words)


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of two texts: theirs, yours, or the same in both."""

    whose: str
    text: str


def compared(theirs: str, yours: str) -> list[ComparedLine]:
    """Compare the text that another author saved with what was typed: differing lines, with a few around them."""
    whose = {"-": "theirs", "+": "yours", " ": "both"}
    found = difflib.unified_diff(theirs.splitlines(), yours.splitlines(), lineterm="", n=AROUND)
    return [ComparedLine(whose[line[0]], line[1:]) for line in found if line[:3] not in ("---", "+++", "@@ ")]
