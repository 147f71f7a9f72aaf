"""Let the files that take longest begin first, so that no process of a family is left alone with one of them at the end.

`tests/durations.json` holds what `bin/test --weigh` measured: the seconds of each file that took two or more.
"""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from workflowplatform.servers.paths import PROJECT

KEPT = Path(__file__).with_name("durations.json")
LEAST = 2.0
"""Seconds: shorter files fill the gaps."""


def measured() -> dict[str, float]:
    """Return the seconds of the files that take long."""
    found: dict[str, float] = json.loads(KEPT.read_text())
    return found


def keep(reports: Iterable[Path]) -> None:
    """Write what the reports of a whole run measured."""
    seconds = Counter[str]()
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            name = case.get("classname", "").replace(".", "/")
            seconds[f"{name}.py"] += float(case.get("time", "0"))  # type: ignore[assignment]
    long = {
        name: round(taken) for name, taken in sorted(seconds.items()) if taken >= LEAST and (PROJECT / name).exists()
    }
    KEPT.write_text(json.dumps(long, indent=1) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of a worker of xdist in order; every worker has the same."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    weights = measured()
    items.sort(key=lambda item: -weights.get(item.nodeid.partition("::")[0], 0))
