"""Work besides the answer in a real browser: drafts, files, comments, many rows at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import Inbox, act, toast, wait_until

MOVE = """\
workflow: move
title: Removal
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
    if not gwen.get_by_role("link", name="Removal", exact=True).count():
        activate(gwen, MOVE)
    return f"/inbox/tasks/{send(gwen, 'instances/', {'template': 'move', 'input': {}})['tasks'][0]['id']}/"


def test_draft_saves_itself_and_is_there_after_a_reload(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Oil the hinges"))
    inbox.claim()
    page.get_by_label("Note").fill("half a sentence")
    expect(page.locator('[data-draft-words][data-state="saved"]')).to_have_text(re.compile(r"\d\d:\d\d"))
    page.reload()
    expect(page.get_by_label("Note")).to_have_value("half a sentence")
    act(page, "discard_draft").click()
    expect(page.get_by_label("Note")).to_have_value("")


NOTE_WHAT_IS_SENT = """() => {
  const send = window.fetch;
  window.sent = [];
  window.fetch = (address, options) => {
    if (String(address).endsWith('/draft/')) window.sent.push(options.body.get('f.note'));
    return send(address, options);
  };
}"""


def test_later_draft_waits_for_the_one_on_its_way(signed_in: SignedIn, errands: Errands) -> None:
    """Of two at once the older could arrive last."""
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Wind the clock"))
    inbox.claim()
    page.clock.install()
    page.evaluate(NOTE_WHAT_IS_SENT)
    held: list[Route] = []
    page.route("**/draft/", lambda route: held.append(route))
    note = page.get_by_label("Note")
    for words in ("first", "second"):
        note.fill(words)
        note.blur()
        page.clock.run_for(1_000)  # longer than the script waits before it saves
    assert page.evaluate("window.sent") == ["first"]
    wait_until(page, lambda: len(held) == 1, "the first draft")
    held[0].continue_()
    wait_until(page, lambda: len(held) == 2, "the second draft")
    assert [one.request.post_data_json["f.note"] for one in held] == ["first", "second"]
    held[1].continue_()


@pytest.mark.slow
def test_draft_is_kept_when_one_leaves_for_a_comment(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page = inbox.page
    page.goto(errands.run("Feed the cat"))
    inbox.claim()
    page.get_by_label("Note").fill("two spoons")
    page.locator("[data-comment]").fill("It likes fish.")
    act(page, "comment").click()
    expect(page.locator("#comments-tab")).to_contain_text("It likes fish.")
    inbox.reload_until(lambda: page.get_by_label("Note").input_value() == "two spoons", "the draft")


@pytest.mark.slow
def test_whole_task_works_without_javascript(signed_in: SignedIn, pack: str) -> None:
    inbox = Inbox(signed_in("ada", java_script_enabled=False))
    page = inbox.page
    page.goto(pack)
    inbox.claim()
    page.get_by_label("Boxes").fill("12")
    page.locator("#file").set_input_files(LIST)
    act(page, "add_file").click()
    expect(page.get_by_role("link", name="list.txt")).to_be_visible()
    expect(page.get_by_label("Boxes")).to_have_value("12")

    page.get_by_role("button", name="Done").first.click()
    expect(inbox.notice.locator('[data-code="unticked"]')).to_contain_text("The cups are wrapped")
    page.get_by_label("The cups are wrapped").check()
    act(page, "save_draft").click()
    expect(page.get_by_label("The cups are wrapped")).to_be_checked()

    act(page, "more").click()
    page.locator('[data-until="tomorrow"]').click()
    expect(page.locator("[data-list]")).to_have_attribute("data-list", "mine")
    page.goto(pack)
    expect(page.locator("[data-snoozed]")).to_be_visible()
    page.get_by_role("button", name="Done").first.click()

    inbox.open_task("Agree on the day")
    expect(act(page, "claim")).to_have_count(0)
    page.get_by_role("button", name="Fine").first.click()
    expect(toast(page, "task.completed").filter(has_text="Agree on the day").filter(has_text="Fine")).to_be_visible()


def test_rows_are_chosen_by_keys_and_claimed_together(signed_in: SignedIn, errands: Errands) -> None:
    for what in ("Sweep the yard", "Sweep the stairs"):
        errands.run(what)
    page = signed_in("ada")
    page.goto("/inbox/?view=available&q=sweep&sort=oldest")
    bar = page.locator("[data-bulk-acts]")
    expect(bar).to_be_hidden()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(bar.locator("[data-bulk-count]")).to_contain_text("2")
    act(bar, "claim").click()
    expect(toast(page, "tasks.claim")).to_be_visible()
    page.goto("/inbox/?q=sweep")
    expect(page.locator("[data-row]")).to_have_count(2)


@pytest.mark.slow
def test_filters_stand_in_the_address_and_go_by_a_click(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Count the spoons")
    page = signed_in("ada")
    page.goto("/inbox/?view=available&q=spoons")
    act(page, "filter").click()
    page.locator("[name=priority][value=critical]").check()
    act(page, "show_filtered").click()
    expect(page).to_have_url(re.compile("priority=critical"))
    expect(page.locator('[data-empty="filters"]')).to_be_visible()
    act(page, "remove_filter").click()
    expect(page.get_by_role("link", name="Count the spoons")).to_be_visible()
