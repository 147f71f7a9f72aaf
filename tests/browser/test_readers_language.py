"""Numbers in the reader's language from the list to the answer, in a real browser: read, typed in a form, in rows, in a draft."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, Page, Response, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS
from tests.browser.pictures import picture

FREIGHT = """\
workflow: freight
title: Freight
starters: {min_level: 2}
input: {type: object, properties: {sum: {type: number, x-unit: €}, by: {type: string, format: date}}}
case_title: "Freight of ${money(start.sum, 'EUR')} until ${date(start.by)}"
steps:
  - id: pay
    title: Pay
    task:
      title: "Pay ${money(start.sum, 'EUR')}"
      description: "${person(instance.started_by)} wants it by ${date(start.by)}."
      assignee: ada
      columns: {left: "${money(9876.5, 'EUR')}"}
      payload: {left: "${money(9876.5, 'EUR')}", sum: "${start.sum}"}
      form:
        type: object
        required: [paid]
        properties:
          paid: {type: number, title: Paid, x-unit: €}
          lots:
            type: array
            title: Lots
            items: {type: object, properties: {fee: {type: number, title: Fee, x-unit: €}, kilos: {type: number, title: Kilos}}}
      outcomes: {pay: {title: Pay}, refuse: {title: Refuse, reject: true}}
      comment: optional
  - id: file_it
    task: {title: File it, roles: [support], comment: never}
"""
SUM = {"en": "17,283.00", "de": "17.283,00"}
LEFT = {"en": "9,876.50", "de": "9.876,50"}
TYPED = {"en": ("1,234.50", "12.50", "1,250.5"), "de": ("1.234,50", "12,50", "1.250,5")}
FOREIGN = {"en": "1.234,50", "de": "1,234.50"}
BY = {"en": "4 Dec 2026", "de": "4. Dez 2026"}


def named(page: Page, name: str) -> Locator:
    return page.locator(f'[name="{name}"]')


@pytest.mark.parametrize(("language", "size"), FACES)
def test_a_payment_is_read_typed_kept_and_sent(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    activate(errands.page, FREIGHT)
    case = send(errands.page, "instances/", {"template": "freight", "input": {"sum": 17283, "by": "2026-12-04"}})
    task = case["tasks"][0]["id"]
    page = signed_in("ada", locale=WORDS[language], **({"viewport": size} if size else {}))
    page.goto("/inbox/?view=mine&template=freight")
    row = page.locator(f'[data-row][data-task="{task}"]')
    for words in (SUM, LEFT):
        expect(row).to_contain_text(words[language])
    row.locator("[data-row-link]").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(SUM[language])
    expect(page.locator("#answer")).to_contain_text(LEFT[language])
    expect(page.locator("#answer")).to_contain_text(BY[language])
    fill_in(page, language, f"/inbox/tasks/{task}/")
    picture(page, f"numbers-{language}{'-360' if size else ''}")
    assert faults_in(page, FEW_LOOKS) == []
    page.locator('button[name=outcome][value="pay"]').first.click()
    page.wait_for_url(lambda address: task not in address)
    answered = page.request.get(f"/api/v1/tasks/{task}/").json()["values"]
    assert answered["paid"] == 1234.5
    assert answered["lots"] == [{"fee": 12.5, "kilos": 1250.5}]
    page.goto(f"/inbox/instances/{case['id']}/")
    expect(page.locator('[data-part="timeline"]')).to_contain_text(TYPED[language][0])


def is_draft_with(response: Response, text: str) -> bool:
    """Return whether a text was sent with a draft."""
    return response.url.endswith("/draft/") and text in unquote(response.request.post_data or "")


def fill_in(page: Page, language: str, address: str) -> None:
    """Type what another language writes, take what was meant, add a row, and find all of it in the draft again."""
    paid, fee, kilos = TYPED[language]
    named(page, "f.paid").fill(FOREIGN[language])
    page.locator('button[name=outcome][value="pay"]').first.click()
    page.locator(f'button[name=rows][value^="use {paid} "]').click()
    expect(named(page, "f.paid")).to_have_value(paid)
    page.locator('#answer button[name=rows][value^="add"]').first.click()
    named(page, "f.lots.0.fee").fill(fee)
    with page.expect_response(lambda response: is_draft_with(response, kilos)):
        named(page, "f.lots.0.kilos").fill(kilos)
        named(page, "f.lots.0.kilos").blur()
    page.goto(address)
    expect(named(page, "f.paid")).to_have_value(paid)
    expect(named(page, "f.lots.0.fee")).to_have_value(fee)
    expect(named(page, "f.lots.0.kilos")).to_have_value({"en": "1250.5", "de": "1250,5"}[language])
