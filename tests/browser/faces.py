"""The screens and languages in which a page is looked at.

A whole run looks at each page in all of them. A short run takes one of them per test, in turn through a file, so that every file
still meets every language and every size.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pytest

PHONE = {"width": 360, "height": 780}
WORDS = {"en": "en-GB", "de": "de-DE"}
FACES = (
    pytest.param("en", None, id="1280-en"),
    pytest.param("de", PHONE, id="360-de"),
    pytest.param("de", None, id="1280-de", marks=pytest.mark.slow),
    pytest.param("en", PHONE, id="360-en", marks=pytest.mark.slow),
)
SIZES = {"size", "viewport", "width"}
"""What a test calls the screen next to its `language`."""


def leave_one_each(items: Iterable[pytest.Item]) -> None:
    """Mark all but one face of each test as slow, the first face of one, the second of the next."""
    tests: dict[tuple[object, ...], list[pytest.Item]] = {}
    for item in items:
        if (key := _test_of(item)) and not item.get_closest_marker("slow"):
            tests.setdefault(key, []).append(item)
    turns: dict[object, cycle[int]] = {}
    for (path, *_), cases in tests.items():
        turn = next(turns.setdefault(path, cycle(range(2)))) % len(cases)
        for case in cases[:turn] + cases[turn + 1 :]:
            case.add_marker(pytest.mark.slow)


def _test_of(item: pytest.Item) -> tuple[object, ...] | None:
    """Name a test and its parameters but for the face; None where it has no face."""
    call = getattr(item, "callspec", None)
    if call is None or "language" not in call.params or not SIZES & call.params.keys():
        return None
    others = {name: repr(value) for name, value in call.params.items() if name not in {"language", *SIZES}}
    return item.path, item.function.__name__, *sorted(others.items())  # type: ignore[attr-defined]


def options_of(language: str, size: dict[str, int] | None) -> dict[str, Any]:
    """Return how a browser is opened for a face."""
    return {"locale": WORDS[language], **({"viewport": size} if size else {})}
