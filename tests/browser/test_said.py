"""Comments and files of a task are added without leaving its page; those of others come by themselves and take nothing away."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS
from tests.browser.pages import act, notice, toast
from tests.browser.watching import Watch

PAPERS = """\
workflow: papers
title: Papers
starters: {min_level: 2}
steps:
  - id: collect
    title: Collect the papers
    task:
      title: Collect the papers
      users: [ada]
      attachments: {types: [pdf, txt]}
      form: {type: object, properties: {note: {type: string, title: Note}}}
"""
STAYS = "window.stays = true"


def opened(
    signed_in: SignedIn, name: str, address: str, language: str = "en", size: dict[str, int] | None = None
) -> Page:
    """Open a page that notices when it is loaded anew."""
    page = signed_in(name, locale=WORDS[language], **({"viewport": size} if size else {}))
    page.goto(address)
    if name == "ada" and act(page, "claim").filter(visible=True).count():
        act(page, "claim").filter(visible=True).first.click()
        expect(act(page, "claim")).to_have_count(0)
    page.evaluate(STAYS)
    return page


def say(page: Page, words: str) -> None:
    page.locator("#said").fill(words)
    act(page, "comment").click()


def forget(watch: Watch, place: str) -> None:
    """Take no offence at what was refused on purpose."""
    watch.complaints[:] = [words for words in watch.complaints if place not in words]


@pytest.mark.parametrize(("language", "size"), FACES)
def test_comment_stays_on_the_page_with_what_is_typed(
    signed_in: SignedIn, errands: Errands, watch: Watch, language: str, size: dict[str, int] | None
) -> None:
    address = errands.run(f"Talk about it {language}{size}")
    page = opened(signed_in, "ada", address, language, size)
    page.locator('[name="f.note"]').fill("half a thought")
    if size:
        page.locator('[data-shows="comments"]').click()
    page.locator("#said").focus()
    page.locator("#said").fill("First of all")
    act(page, "comment").focus()
    page.keyboard.press("Enter")
    expect(toast(page, "task.commented")).to_be_visible()
    expect(page.locator('[data-comment-by="ada"]')).to_have_count(1)
    expect(page.locator("#said")).to_have_value("")
    expect(act(page, "comment")).to_be_focused()
    expect(page.locator("#said-count")).to_have_text("1")
    expect(page.locator('#said-history [data-code="commented"]')).to_have_count(1)
    assert faults_in(page, FEW_LOOKS) == []
    say(page, " ")
    expect(notice(page, "invalid")).to_be_visible()
    forget(watch, "/comment/")
    assert page.evaluate("window.stays")
    expect(page.locator('[name="f.note"]')).to_have_value("half a thought")


def test_comment_of_another_comes_and_takes_nothing(signed_in: SignedIn, errands: Errands) -> None:
    address = errands.run("Hear of it")
    page = opened(signed_in, "ada", address)
    page.locator('[name="f.note"]').fill("half a thought")
    page.locator("#said").fill("half a comment")
    other = opened(signed_in, "adam", address)
    say(other, "I have seen it")
    expect(page.locator('[data-comment-by="adam"]')).to_have_count(1)
    expect(page.locator("#said")).to_have_value("half a comment")
    expect(page.locator("#said")).to_be_focused()
    expect(page.locator('[name="f.note"]')).to_have_value("half a thought")
    assert page.evaluate("window.stays")


def test_file_is_added_and_removed_on_the_page(
    signed_in: SignedIn, errands: Errands, errand_in_force: set[str], watch: Watch
) -> None:
    if "papers" not in errand_in_force:
        activate(errands.page, PAPERS)
        errand_in_force.add("papers")
    task = send(errands.page, "instances/", {"template": "papers", "input": {}})["tasks"][0]["id"]
    page = opened(signed_in, "ada", f"/inbox/tasks/{task}/")
    page.locator('[name="f.note"]').fill("half a thought")
    page.locator("#file").set_input_files({"name": "offer.txt", "mimeType": "text/plain", "buffer": b"three laptops"})
    expect(page.locator('[data-file="offer.txt"]')).to_have_count(1)
    page.locator("#file").set_input_files({"name": "bad.exe", "mimeType": "text/plain", "buffer": b"MZ"})
    expect(page.locator("[data-refusals] [data-notice]")).to_have_count(1)
    forget(watch, "/files/")
    expect(page.locator('[data-file="offer.txt"]')).to_have_count(1)
    act(page, "remove_file").click()
    expect(page.locator("[data-file]")).to_have_count(0)
    expect(page.locator("#file")).to_be_focused()
    expect(page.locator('[name="f.note"]')).to_have_value("half a thought")
    assert page.evaluate("window.stays")


def test_without_scripts_a_comment_is_a_plain_form(signed_in: SignedIn, errands: Errands) -> None:
    page = signed_in("ada", java_script_enabled=False)
    page.goto(errands.run("Talk plainly"))
    say(page, "In plain words")
    expect(toast(page, "task.commented")).to_be_visible()
    expect(page.locator('[data-comment-by="ada"]')).to_have_count(1)
