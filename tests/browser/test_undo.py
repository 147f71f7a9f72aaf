"""An answer is taken back, sent at once, or sent when its countdown is over, in a real browser; en and de, desk and phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import faults_of
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import PATIENCE, act, toast
from tests.platform.sandbox import eventually

SOURCE = """\
workflow: countdown
title: Countdown
starters: {min_level: 2}
input: {type: object, required: [what], properties: {what: {type: string, title: What}}}
steps:
  - id: review
    task:
      title: "Countdown ${start.what}"
      users: [ada]
      undo: PT1M
      outcomes: {approve: {title: Approve}, soon: {title: Soon, undo: PT2S}, reject: {title: Reject, reject: true}}
      comment: optional
"""
SECONDS = re.compile(r"\b\d+\b")


@pytest.fixture
def tasks(errands: Errands) -> list[str]:
    """Return the ids of two tasks of Ada's, in the order of her list."""
    activate(errands.page, SOURCE)
    begun = [
        send(errands.page, "instances/", {"template": "countdown", "input": {"what": one}}) for one in ("one", "two")
    ]
    return [str(one["tasks"][0]["id"]) for one in begun]


def open_task(page: Page, task: str) -> None:
    page.goto(f"/inbox/tasks/{task}/?in=view%3Davailable%26q%3DCountdown")
    if page.locator("[data-claim]").count():
        page.locator("[data-claim]").first.click()
    page.locator("[data-first-outcome]").wait_for()


def status_of(errands: Errands, task: str) -> str:
    return str(errands.page.context.request.get(f"/api/v1/tasks/{task}/").json()["status"])


def countdown(page: Page) -> Locator:
    """Find the newest countdown: journeys of one person share a session."""
    return page.locator('[data-sends][data-code="answer.held"]').last


@pytest.mark.parametrize(
    ("language", "width"),
    [
        ("en", 1280),
        ("de", 360),
        pytest.param("de", 1280, marks=pytest.mark.slow),
        pytest.param("en", 360, marks=pytest.mark.slow),
    ],
)
def test_the_countdown_is_seen_heard_once_and_undone(
    signed_in: SignedIn, tasks: list[str], language: str, width: int
) -> None:
    page = signed_in("ada", viewport={"width": width, "height": 860}, locale=language)
    open_task(page, tasks[0])
    page.locator("#answer textarea").first.fill("Once more")
    page.locator("[data-first-outcome]").click()
    shown = countdown(page)
    expect(shown).to_be_visible()
    expect(shown.locator("[data-sends-countdown]")).to_have_text(SECONDS)
    first = int(shown.locator("[data-sends-seconds]").inner_text())
    assert 10 < first <= 60
    expect(shown.locator("[data-sends-seconds]")).not_to_have_text(str(first))
    spoken = shown.aria_snapshot()
    assert str(first) not in SECONDS.findall(spoken)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert faults_of(page) == []
    page.locator("body").press("Control+z")
    expect(toast(page, "answer.taken_back")).to_be_visible()
    expect(page.locator("#answer textarea").first).to_have_value("Once more")


def test_undo_keys_in_a_field_are_the_fields_own(signed_in: SignedIn, tasks: list[str]) -> None:
    page = signed_in("ada")
    open_task(page, tasks[0])
    page.locator("[data-first-outcome]").click()
    expect(countdown(page)).to_be_visible()
    open_task(page, tasks[1])
    page.locator("#answer textarea").first.click()
    page.keyboard.type("words")
    page.keyboard.press("Control+z")
    expect(countdown(page)).to_be_visible()
    expect(page).to_have_url(re.compile(tasks[1]))
    act(countdown(page), "undo").click()
    expect(toast(page, "answer.taken_back")).to_be_visible()


def test_a_second_press_sends_without_leaving_the_page(signed_in: SignedIn, tasks: list[str]) -> None:
    page = signed_in("ada")
    open_task(page, tasks[0])
    page.locator("[data-first-outcome]").click()
    expect(countdown(page)).to_be_visible()
    before = page.url
    act(countdown(page), "send_now").click()
    expect(page.locator('[data-code="answer.sent"]').last).to_be_visible()
    assert page.url == before
    page.goto(f"/inbox/tasks/{tasks[0]}/")
    expect(page.locator('[data-act="undo_answer"]')).to_have_count(0)


def test_a_worker_sends_it_when_the_browser_is_closed(signed_in: SignedIn, tasks: list[str], errands: Errands) -> None:
    page = signed_in("ada")
    open_task(page, tasks[0])
    page.locator('[data-outcome-key="2"]').click()
    expect(countdown(page)).to_be_visible()
    page.close()
    assert eventually(lambda: status_of(errands, tasks[0]) == "completed", PATIENCE)
    done = errands.page.context.request.get(f"/api/v1/tasks/{tasks[0]}/").json()
    assert (done["status"], done["outcome"]) == ("completed", "soon")


@pytest.mark.slow
def test_the_countdown_ends_with_the_news(signed_in: SignedIn, tasks: list[str]) -> None:
    page = signed_in("ada")
    open_task(page, tasks[0])
    page.locator('[data-outcome-key="2"]').click()
    expect(countdown(page)).to_be_visible()
    expect(page.locator('[data-code="answer.sent"]').last).to_be_visible(timeout=PATIENCE * 1000)


def test_without_scripts_it_says_until_when(signed_in: SignedIn, tasks: list[str]) -> None:
    page = signed_in("ada", java_script_enabled=False)
    page.goto(f"/inbox/tasks/{tasks[0]}/")
    if page.locator("[data-claim]").count():
        page.locator("[data-claim]").first.click()
    page.locator("[data-first-outcome]").click()
    shown = countdown(page)
    expect(shown.locator("[data-sends-until]")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    act(countdown(page), "undo").click()
    expect(toast(page, "answer.taken_back")).to_be_visible()
