"""The pictures of the admin, for README, authoring.md and operations.md.

`WORKFLOW_PICTURES=1 .venv/bin/python -m pytest -m slow tests/browser/test_admin_pictures.py` keeps them.
Each page is brought to the state that its guide tells of; without the word in the environment nothing is kept.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from engine.gallery import gallery
from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import activate, send
from tests.browser.pages import Authoring, Inbox
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
    gwen.get_by_role("button", name="Save draft").click()
    expect(authoring.findings).not_to_have_count(0)
    drawn(gwen)
    picture(gwen, "admin")


def a_slip_and_its_repair(gwen: Page, authoring: Authoring) -> None:
    """Show a misspelt role, and mend it."""
    authoring.begin()
    source = gallery()["expense-approval"].replace("workflow: expense-approval", "workflow: expense-claim")
    authoring.write(source.replace("roles: [finance]", "roles: [finanse]"))
    gwen.locator(".wf-repair").scroll_into_view_if_needed()
    drawn(gwen)
    picture(gwen, "authoring-write")
    gwen.get_by_role("button", name="Replace").click()
    expect(authoring.findings).to_have_count(0)


def a_trial(gwen: Page) -> None:
    """Show a trial that waits for an answer."""
    gwen.get_by_role("button", name="Try it").click()
    for label, value in {"What for": "Train to Berlin", "Amount": "240", "Spent on": "2026-11-04"}.items():
        gwen.get_by_label(label).first.fill(value)
    gwen.get_by_label("Category").select_option("Travel")
    gwen.get_by_role("button", name="Start the trial").click()
    expect(gwen.locator(".wf-sentence")).to_be_visible()
    picture(gwen, "authoring-try")


def a_change(gwen: Page, authoring: Authoring) -> None:
    """Show what a change of a used template meets."""
    gwen.goto("/admin/engine/template/")
    gwen.locator("tr").filter(has_text="Purchase approval").locator("a[href*='/change/']").first.click()
    gwen.get_by_role("button", name="New version from this one").click()
    authoring.write(gallery()["purchase-approval"].replace("roles: [finance]", "roles: [management]"))
    gwen.get_by_role("button", name="Review and activate").click()
    expect(gwen.get_by_text(re.compile("roles finance → management"))).to_be_visible()
    picture(gwen, "authoring-changes")


def drawn(gwen: Page) -> None:
    """Wait until the diagram stands."""
    expect(gwen.locator("[data-diagram] [data-step]").first).to_be_attached()


@pytest.mark.slow
def test_pictures_of_operating(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", viewport={"width": 1280, "height": 800})
    gwen.goto("/admin/")
    activate(gwen, PAY_OUT)
    for number in range(6):
        send(gwen, "instances/", {"template": "refund", "input": {"number": number}})
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.get_by_role("region", name=re.compile("Refund: Hand in"))
    Inbox(gwen).reload_until(cause.get_by_text("6 instances").is_visible, "all incidents")
    picture(gwen, "operating-incidents")
    gwen.goto("/admin/")
    expect(gwen.locator("[data-chart] canvas")).to_be_visible()
    picture(gwen, "operating-dashboard")
    one_instance(gwen)
    many_at_once(gwen)


def one_instance(gwen: Page) -> None:
    """Show where an instance stands, and why."""
    gwen.goto("/admin/engine/instance/?q=PAY-2026-45")
    gwen.locator("#result_list a[href*='/change/']").first.click()
    expect(gwen.get_by_text("Stopped by an error and needs help.")).to_be_visible()
    expect(gwen.locator(".wf-diagram svg")).to_be_visible()
    picture(gwen, "operating-instance")
    assert faults_in(gwen, FEW_LOOKS) == []


def many_at_once(gwen: Page) -> None:
    """Show an act over many rows, with a result for each."""
    gwen.emulate_media(color_scheme="light")
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.get_by_role("region", name=re.compile("Refund: Hand in"))
    cause.get_by_label("Reason, kept with each").fill("The bank answers again.")
    cause.get_by_role("button", name="Retry those chosen").click()
    expect(gwen.get_by_text("6 of 6 tried again.")).to_be_visible(timeout=60_000)
    picture(gwen, "operating-act")
    assert faults_in(gwen, FEW_LOOKS) == []
