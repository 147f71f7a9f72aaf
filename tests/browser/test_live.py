"""Pages that stay true while they are open, and a day's work without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, send
from tests.browser.pages import STREAM, act, deafen, identity_in, notice, toast

HEARD = 30_000
"""Milliseconds until a page must have heard of something, on a machine that is busy with other tests."""


def claim(page: Page, task: str) -> None:
    send(page, f"tasks/{identity_in(task)}/claim/", {})


def test_an_open_list_and_an_open_task_hear_what_others_do(signed_in: SignedIn, errands: Errands) -> None:
    taken = errands.run("Feed the zebra")
    ada, adam = signed_in("ada"), signed_in("adam")
    ada.goto("/inbox/?view=available&q=zebra")
    rows, pill = ada.locator("[data-row]"), ada.locator("[data-live-pill]")
    expect(rows).to_have_count(1)
    expect(pill).to_be_hidden()
    top = rows.first.bounding_box()

    offered = errands.run("Brush the zebra")
    expect(pill).to_contain_text("1", timeout=HEARD)
    expect(ada.locator("[data-live-said]")).to_contain_text("1")
    expect(rows).to_have_count(1)
    claim(adam, taken)
    expect(rows.first).to_have_attribute("data-gone", "claimed", timeout=HEARD)
    expect(rows.first).to_contain_text("Adam")
    expect(rows.first.locator("[data-choose]")).to_be_disabled()
    assert rows.first.bounding_box() == top

    pill.click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("Brush the zebra")
    ada.goto(offered)
    expect(ada.locator("[data-live-task]")).to_be_empty()
    claim(adam, offered)
    expect(notice(ada, "taken")).to_contain_text("Adam", timeout=HEARD)


def test_a_phone_tells_the_news_of_a_task_from_each_of_its_parts(signed_in: SignedIn, errands: Errands) -> None:
    task = errands.run("Shear the sheep")
    page = signed_in("ada", viewport={"width": 360, "height": 740})
    page.goto(task)
    history, comment = (
        page.locator('[data-shows="history"], [data-tab="history-tab"]').filter(visible=True),
        page.locator("[data-comment]"),
    )
    history.click()
    expect(comment).to_be_hidden()
    claim(signed_in("adam"), task)
    expect(notice(page, "taken")).to_be_visible(timeout=HEARD)
    expect(history).to_have_attribute("aria-selected", "true")
    page.keyboard.press("m")
    expect(comment).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("w")
    expect(page.locator('[data-reason][data-code="offered"]')).to_be_visible()


@pytest.mark.slow
def test_a_task_is_found_claimed_and_answered_by_keys_alone(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Tune the harpsichord")
    page = signed_in("ada")
    page.goto("/inbox/")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.locator("[data-list]")).to_have_attribute("data-list", "available")
    page.keyboard.press("/")
    page.keyboard.type("harpsichord")
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press("Escape")
    page.locator("#search").blur()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Tune the harpsichord")).to_be_focused()
    page.keyboard.press("c")
    expect(page.get_by_label("Amount")).to_be_focused()
    expect(toast(page, "task.claimed")).to_be_visible()
    page.keyboard.type("7")
    page.keyboard.press("Control+Enter")
    expect(toast(page, "task.completed").filter(has_text="Tune the harpsichord")).to_be_visible()


@pytest.mark.slow
def test_the_cheat_sheet_lists_what_works_here_and_keys_can_be_switched_off(
    signed_in: SignedIn, errands: Errands
) -> None:
    task = errands.run("Wind the clock")
    page = signed_in("ada")
    page.goto(task)
    dialog = page.get_by_role("dialog")
    page.keyboard.press("?")
    expect(dialog.locator('[data-needs="[data-comment]"]')).to_be_visible()
    expect(dialog.locator('[data-needs="[data-row]"]').first).to_be_hidden()
    with page.expect_response("**/keys/"):
        dialog.locator("[data-shortcuts-on]").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.reload()
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()
    page.locator("[data-shortcuts-open]").click()
    with page.expect_response("**/keys/"):
        dialog.locator("[data-shortcuts-on]").check()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(page.locator("[data-why]")).to_have_attribute("open", "")


@pytest.mark.slow
def test_what_was_claimed_or_released_is_undone_from_its_toast(signed_in: SignedIn, errands: Errands) -> None:
    page = signed_in("ada")
    page.goto(errands.run("Polish the brass"))
    act(page.get_by_role("main"), "claim").click()
    act(page, "undo").click()
    expect(toast(page, "task.released")).to_be_visible()
    act(page, "undo").click()
    expect(page.get_by_label("Amount")).to_be_focused()


@pytest.mark.slow
def test_what_others_did_before_a_page_listened_is_told_too(signed_in: SignedIn, errands: Errands) -> None:
    task = errands.run("Comb the alpaca")
    page, held = signed_in("ada"), list[Route]()
    page.route(STREAM, lambda stream: held.append(stream))
    page.goto(task)
    claim(signed_in("adam"), task)
    expect(page.locator("[data-live-task]")).to_be_empty()
    assert held
    for stream in held:
        stream.continue_()
    expect(notice(page, "taken")).to_contain_text("Adam", timeout=HEARD)


@pytest.mark.slow
def test_a_lost_stream_is_said_and_comes_back(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Sweep the yard")
    page = signed_in("ada")
    deafen(page)
    page.goto("/inbox/?view=available")
    expect(page.locator("[data-live-lost]")).to_be_hidden()
    expect(page.locator("[data-live-lost]")).to_be_visible(timeout=HEARD)
    expect(page.locator("[data-live-lost]")).not_to_be_empty()
    page.unroute(STREAM)
    expect(page.locator("[data-live-lost]")).to_be_hidden(timeout=HEARD)
