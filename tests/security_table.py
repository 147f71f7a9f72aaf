"""Write what `bin/test --security` found: one row per promise of docs/security.md, with counts and measured figures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.seating import Counts


@dataclass(slots=True)
class Promise:
    """Add up the tests of one promise."""

    counts: Counts = field(default_factory=Counts)
    figures: list[str] = field(default_factory=list)


def table(reports: Iterable[Path]) -> str:
    """Return the table as text, promises in alphabetical order; a test that was skipped is named with its reason."""
    return "\n".join(_lines(_read(reports)))


def not_judged(reports: Iterable[Path]) -> list[str]:
    """Name the promises of which a test was skipped: that run did not show that they hold."""
    return sorted(name for name, row in _read(reports).items() if row.counts.skipped)


def _read(reports: Iterable[Path]) -> dict[str, Promise]:
    found: dict[str, Promise] = {}
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            _add(found, case)
    return found


def _add(found: dict[str, Promise], case: ElementTree.Element) -> None:
    told = [(word.get("name", ""), word.get("value", "")) for word in case.iter("property")]
    for promise in (value for name, value in told if name == "promise"):
        row = found.setdefault(promise, Promise())
        row.counts += _verdict(case)
        row.figures += [value for name, value in told if name == "figure"]
        row.figures += [
            f"not judged: {case.get('name')}: {skip.get('message', '')}" for skip in case.findall("skipped")
        ]


def _verdict(case: ElementTree.Element) -> Counts:
    if case.find("failure") is not None or case.find("error") is not None:
        return Counts(failed=1)
    return Counts(skipped=1) if case.find("skipped") is not None else Counts(passed=1)


def _lines(found: dict[str, Promise]) -> Iterator[str]:
    width = max((len(name) for name in found), default=0)
    yield f"{'promise':{width}}  passed  failed  skipped  figures"
    for name, row in sorted(found.items()):
        first, *others = row.figures or [""]
        counts = row.counts
        yield f"{name:{width}}  {counts.passed:6}  {counts.failed:6}  {counts.skipped:7}  {first}".rstrip()
        yield from (" " * (width + 27) + figure for figure in others)
