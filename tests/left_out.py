"""Name the tests that a short run leaves out, so that none dies silently: bin/test lists them at its end."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

VARIABLE = "WORKFLOW_TEST_LEFT_OUT"
"""Names the file into which a family writes what it leaves out."""


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Write the slow ones down; processes of one family write the same."""
    place = os.environ.get(VARIABLE)
    slow = [_name_of(item) for item in items if item.get_closest_marker("slow")]
    if place and slow:
        half = Path(f"{place}.{os.getpid()}")
        half.write_text("".join(f"{name}\n" for name in slow))
        half.replace(place)


def _name_of(item: pytest.Item) -> str:
    """Name it as one would ask for it, also where the kernel's configuration makes names shorter."""
    return f"{os.path.relpath(item.path)}::{item.nodeid.partition('::')[2]}"


def list_of(kept: Iterable[Path]) -> str:
    """Return what was left out as text: a row per test, with the number of its cases."""
    names = [line.partition("[")[0] for file in kept for line in file.read_text().splitlines()]
    rows = [f"  {name}" + (f" ({count} cases)" if count > 1 else "") for name, count in sorted(Counter(names).items())]
    return "\n".join([f"Only with bin/test --all: {len(names)} tests", *rows]) if names else ""
