"""A browser that hangs holds up nobody: the test that drives it fails, and the next has a browser again."""

from __future__ import annotations

import os
import signal

import pytest
from playwright.sync_api import Error

from tests.browser.chromium import Chromium, _children_of

PAGE = "data:text/html,<p>here</p>"


def test_browser_that_never_answers_is_ended_and_started_anew(chromium: Chromium) -> None:
    page = chromium.new_context().new_page()
    page.goto(PAGE)
    (driver,) = chromium._drivers
    (browser,) = _children_of(driver)
    os.kill(browser, signal.SIGSTOP)
    with pytest.raises(Error), chromium.patience(2) as hung:
        page.evaluate("1 + 1")
    assert hung.is_set()
    anew = chromium.new_context()
    page = anew.new_page()
    page.goto(PAGE)
    assert page.inner_text("p") == "here"
    anew.close()


def test_browser_that_answers_in_time_is_left_alone(chromium: Chromium) -> None:
    with chromium.patience(60) as hung:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(PAGE)
    assert not hung.is_set()
    assert page.inner_text("p") == "here"
    context.close()
