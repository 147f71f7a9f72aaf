"""A request from its first file to its print: files dropped and pasted, the draft that waits, paper and receipt."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS
from tests.browser.pages import act
from tests.browser.pictures import picture
from tests.browser.watching import Watch

BID = """\
workflow: bid
title: Bid
starters: {min_level: 2}
input:
  type: object
  required: [what, offers]
  properties:
    what: {type: string, title: What}
    sum: {type: number, title: Sum, x-unit: €, maximum: 5000}
    offers: {type: array, title: Offers, minItems: 1, items: {type: string, format: file}}
steps:
  - id: look
    title: Look at it
    task: {title: "Look at ${start.what}", users: [ada], outcomes: {good: {title: Good}}, payload: {offers: "${start.offers}"}}
"""
PDF = {"name": "offer.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 hello"}
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)
PASTE = """field => {
  const held = new DataTransfer();
  held.items.add(new File([new Uint8Array(%s)], "picture.png", {type: "image/png"}));
  field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: held, bubbles: true}));
}"""
DROP = """zone => {
  const held = new DataTransfer();
  held.items.add(new File(["MZ"], "offer.exe"));
  zone.dispatchEvent(new DragEvent("drop", {dataTransfer: held, bubbles: true, cancelable: true}));
}"""
START = "/inbox/start/bid/?new=1"


@pytest.fixture
def bid(errands: Errands, errand_in_force: set[str]) -> Page:
    """Activate the request once; give the page of its author."""
    if "bid" not in errand_in_force:
        activate(errands.page, BID)
        errand_in_force.add("bid")
    return errands.page


@pytest.mark.parametrize(("language", "size"), FACES)
def test_files_and_draft_of_a_request(
    signed_in: SignedIn, bid: Page, watch: Watch, language: str, size: dict[str, int] | None
) -> None:
    page = signed_in("uri", locale=WORDS[language], **({"viewport": size} if size else {}))
    page.goto(START)
    page.locator('[name="f.what"]').fill("Desk")
    page.locator('input[type=file][name="f.offers"]').set_input_files([PDF])
    kept = page.locator("[data-kept-file][data-file]")
    expect(kept).to_have_count(1)
    page.locator("[data-drop]").evaluate(PASTE % json.dumps(list(PNG)))
    expect(kept).to_have_count(2)
    expect(page.locator("[data-file='picture.png'] img")).to_have_js_property("naturalWidth", 1)
    page.locator("[data-drop-zone]").evaluate(DROP)
    expect(page.locator("[data-refused]")).to_contain_text("offer.exe")
    watch.complaints[:] = [words for words in watch.complaints if "/start/bid/files/" not in words]
    page.locator("[data-refused] [data-drop-remove]").click()
    picture(page, f"form-files-{language}{'-360' if size else ''}")
    assert faults_in(page, FEW_LOOKS) == []
    page.locator('[name="f.what"]').focus()
    expect(page.locator('[data-draft-words][data-state="saved"]')).to_be_visible()
    page.goto("/inbox/start/bid/")
    expect(page.locator('[data-part="draft"]').first).to_contain_text("Desk")
    assert faults_in(page, FEW_LOOKS) == []
    act(page, "continue_draft").first.click()
    expect(kept).to_have_count(2)
    page.locator('[name="f.sum"]').fill("9000")
    act(page.get_by_role("main"), "start").click()
    expect(page.locator('[data-error][data-code="maximum"]')).to_be_visible()
    expect(kept).to_have_count(2)
    page.locator('[name="f.sum"]').fill("4000")
    act(page.get_by_role("main"), "start").click()
    expect(page).to_have_url(re.compile("/inbox/instances/"))
    expect(page.locator('[data-part="case_files"] [data-file]')).to_have_count(2)


def test_a_request_with_a_file_without_scripts(signed_in: SignedIn, bid: Page) -> None:
    page = signed_in("uri", java_script_enabled=False)
    page.goto(START)
    page.locator('[name="f.what"]').fill("Chair")
    page.locator('input[type=file][name="f.offers"]').set_input_files([PDF])
    act(page.get_by_role("main"), "save_draft").click()
    expect(page.locator("[data-file='offer.pdf']")).to_be_visible()
    act(page.get_by_role("main"), "start").click()
    expect(page.locator('[data-part="case_files"] [data-file]')).to_have_count(1)


@pytest.mark.parametrize(("language", "size"), FACES)
def test_a_case_on_paper(signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None) -> None:
    started = send(errands.page, "instances/", {"template": "errand", "input": {"what": "Buy stamps"}})
    answer = {"outcome": "done", "values": {"amount": 12.5}, "comment": "Fifty of them"}
    page = signed_in("ada", locale=WORDS[language], **({"viewport": size} if size else {}))
    page.goto("/inbox/")
    send(page, f"tasks/{started['tasks'][0]['id']}/complete/", answer)
    page.goto(f"/inbox/instances/{started['id']}/")
    act(page, "print_case").click()
    expect(page.locator("[data-decision]")).to_have_count(1)
    expect(page.locator("[data-decision]")).to_contain_text("Fifty of them")
    expect(page.locator("[data-decision]")).to_contain_text({"en": "12.5", "de": "12,5"}[language])
    expect(act(page, "print")).to_be_visible()
    picture(page, f"case-print-{language}{'-360' if size else ''}")
    assert faults_in(page, FEW_LOOKS) == []
    page.emulate_media(media="print")
    expect(act(page, "print")).to_be_hidden()
    with page.expect_download() as saved:
        page.emulate_media(media="screen")
        act(page, "receipt").click()
    assert saved.value.suggested_filename.endswith(".receipt.json")
