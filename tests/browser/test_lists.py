"""Lists in a real browser: many rows at once, filters kept on the server, small and dark screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in, faults_of
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, options_of
from tests.browser.pages import act, box_of, deafen, identity_in, toast
from tests.browser.pictures import picture

PHONE = {"width": 360, "height": 740}


def head_of(page: Page) -> Locator:
    return page.locator("[data-bulk]")


def select(page: Page, *titles: str) -> None:
    for title in titles:
        box_of(page, title).check()


def test_rows_claimed_together_say_of_each_what_became_of_it(signed_in: SignedIn, errands: Errands) -> None:
    titles = ("Water the plants", "Feed the fish", "Walk the dog")
    addresses = [errands.run(title) for title in titles]
    ada, adam = signed_in("ada"), signed_in("adam")
    deafen(ada)  # live, the row that Adam takes would lose its tick
    ada.goto("/inbox/?view=available&template=errand")
    expect(ada.locator("[data-bulk-names]")).to_be_visible()
    select(ada, *titles)
    expect(head_of(ada).locator("[data-bulk-count]")).to_contain_text("3")
    send(adam, f"tasks/{identity_in(addresses[1])}/claim/", {})
    act(head_of(ada), "claim").click()
    expect(ada.locator("[data-done]")).to_have_attribute("data-done", "2")
    results = ada.locator("[data-result]")
    assert [one.get_attribute("data-code") for one in results.all()] == ["claimed", "done", "done"]
    expect(results.nth(0)).to_contain_text("Adam")
    picture(ada, "bulk_result")
    ada.locator("[data-back]").click()
    expect(ada).to_have_url(re.compile("view=available&template=errand"))


CHORE = """\
workflow: chore
title: Chore
starters: {min_level: 2}
input: {type: object, required: [what], properties: {what: {type: string}}}
steps:
  - id: do
    task:
      title: "${start.what}"
      users: [ada, adam]
      outcomes: {done: {title: Done}, refused: {title: Refuse, reject: true}}
      comment: on_reject
"""


def test_rows_of_one_step_are_completed_together_by_keys(signed_in: SignedIn, errands: Errands) -> None:
    activate(errands.page, CHORE)
    for what in ("Dust the shelf", "Dust the lamp"):
        send(errands.page, "instances/", {"template": "chore", "input": {"what": what}})
    errands.run("Dust the piano")
    ada = signed_in("ada")
    ada.goto("/inbox/?view=available&q=dust")
    ada.locator("[data-choose-all]").check()
    expect(ada.locator("[data-together]")).to_be_disabled()
    expect(head_of(ada).locator("[data-bulk-why]")).not_to_be_empty()
    box_of(ada, "Dust the piano").uncheck()
    expect(head_of(ada).locator("[data-bulk-why]")).to_contain_text("Chore")
    ada.locator("#results").press("e")
    expect(ada.locator("[data-ready]")).to_have_attribute("data-ready", "2")
    picture(ada, "together")
    assert faults_in(ada, FEW_LOOKS) == []
    ada.get_by_role("button", name="Refuse (2)").first.click()
    expect(ada.locator('[data-error][data-code="comment_required"]')).to_be_visible()
    expect(ada.locator("[name=comment]")).to_be_focused()
    ada.keyboard.type("Clean already.")
    ada.get_by_role("button", name="Done (2)").click()
    expect(toast(ada, "tasks.complete")).to_be_visible()
    expect(ada.locator("[data-row]")).to_have_count(1)


SHEETS = CHORE.replace("workflow: chore", "workflow: sheets").replace("title: Chore", "title: Sheets")
SHEETS = SHEETS.replace(
    "input: {type: object, required: [what], properties: {what: {type: string}}}",
    "input: {type: object, properties: {what: {type: string}, price: {type: number}}}",
).replace("comment: on_reject", "columns: {price: \"${money(start.price, 'EUR')}\"}")
PAGE = 24


@pytest.mark.parametrize(("language", "size"), FACES)
def test_a_selection_grows_over_pages_to_all_that_match_and_is_confirmed(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    word = f"Fold{language}{'phone' if size else 'desk'}"
    activate(errands.page, SHEETS)
    for number in range(PAGE + 2):
        body = {"template": "sheets", "input": {"what": f"{word} {number}", "price": 1000.5}}
        send(errands.page, "instances/", body)
    ada = signed_in("ada", **options_of(language, size))
    deafen(ada)
    ada.goto(f"/inbox/?view=available&sort=oldest&q={word}")
    head, line = head_of(ada), ada.locator("[data-bulk-line]")
    box_of(ada, f"{word} 3").first.check()
    act(ada, "next_page").click()
    expect(ada.locator("[data-row]")).to_have_count(2)
    expect(head.locator("[data-bulk-count]")).to_contain_text("1")
    for box in ada.locator("[data-choose]").all():
        box.check()
    expect(head.locator("[data-bulk-count]")).to_contain_text("3")
    expect(head.locator("[data-bulk-sum]")).to_contain_text({"en": "€3,001.50", "de": "3.001,50"}[language])
    act(ada, "previous_page").click()
    expect(ada.locator("[data-choose]:checked")).to_have_count(1)
    expect(head.locator("[data-bulk-count]")).to_contain_text("3")
    ada.keyboard.press("Control+a")
    expect(ada.locator("[data-choose]:checked")).to_have_count(PAGE)
    expect(line.locator('[data-line="page"]')).to_be_visible()
    ada.keyboard.press("Control+a")
    expect(line.locator('[data-line="every"]')).to_be_visible()
    expect(line).to_contain_text("2")
    expect(head.locator("[data-bulk-count]")).to_contain_text(str(PAGE + 2))
    picture(ada, f"bulk-all-{language}{'-360' if size else ''}")
    ada.evaluate("window.scrollTo(0, document.body.scrollHeight)")  # a phone's bar covers no row there
    assert faults_of(ada) == []
    act(ada, "choose_page").click()
    expect(head.locator("[data-bulk-count]")).to_contain_text(str(PAGE))
    act(ada, "choose_matching").click()
    expect(head.locator("[data-bulk-count]")).to_contain_text(str(PAGE + 2))
    act(head, "claim").click()
    expect(ada.locator("[data-confirm]")).to_have_attribute("data-total", str(PAGE + 2))
    expect(ada.locator("[data-sum]")).to_contain_text({"en": "€26,013.00", "de": "26.013,00"}[language])
    picture(ada, f"bulk-confirm-{language}{'-360' if size else ''}")
    assert faults_in(ada, FEW_LOOKS) == []
    act(ada.get_by_role("main"), "claim").click()
    expect(toast(ada, "tasks.claim")).to_be_visible()
    expect(ada.locator("[data-row]")).to_have_count(0)


def test_a_saved_filter_is_found_in_another_browser_and_can_be_called_back(signed_in: SignedIn) -> None:
    here = signed_in("ada")
    here.goto("/inbox/?view=team")
    act(here, "filter").click()
    here.locator("[name=template]").select_option("purchase-approval")
    here.locator("[name=role][value=finance]").check()
    act(here, "show_filtered").click()
    expect(here).to_have_url(re.compile(r"\?view=team&template=purchase-approval&role=finance$"))
    act(here, "filter").click()
    here.locator("[name$='.min']").fill("7000")
    act(here, "show_filtered").click()
    expect(here.locator(".wf-chip--on")).to_have_count(3)
    act(here, "save_filter_menu").click()
    here.locator("#filter-name").fill("Over €7,000")
    act(here, "save_filter").click()
    expect(here.get_by_role("heading", level=1)).to_have_text("Over €7,000")
    rows = here.locator("[data-row]").count()
    assert rows
    there = signed_in("ada")
    there.goto("/inbox/start/")
    there.locator('[aria-labelledby="saved-filters"]').get_by_role("link", name="Over €7,000").click()
    expect(there.locator("[data-row]")).to_have_count(rows)
    picture(there, "filter")
    act(there, "delete_filter").click()
    expect(there.locator('[aria-labelledby="saved-filters"]')).to_have_count(0)
    act(there, "undo").click()
    expect(there.locator('[aria-labelledby="saved-filters"]').get_by_role("link", name="Over €7,000")).to_be_visible()
    act(there, "delete_filter").click()
    expect(there.locator('[aria-labelledby="saved-filters"]')).to_have_count(0)


def test_a_phone_has_one_column_filters_in_a_sheet_and_one_primary_act(signed_in: SignedIn) -> None:
    page = signed_in("ada", viewport=PHONE)
    page.goto("/inbox/?view=available")
    next_task = act(page, "next").filter(visible=True)
    expect(next_task).to_have_count(1)
    box = next_task.bounding_box()
    assert box
    assert box["width"] > 300
    assert box["height"] >= 44
    page.locator(".wf-filters > summary").click()
    page.locator("#due").select_option("month")
    act(page, "show_filtered").click()
    expect(page.locator(".wf-chip--on")).to_have_count(1)
    expect(page).to_have_url(re.compile("due=month"))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_typing_searches_and_leaves_an_address_that_says_only_that(signed_in: SignedIn, scheme: str) -> None:
    page = signed_in("ada", color_scheme=scheme)
    page.goto("/inbox/?view=available")
    page.keyboard.press("/")
    page.keyboard.type("lisbon")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/inbox/\?view=available&q=lisbon$"))
