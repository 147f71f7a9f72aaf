"""The pictures of the admin, for README, authoring.md and operations.md.

`WORKFLOW_PICTURES=1 .venv/bin/python -m pytest -m slow tests/browser/test_admin_pictures.py` keeps them.
Each page is brought to the state that its guide describes; without the variable nothing is kept.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from engine.gallery import gallery
from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import activate, send
from tests.browser.pages import Authoring, Inbox, act
from tests.browser.pictures import picture

ORDER = """\
workflow: book-order
title: Order a book
starters: {min_level: 2}
input:
  type: object
  required: [book, price]
  properties:
    book: {type: string, title: Which book?}
    price: {type: number, title: Price in euro}
steps:
  - id: approve
    task:
      title: "Order ${start.bok} for ${start.price} EUR?"
      roles: [managment]
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
"""
PAY_OUT = """\
workflow: refund
title: Refund
input: {type: object, required: [number], properties: {number: {type: integer}}}
reference: {key: "${'REF-' + string(start.number)}"}
steps:
  - id: approve
    title: Book the amount
    set: {amount: "${start.number * 120}"}
  - id: hand_in
    title: Hand in the payment
    call: {http: {method: POST, url: "http://127.0.0.1:1/closed", body: {number: "${start.number}"}}}
  - id: receipt
    title: File the receipt
    task: {title: "File the receipt of ${start.number}", roles: [finance]}
"""


@pytest.mark.slow
def test_pictures_of_authoring(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", viewport={"width": 1280, "height": 800})
    authoring = Authoring(gwen)
    a_first_draft(gwen, authoring)
    a_slip_and_its_repair(gwen, authoring)
    a_trial(gwen)
    a_change(gwen, authoring)


def a_first_draft(gwen: Page, authoring: Authoring) -> None:
    """Show what findings look like."""
    authoring.begin()
    authoring.write(ORDER)
    act(gwen, "save").click()
    expect(authoring.findings).not_to_have_count(0)
    drawn(gwen)
    picture(gwen, "admin")


def a_slip_and_its_repair(gwen: Page, authoring: Authoring) -> None:
    """Show a misspelt role, and fix it."""
    authoring.begin()
    source = gallery()["expense-approval"].replace("workflow: expense-approval", "workflow: expense-claim")
    authoring.write(source.replace("roles: [finance]", "roles: [finanse]"))
    gwen.locator(".wf-repair").scroll_into_view_if_needed()
    drawn(gwen)
    picture(gwen, "authoring-write")
    gwen.locator("button.wf-repair").click()
    expect(authoring.findings).to_have_count(0)


def a_trial(gwen: Page) -> None:
    """Show a trial that waits for an answer."""
    act(gwen, "try").click()
    for label, value in {"What for": "Train to Berlin", "Amount": "240", "Spent on": "2026-11-04"}.items():
        gwen.get_by_label(label).first.fill(value)
    gwen.get_by_label("Category").select_option("Travel")
    act(gwen, "start").click()
    expect(gwen.locator(".wf-sentence")).to_have_attribute("data-status", "running")
    picture(gwen, "authoring-try")


def a_change(gwen: Page, authoring: Authoring) -> None:
    """Show what a change of a used template meets."""
    gwen.goto("/admin/engine/template/")
    gwen.locator("tr").filter(has_text="Purchase approval").locator("a[href*='/change/']").first.click()
    act(gwen, "begin").click()
    authoring.write(gallery()["purchase-approval"].replace("roles: [finance]", "roles: [management]"))
    act(gwen, "review").click()
    expect(gwen.locator('[data-part="changes"]')).to_contain_text("finance → management")
    picture(gwen, "authoring-changes")


def drawn(gwen: Page) -> None:
    """Wait until the diagram is drawn."""
    expect(gwen.locator("[data-diagram] [data-step]").first).to_be_attached()


@pytest.mark.slow
def test_pictures_of_operating(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", viewport={"width": 1280, "height": 800})
    gwen.goto("/admin/")
    activate(gwen, PAY_OUT)
    for number in range(6):
        send(gwen, "instances/", {"template": "refund", "input": {"number": number}})
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.locator('[data-group="refund"][data-count="6"]')
    Inbox(gwen).reload_until(cause.is_visible, "all incidents")
    picture(gwen, "operating-incidents")
    gwen.goto("/admin/")
    expect(gwen.locator("[data-chart] canvas")).to_be_visible()
    picture(gwen, "operating-dashboard")
    one_instance(gwen)
    many_at_once(gwen)


def one_instance(gwen: Page) -> None:
    """Show the state of an instance, and why."""
    gwen.goto("/admin/engine/instance/?q=PAY-2026-45")
    gwen.locator("#result_list a[href*='/change/']").first.click()
    expect(gwen.locator('[data-status="incident"]')).to_be_visible()
    expect(gwen.locator(".wf-diagram svg")).to_be_visible()
    picture(gwen, "operating-instance")
    assert faults_in(gwen, FEW_LOOKS) == []


def many_at_once(gwen: Page) -> None:
    """Show an operation on many rows, with a result for each."""
    gwen.emulate_media(color_scheme="light")
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.locator('[data-group="refund"]')
    cause.locator("[name=reason]").fill("The bank answers again.")
    act(cause, "retry").click()
    expect(gwen.locator('[data-status="done"][data-done="6"]')).to_be_visible(timeout=60_000)
    picture(gwen, "operating-act")
    assert faults_in(gwen, FEW_LOOKS) == []
