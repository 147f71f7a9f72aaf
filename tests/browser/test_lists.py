"""Lists in a real browser: many rows at once, filters kept on the server, small and dark screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import deafen, identity_in
from tests.browser.pictures import picture

PHONE = {"width": 360, "height": 740}
SAVED = "Saved filters"


def head_of(page: Page) -> Locator:
    return page.locator("[data-bulk]")


def select(page: Page, *titles: str) -> None:
    for title in titles:
        page.get_by_role("checkbox", name=f"Select {title}").check()


def test_rows_claimed_together_say_of_each_what_became_of_it(signed_in: SignedIn, errands: Errands) -> None:
    titles = ("Water the plants", "Feed the fish", "Walk the dog")
    addresses = [errands.run(title) for title in titles]
    ada, adam = signed_in("ada"), signed_in("adam")
    deafen(ada)  # live, the row that Adam takes would lose its tick
    ada.goto("/inbox/?view=available&template=errand")
    expect(head_of(ada)).to_contain_text("Offered to")
    select(ada, *titles)
    expect(head_of(ada)).to_contain_text("3 selected")
    send(adam, f"tasks/{identity_in(addresses[1])}/claim/", {})
    head_of(ada).get_by_role("button", name="Claim").click()
    expect(ada.get_by_role("heading", level=1)).to_have_text("2 claimed, 1 not")
    results = ada.get_by_role("main").get_by_role("listitem")
    expect(results).to_have_text([re.compile("Done"), re.compile("Adam claimed this task"), re.compile("Done")])
    picture(ada, "bulk_result")
    ada.get_by_role("link", name="Back to the list").click()
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
    expect(head_of(ada)).to_contain_text("rows of one step")
    ada.get_by_role("checkbox", name="Select Dust the piano").uncheck()
    expect(head_of(ada)).to_contain_text("Same step: Chore")
    ada.locator("#results").press("e")
    expect(ada.get_by_role("heading", level=1)).to_have_text("Complete 2 tasks together")
    picture(ada, "together")
    assert faults_in(ada, FEW_LOOKS) == []
    ada.get_by_role("button", name="Refuse (2)").first.click()
    expect(ada.get_by_text("Write a comment: Refuse needs one.")).to_be_visible()
    expect(ada.get_by_label("Comment")).to_be_focused()
    ada.keyboard.type("Clean already.")
    ada.get_by_role("button", name="Done (2)").click()
    expect(ada.get_by_role("status").filter(has_text="2 answered.")).to_be_visible()
    expect(ada.locator("[data-row]")).to_have_count(1)


def test_a_saved_filter_is_found_in_another_browser_and_can_be_called_back(signed_in: SignedIn) -> None:
    here = signed_in("ada")
    here.goto("/inbox/?view=team")
    here.get_by_text("Filter", exact=True).click()
    here.get_by_label("Workflow", exact=True).select_option("purchase-approval")
    here.get_by_role("checkbox", name="Finance").check()
    here.get_by_role("button", name="Show").click()
    expect(here).to_have_url(re.compile(r"\?view=team&template=purchase-approval&role=finance$"))
    here.get_by_text("Filter", exact=True).click()
    here.get_by_label("At least").fill("7000")
    here.get_by_role("button", name="Show").click()
    expect(here.locator(".wf-chip--on")).to_have_count(3)
    here.locator("summary", has_text="Save filter").click()
    here.get_by_label("Name", exact=True).fill("Over €7,000")
    here.get_by_role("button", name="Save filter").click()
    expect(here.get_by_role("heading", level=1)).to_have_text("Over €7,000")
    rows = here.locator("[data-row]").count()
    assert rows
    there = signed_in("ada")
    there.goto("/inbox/start/")
    there.get_by_role("list", name=SAVED).get_by_role("link", name="Over €7,000").click()
    expect(there.locator("[data-row]")).to_have_count(rows)
    picture(there, "filter")
    there.get_by_role("button", name="Delete filter").click()
    expect(there.get_by_role("list", name=SAVED)).to_have_count(0)
    there.get_by_role("button", name="Undo").click()
    expect(there.get_by_role("list", name=SAVED).get_by_role("link", name="Over €7,000")).to_be_visible()
    there.get_by_role("button", name="Delete filter").click()
    expect(there.get_by_role("list", name=SAVED)).to_have_count(0)


def test_a_phone_has_one_column_filters_in_a_sheet_and_one_primary_act(signed_in: SignedIn) -> None:
    page = signed_in("ada", viewport=PHONE)
    page.goto("/inbox/?view=available")
    next_task = page.get_by_role("button", name="Take the next task").filter(visible=True)
    expect(next_task).to_have_count(1)
    box = next_task.bounding_box()
    assert box
    assert box["width"] > 300
    assert box["height"] >= 44
    page.locator(".wf-filters > summary").click()
    page.get_by_label("Due", exact=True).select_option("month")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".wf-chip--on")).to_have_text(["Due by end of month"], use_inner_text=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_typing_searches_and_leaves_an_address_that_says_only_that(signed_in: SignedIn, scheme: str) -> None:
    page = signed_in("ada", color_scheme=scheme)
    page.goto("/inbox/?view=available")
    page.keyboard.press("/")
    page.keyboard.type("lisbon")
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/inbox/\?view=available&q=lisbon$"))
