"""Keys never act behind what is open, and numbers are typed in the reader's language, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, options_of
from tests.browser.pages import act

on_faces = pytest.mark.parametrize(("language", "size"), FACES)
SECTIONS = """\
workflow: two-payments
title: Two payments
starters: {min_level: 2}
steps:
  - id: pay
    task:
      title: Pay in two parts
      users: [ada, adam]
      form:
        type: object
        properties:
          note: {type: string, title: Note}
          second:
            type: object
            title: Second payment
            required: [amount]
            properties: {amount: {type: number, title: Amount, x-unit: €}}
"""


@on_faces
def test_typing_a_filters_name_acts_on_no_row(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    errands.run("Count the chairs")
    ada = signed_in("ada", **options_of(language, size))
    ada.goto("/inbox/?view=available&q=chairs")
    row = ada.locator("[data-row]").first
    row.locator("[data-row-link]").focus()
    ada.locator(".wf-tools__save > summary").click()
    expect(ada.locator("#filter-name")).to_be_focused()
    ada.keyboard.type("crex")
    expect(ada.locator("#filter-name")).to_have_value("crex")
    ada.locator("#filter-name").blur()
    ada.keyboard.press("c")
    expect(ada).to_have_url("/inbox/?view=available&q=chairs")
    ada.keyboard.press("Escape")
    expect(ada.locator("details[data-menu][open]")).to_have_count(0)
    ada.keyboard.press("/")
    expect(ada.locator("[data-search]")).to_be_focused()
    ada.keyboard.press("Escape")
    expect(ada.locator("[data-search]")).not_to_be_focused()


@pytest.fixture
def payment(signed_in: SignedIn, errands: Errands) -> Page:
    """Give Ada a task of her own whose second section may be left out, but asks for an amount once begun."""
    activate(errands.page, SECTIONS)
    started = send(errands.page, "instances/", {"template": "two-payments", "input": {}})
    page = signed_in("ada")
    page.goto(f"/inbox/tasks/{started['tasks'][0]['id']}/")
    page.locator("[data-claim]").first.click()
    expect(page.locator("[data-first-outcome]").first).to_be_visible()
    return page


def test_ctrl_enter_leads_to_an_empty_section_before_it_goes_without(payment: Page) -> None:
    address = payment.url
    expect(payment.locator("[data-optional-section] .wf-optional").first).to_be_visible()
    payment.keyboard.press("Control+Enter")
    expect(payment.locator("[data-optional-section] [data-needed]")).to_be_focused()
    expect(payment).to_have_url(address)
    payment.keyboard.press("Control+Enter")
    expect(payment).not_to_have_url(address)


def test_a_german_amount_is_taken_as_it_is_written(payment: Page) -> None:
    payment.context.add_cookies([{"name": "django_language", "value": "de", "url": payment.url}])
    payment.reload()
    amount = payment.locator("[data-optional-section] [data-needed]")
    amount.fill("12.50")
    payment.locator("[data-first-outcome]").first.click()
    expect(payment.locator("[data-optional-section] [aria-invalid=true]")).to_be_visible()
    payment.locator("[data-optional-section] [data-needed]").fill("1.234,50")
    task = payment.url.split("/tasks/")[1].split("/")[0]
    payment.locator("[data-first-outcome]").first.click()
    answer = payment.request.get(f"/api/v1/tasks/{task}/").json()
    assert answer["values"]["second"] == {"amount": 1234.5}


HAND_OVER = {"h": "#person", "a": "#person", "d": "#delegate", "i": "#ask-question", "z": "[data-snooze] button"}


@on_faces
def test_every_way_to_hand_over_has_its_key(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    address = errands.run("Feed the parrot")
    ada = signed_in("ada", **options_of(language, size))
    ada.goto(address)
    act(ada.get_by_role("main"), "claim").filter(visible=True).first.click()
    expect(ada.locator("[data-first-outcome]").first).to_be_visible()
    for key, field in HAND_OVER.items():
        ada.locator("h1").focus()
        ada.keyboard.press(key)
        expect(ada.locator(field).first).to_be_focused()
        expect(ada.locator("details[data-menu][open]")).to_have_count(1)
        ada.keyboard.press("Escape")
        ada.keyboard.press("Escape")
        expect(ada.locator("details[data-menu][open]")).to_have_count(0)
    ada.keyboard.press("?")
    for mark in ("[data-hand-over]", "#delegate", "#ask-question"):
        expect(ada.locator(f"dialog [data-needs='{mark}']")).to_be_visible()
    ada.keyboard.press("Escape")


def test_a_key_in_a_row_opens_the_menu_on_the_tasks_page(signed_in: SignedIn, errands: Errands) -> None:
    address = errands.run("Bathe the parrot")
    ada = signed_in("ada")
    ada.goto("/inbox/?view=available&q=parrot")
    ada.locator("[data-row-link]").filter(has_text="Bathe the parrot").focus()
    ada.keyboard.press("a")
    expect(ada).to_have_url(re.compile(f"{address}(\\?.*)?#assign"))
    expect(ada.locator("#person")).to_be_focused()
