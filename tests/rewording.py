"""Reword everything the product says (`--reworded`): a test that then fails depends on wording, not on meaning.

Every word of every translated text gets a mark after its first letter, and so do the small words of every refusal and of
every message of the admin. This reaches what runs in the process of the tests, so not the browser's product.
What the tests put in themselves (titles, names, comments) stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

MARK = "\N{MODIFIER LETTER SMALL X}"
NOT_WORDS = re.compile(r"(%\(\w+\)[sd]|%[sd]|\{[^}]*\}|<[^>]*>|&#?\w+;|https?://\S+)")
SMALL_WORD = re.compile(
    r"\b([A-Za-z])(?=(?:s|t|o|n|f|he|his|hat|here|as|ot|nly|ou|our|se|and|nd|ach)\b)", re.IGNORECASE
)
"""Refusals and messages are filled in already, so only words that no test data consists of are marked."""
WORD = re.compile(r"\b([^\W\d_])(?=[^\W\d_])")


def reworded(text: str) -> str:
    """Return the text in other words; what is filled in later stays where it is."""
    if MARK in text:
        return text
    parts = NOT_WORDS.split(text)
    parts[::2] = [WORD.sub(rf"\1{MARK}", part) for part in parts[::2]]
    return "".join(parts)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reworded", action="store_true", help="let the product speak in other words")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what tests the sentences themselves."""
    if config.getoption("--reworded"):
        kept = [item for item in items if item.get_closest_marker("wording") is None]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


@pytest.fixture(scope="session", autouse=True)
def other_words(request: pytest.FixtureRequest) -> Any:
    """Reword what the product says in the whole run, where that is asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--reworded"):
            _reword(patch)
        yield


def _reword(patch: pytest.MonkeyPatch) -> None:
    from django.contrib.messages import api as messages
    from django.utils.translation import _trans, trans_real

    from engine.errors import WorkflowError

    for name in ("gettext", "pgettext", "ngettext", "npgettext"):
        patch.setattr(_trans, name, _in_other_words(getattr(trans_real, name)), raising=False)

    made = WorkflowError.__init__

    def refused(error: WorkflowError, message: str, **more: Any) -> None:
        made(error, SMALL_WORD.sub(rf"\1{MARK}", str(message)), **more)

    patch.setattr(WorkflowError, "__init__", refused)
    told = messages.add_message

    def reported(request: Any, level: int, message: Any, *more: Any, **named: Any) -> None:
        told(request, level, SMALL_WORD.sub(rf"\1{MARK}", str(message)), *more, **named)

    patch.setattr(messages, "add_message", reported)


def _in_other_words(speak: Callable[..., str]) -> Callable[..., str]:
    return lambda *asked: reworded(speak(*asked))
