"""Lay a source out line by line with its findings, set two texts side by side, say what keeps a draft from activation."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.kernel.findings import Finding

AROUND = 2
"""How many lines that are the same stand around those that differ."""


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


def shown(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Give findings to a page: what an author wrote stands in quotation marks, not in backticks."""
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
    """Set what another author saved against what was typed: the lines that differ, and a few around them."""
    whose = {"-": "theirs", "+": "yours", " ": "both"}
    found = difflib.unified_diff(theirs.splitlines(), yours.splitlines(), lineterm="", n=AROUND)
    return [ComparedLine(whose[line[0]], line[1:]) for line in found if line[:3] not in ("---", "+++", "@@ ")]
