"""The page of the one search says what it did not look through."""

import pytest

from engine.services import search
from tests.cast import Cast
from tests.hooks import values
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks


def windows(browser: SignIn, name: str, words: str = "trip") -> list[str]:
    return values("window", browser(name).get(f"/inbox/search/?q={words}"))


@pytest.mark.usefixtures("review")
def test_windows_that_were_full_are_named_and_others_are_not(
    cast: Cast, browser: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_tasks(cast, 3)
    assert windows(browser, "gwen") == []
    monkeypatch.setattr(search, "MOST_TASKS", 3)
    assert windows(browser, "gwen") == windows(browser, "ada") == ["tasks"]
    monkeypatch.setattr(search, "MOST_CASES", 3)
    assert windows(browser, "gwen") == ["tasks", "cases"]
    assert windows(browser, "gwen", "@adam") == []
    assert windows(browser, "gwen", "%23trip") == ["cases"]
    assert windows(browser, "gwen", "nowhere") == ["tasks", "cases"], "where nothing is found, above all"
