"""Work beside the answer in a real browser: drafts, files, comments, many rows at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import Inbox

MOVE = """\
workflow: move
title: Move
starters: {min_level: 2}
steps:
  - id: pack
    task:
      title: Pack the boxes
      users: [ada]
      checklist: [The cups are wrapped]
      attachments: {types: [txt], max_size: 1KB, max: 2}
      form: {type: object, properties: {boxes: {type: number, title: Boxes}}}
  - id: agree
    task:
      title: Agree on the day
      users: [ada, adam]
      outcomes: {yes: {title: Fine}, no: {title: Not that day, reject: true}}
      complete_when: done >= 2
"""
LIST = {"name": "list.txt", "mimeType": "text/plain", "buffer": b"cups, plates"}


@pytest.fixture
def pack(signed_in: SignedIn) -> str:
    """Begin a move, and give the address of its first task."""
    gwen = signed_in("gwen")
    gwen.goto("/inbox/start/")
    if not gwen.get_by_role("link", name="Move", exact=True).count():
        activate(gwen, MOVE)
    return f"/inbox/tasks/{send(gwen, 'instances/', {'template': 'move', 'input': {}})['tasks'][0]['id']}/"


def test_draft_saves_itself_and_is_there_after_a_reload(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Oil the hinges"))
    inbox.claim()
    page.get_by_label("Note").fill("half a sentence")
    expect(page.locator("[data-draft-words]")).to_have_text(re.compile(r"Draft saved \d\d:\d\d"))
    page.reload()
    expect(page.get_by_label("Note")).to_have_value("half a sentence")
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Note")).to_have_value("")


@pytest.mark.slow
def test_draft_is_kept_when_one_leaves_for_a_comment(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Feed the cat"))
    inbox.claim()
    page.get_by_label("Note").fill("two spoons")
    page.get_by_label("Write a comment").fill("It likes fish.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#comments-tab")).to_contain_text("It likes fish.")
    inbox.reload_until(lambda: page.get_by_label("Note").input_value() == "two spoons", "the draft")


def test_whole_task_works_without_javascript(signed_in: SignedIn, pack: str) -> None:
    inbox = Inbox(signed_in("ada", java_script_enabled=False))
    page = inbox.page
    page.goto(pack)
    inbox.claim()
    page.get_by_label("Boxes").fill("12")
    page.get_by_label("Add a file").set_input_files(LIST)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("link", name="list.txt")).to_be_visible()
    expect(page.get_by_label("Boxes")).to_have_value("12")

    page.get_by_role("button", name="Done").first.click()
    expect(inbox.notice).to_contain_text("Not done yet: The cups are wrapped")
    page.get_by_label("The cups are wrapped").check()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_label("The cups are wrapped")).to_be_checked()

    page.get_by_label("More you can do").click()
    page.get_by_role("button", name="Tomorrow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mine")
    page.goto(pack)
    expect(page.locator(".wf-meta").get_by_text("put off until")).to_be_visible()
    page.get_by_role("button", name="Done").first.click()

    inbox.open_task("Agree on the day")
    expect(page.get_by_role("button", name="Claim")).to_have_count(0)
    page.get_by_role("button", name="Fine").first.click()
    expect(page.get_by_text("Agree on the day: Fine.")).to_be_visible()


def test_rows_are_chosen_by_keys_and_claimed_together(signed_in: SignedIn, errands: Errands) -> None:
    for what in ("Sweep the yard", "Sweep the stairs"):
        errands.run(what)
    page = signed_in("ada")
    page.goto("/inbox/?view=available&q=sweep&sort=oldest")
    bar = page.locator("[data-bulk-acts]")
    expect(bar).to_be_hidden()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(bar).to_contain_text("2 selected")
    bar.get_by_role("button", name="Claim").click()
    expect(page.get_by_role("status").filter(has_text="2 claimed.")).to_be_visible()
    page.goto("/inbox/?q=sweep")
    expect(page.locator("[data-row]")).to_have_count(2)


@pytest.mark.slow
def test_filters_stand_in_the_address_and_go_by_a_click(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Count the spoons")
    page = signed_in("ada")
    page.goto("/inbox/?view=available&q=spoons")
    page.locator("summary").filter(has_text="Filter").first.click()
    page.get_by_label("Critical").check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile("priority=critical"))
    expect(page.get_by_role("heading", name="No task fits")).to_be_visible()
    page.get_by_label("Remove the filter Priority Critical").click()
    expect(page.get_by_role("link", name="Count the spoons")).to_be_visible()
