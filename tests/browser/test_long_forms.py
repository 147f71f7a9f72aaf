"""Forms with rows and conditions in a real browser, with and without scripts; and what is typed outlives a session."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands
from tests.browser.pages import Door, Inbox, act, notice, toast
from tests.browser.pictures import picture

TRIP = "/inbox/start/trip-expenses/?new"


def fill_head(page: Page) -> None:
    page.goto(TRIP)
    page.get_by_label("What the trip was for").fill("Trade fair")
    page.get_by_label("Where to").fill("Graz")
    page.get_by_label("First day").fill("2026-11-03")
    page.get_by_label("Last day").fill("2026-11-04")
    page.get_by_label("Pay it").select_option("With my salary")


def fill_row(page: Page, number: int, amount: str) -> None:
    row = page.locator("[data-line]").nth(number)
    row.get_by_label("Day").fill("2026-11-03")
    row.get_by_label("For").select_option("Hotel")
    row.get_by_label("Amount").fill(amount)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_rows_and_conditions(signed_in: SignedIn, scripts: bool) -> None:
    page = signed_in("uri", java_script_enabled=scripts)
    fill_head(page)
    kilometres = page.get_by_label("Kilometres driven")
    expect(kilometres).to_be_visible(visible=not scripts)
    page.get_by_role("checkbox", name="With my own car").check()
    expect(kilometres).to_be_visible()
    kilometres.fill("400")
    expect(page.locator("[data-only-if]").filter(has_text="With my own car")).to_be_visible(visible=not scripts)

    fill_row(page, 0, "120.50")
    act(page, "add_row").click()
    expect(page.locator("[data-line]")).to_have_count(2)
    expect(page.locator("[data-line]").first.get_by_label("Amount")).to_have_value(re.compile("120.50?"))
    fill_row(page, 1, "-3")
    if scripts:
        picture(page, "form-with-rows")
        assert faults_in(page, FEW_LOOKS) == []
    act(page.get_by_role("main"), "start").click()
    expect(page.get_by_role("alert")).to_contain_text("Receipts 2: Amount")
    page.locator("[data-line]").nth(1).get_by_role("button").click()
    expect(page.locator("[data-line]")).to_have_count(1)
    act(page.get_by_role("main"), "start").click()
    expect(page).to_have_url(re.compile("/inbox/instances/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("TEX-")


def test_what_is_typed_outlives_the_session(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada", java_script_enabled=False))
    page = inbox.page
    task = errands.run("Wash the windows")
    page.goto(task)
    inbox.claim()
    inbox.fill(Amount="7", Note="two floors")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Done").first.click()
    expect(notice(page, "answer_kept")).to_be_visible()
    Door(page).fill("ada", "demo-ada")
    expect(notice(page, "back_again")).to_be_visible()
    expect(page.get_by_label("Note")).to_have_value("two floors")
    inbox.answer("Done")
    expect(toast(page, "task.completed").filter(has_text="Wash the windows")).to_be_visible()


@pytest.mark.slow
def test_draft_begun_by_one_is_finished_by_another(signed_in: SignedIn, errands: Errands) -> None:
    ada, adam = Inbox(signed_in("ada")), Inbox(signed_in("adam"))
    task = errands.run("Paint the fence")
    ada.page.goto(task)
    ada.claim()
    ada.page.get_by_label("Note").fill("the left half is done")
    expect(ada.page.locator('[data-draft-words][data-state="saved"]')).to_have_text(re.compile(r"\d\d:\d\d"))
    act(ada.page, "release").click()
    expect(act(ada.page, "claim")).to_be_visible()
    adam.page.goto(task)
    adam.claim()
    expect(adam.page.get_by_label("Note")).to_have_value("the left half is done")
    expect(adam.page.locator("[data-draft-words]")).to_have_attribute("data-by", "ada")
    adam.answer("Done", Amount="9")
    expect(toast(adam.page, "task.completed").filter(has_text="Paint the fence")).to_be_visible()
