"""What happens around one task: races, mistakes, keys, and a browser without JavaScript."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands
from tests.browser.pages import Inbox, act, notice, toast


def test_lost_claim_names_the_winner(signed_in: SignedIn, errands: Errands) -> None:
    task = errands.run("Fetch the mail")
    ada, adam = Inbox(signed_in("ada")), Inbox(signed_in("adam"))
    for inbox in (ada, adam):
        inbox.page.goto(task)
    adam.claim()
    expect(adam.page.get_by_label("Amount")).to_be_focused()

    ada.claim()
    told = notice(ada.page, "claimed")
    expect(told).to_have_attribute("data-sent", "nothing")
    expect(told).to_contain_text(re.compile(r"Adam.*\b\d\d:\d\d\b"))
    expect(ada.page.get_by_role("button", name="Done")).to_have_count(0)


def test_field_error_is_told_at_its_field_and_keeps_what_was_typed(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Buy stamps"))
    inbox.claim()
    inbox.answer("Done", Amount="200", Note="two sheets, with care")

    expect(inbox.notice).to_be_focused()
    expect(page.get_by_label("Amount")).to_have_value("200")
    expect(page.get_by_label("Note")).to_have_value("two sheets, with care")
    expect(page.get_by_label("Amount")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Amount")).to_have_accessible_description(re.compile("100"))
    inbox.notice.get_by_role("link", name="Amount").click()
    expect(page.get_by_label("Amount")).to_be_focused()

    inbox.answer("Done", Amount="20")
    expect(toast(page, "task.completed").filter(has_text="Buy stamps")).to_be_visible()


def test_rejecting_asks_for_a_comment_and_tells_it_in_the_history(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    task = errands.run("Carry the piano")
    inbox.page.goto(task)
    inbox.claim()
    inbox.answer("Refuse", Amount="1")
    expect(inbox.notice).to_have_attribute("data-wrong", "1")

    inbox.page.locator("[name=comment]").fill("Too heavy for one.")
    inbox.answer("Refuse")
    inbox.page.goto(task)
    expect(notice(inbox.page, "over.completed")).to_be_visible()
    expect(inbox.page.get_by_text("Too heavy for one.").first).to_be_visible()


def test_everything_is_done_without_javascript(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada", java_script_enabled=False))
    page = inbox.page
    inbox.start("Errand", **{"What to do": "Water the plants"})
    act(page, "open_task").click()
    inbox.claim()
    inbox.answer("Done", Amount="500")
    expect(inbox.notice).to_contain_text("Amount")
    inbox.answer("Done", Amount="5")
    expect(toast(page, "task.completed").filter(has_text="Water the plants")).to_be_visible()

    page.goto(errands.run("Call the plumber"))
    inbox.claim()
    act(page, "release").click()
    expect(toast(page, "task.released")).to_be_visible()


def test_task_is_found_claimed_and_answered_by_keys_alone(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Sharpen the pencils")
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    inbox.open("available")
    page.keyboard.press("/")
    expect(page.locator("[data-search]")).to_be_focused()
    page.keyboard.type("pencils")
    page.keyboard.press("Enter")
    row = page.get_by_role("link", name="Sharpen the pencils")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("[data-search]")).not_to_be_focused()
    page.keyboard.press("j")
    expect(row).to_be_focused()
    page.keyboard.press("c")
    expect(page.get_by_label("Amount")).to_be_focused()
    page.keyboard.type("3")
    page.keyboard.press("Control+Enter")
    expect(toast(page, "task.completed").filter(has_text="Sharpen the pencils")).to_be_visible()


def test_shortcuts_are_listed_and_the_list_closes_by_escape(signed_in: SignedIn) -> None:
    page = signed_in("uri")
    page.goto("/inbox/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
