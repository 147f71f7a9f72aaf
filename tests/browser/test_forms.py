"""Forms as people fill them in, in both languages and on a phone: numbers, everything that is wrong at once, long forms."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS
from tests.browser.pages import act, identity_in, notice
from tests.browser.pictures import picture

BUY = """\
workflow: buy
title: Purchase approval
description: For anything you want Acme to buy.
starters: {min_level: 2}
input:
  type: object
  required: [what, cost, delivery]
  properties:
    what:
      type: object
      title: What to buy
      required: [item, supplier]
      properties:
        item: {type: string, title: Item}
        supplier: {type: string, title: Supplier}
    cost:
      type: object
      title: Cost
      required: [each, pieces, centre, line]
      properties:
        each: {type: number, title: Unit price, x-unit: €, description: Without VAT.}
        pieces: {type: integer, title: Pieces, minimum: 1}
        centre: {title: Cost centre, enum: [4410 Field sales, 4420 Service]}
        line: {title: Budget line, enum: [Equipment, Travel]}
    delivery:
      type: object
      title: Delivery
      required: [by]
      properties:
        by: {type: string, format: date, title: Wanted by}
        to: {type: string, title: Deliver to}
    reason:
      type: object
      title: Reason
      required: [why]
      properties:
        why: {type: string, maxLength: 500, title: Why}
        project: {type: string, title: Project}
steps:
  - id: approve
    task:
      title: "Approve ${start.what.item}"
      users: [ada, adam]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      comment: on_reject
      payload: {each: "${start.cost.each}"}
      form:
        type: object
        required: [granted, centre]
        properties:
          each: {type: number, title: Unit price, x-unit: €, readOnly: true}
          granted: {type: number, title: Approved amount, x-unit: €, maximum: 50000}
          centre: {title: Cost centre, enum: [4410 Field sales, 4420 Service]}
          second:
            type: object
            title: Second payment
            required: [amount, day]
            properties:
              amount: {type: number, title: Amount, x-unit: €}
              day: {type: string, format: date, title: Date}
"""
START = "/inbox/start/buy/?new=1"
GIVEN = {
    "what": {"item": "14 laptops", "supplier": "Nordwind"},
    "cost": {"each": 1234.5, "pieces": 14, "centre": "4410 Field sales", "line": "Equipment"},
    "delivery": {"by": "2026-12-04"},
}


@pytest.fixture
def buy(errands: Errands, errand_in_force: set[str]) -> Page:
    """Activate the purchase once; give the page of its author."""
    if "buy" not in errand_in_force:
        activate(errands.page, BUY)
        errand_in_force.add("buy")
    return errands.page


def task_of(author: Page) -> str:
    started = send(author, "instances/", {"template": "buy", "input": GIVEN})
    return f"/inbox/tasks/{started['tasks'][0]['id']}/"


def field(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.locator(f'[name="{name}"]')


@pytest.mark.parametrize(("language", "size"), FACES)
def test_what_is_missing_is_counted_while_one_types(
    signed_in: SignedIn, buy: Page, language: str, size: dict[str, int] | None
) -> None:
    page = signed_in("uri", locale=WORDS[language], **({"viewport": size} if size else {}))
    page.goto(START)
    count = page.locator("[data-missing-words]")
    expect(count).to_have_attribute("data-missing", "7")
    expect(page.locator("[data-section]")).to_have_count(4)
    page.locator("[data-missing-link]").click()
    expect(field(page, "f.what.item")).to_be_focused()
    field(page, "f.what.item").fill("14 laptops")
    field(page, "f.what.supplier").fill("Nordwind")
    expect(page.locator("[data-section]").first).to_have_attribute("data-state", "done")
    field(page, "f.reason.project").fill("Fair")
    expect(count).to_have_attribute("data-missing", "6")
    clearing = act(page, "clear_section")
    clearing.click()
    expect(count).to_have_attribute("data-missing", "5")
    expect(clearing).to_be_hidden()
    picture(page, f"form-long-{language}{'-360' if size else ''}")
    assert faults_in(page, FEW_LOOKS) == []


@pytest.mark.parametrize(("language", "size"), FACES)
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_everything_wrong_is_told_at_once(
    signed_in: SignedIn, buy: Page, language: str, size: dict[str, int] | None, scripts: bool
) -> None:
    page = signed_in("ada", locale=WORDS[language], java_script_enabled=scripts, **({"viewport": size} if size else {}))
    task = task_of(buy)
    page.goto(task)
    act(page.get_by_role("main"), "claim").click()
    field(page, "f.granted").fill("17.283.00")
    field(page, "f.second.day").fill("2026-11-04")
    page.locator('[name="outcome"][value="approve"]').first.click()
    expect(notice(page, "invalid")).to_have_attribute("data-wrong", "3")
    wrong = page.locator("[data-error]").filter(visible=True)
    expect(wrong).to_have_count(3)
    if scripts:
        expect(notice(page, "invalid")).to_be_focused()
        picture(page, f"form-errors-{language}{'-360' if size else ''}")
        assert faults_in(page, FEW_LOOKS) == []
    act(page, "use_instead").click()
    expect(field(page, "f.granted")).to_have_value({"en": "17,283.00", "de": "17.283,00"}[language])
    act(page, "clear_section").click()
    expect(field(page, "f.second.day")).to_have_value("")
    field(page, "f.centre").select_option(index=1)
    page.locator('[name="outcome"][value="approve"]').first.click()
    expect(page).not_to_have_url(re.compile("/complete/"))
    answer = buy.context.request.get(f"/api/v1/tasks/{identity_in(task)}/").json()
    assert answer["values"]["granted"] == 17283


@pytest.mark.parametrize(("language", "size"), FACES)
def test_a_cancelled_task_says_so_where_one_presses(
    signed_in: SignedIn, buy: Page, language: str, size: dict[str, int] | None
) -> None:
    page = signed_in("ada", locale=WORDS[language], **({"viewport": size} if size else {}))
    task = task_of(buy)
    page.goto(task)
    act(page.get_by_role("main"), "claim").click()
    field(page, "f.granted").fill("5")
    instance = page.locator('.wf-meta a[href*="/inbox/instances/"]').get_attribute("href") or ""
    send(buy, f"instances/{identity_in(instance)}/cancel/", {"reason": "Spring"})
    expect(page.locator("[data-stopped]")).to_be_visible()
    expect(page.locator("[data-stopped-words]")).to_contain_text("Gwen")
    expect(page.locator('[name="outcome"][value="approve"]').first).to_be_disabled()
    page.keyboard.press("Control+Enter")
    expect(field(page, "f.granted")).to_have_value("5")
    expect(page).to_have_url(re.compile(task))
    picture(page, f"form-stopped-{language}{'-360' if size else ''}")
