"""An operator's day: fifty instances stop for one cause; it is fixed, and one operation retries them all."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import LIGHT, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import activate, send
from tests.browser.outside_world import BANK, Supplier
from tests.browser.pages import Inbox, act

FEW, MANY = 8, 50
SOURCE = """\
workflow: pay-out-MANY
title: Pay out
input: {type: object, required: [number], properties: {number: {type: integer}}}
reference: {key: "${'OUTMANY-' + string(start.number)}"}
steps:
  - id: hand_in
    title: Hand in the payment
    call: {http: {method: POST, url: "${secret.bank}", body: {number: "${start.number}"}}}
"""


def write_bank(page: Page, address: str) -> None:
    """Create or change the secret in the admin."""
    page.goto("/admin/engine/secret/")
    known = page.get_by_role("link", name="bank", exact=True)
    if known.count():
        known.click()
    else:
        page.goto("/admin/engine/secret/add/")
        page.locator("#content-main [name=name]").fill("bank")
    page.locator("#content-main [name=value]").fill(address)
    act(page, "save").click()
    expect(page).to_have_url(re.compile("/secret/$"))


@pytest.mark.parametrize("many", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_incidents_of_one_cause_are_fixed_and_retried_at_once(
    signed_in: SignedIn, supplier: Supplier, many: int
) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/")
    write_bank(gwen, "http://127.0.0.1:1/closed")
    activate(gwen, SOURCE.replace("MANY", str(many)))
    for number in range(many):
        send(gwen, "instances/", {"template": f"pay-out-{many}", "input": {"number": number}})
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.locator(f'[data-group="pay-out-{many}"][data-count="{many}"]')
    Inbox(gwen).reload_until(cause.is_visible, "all incidents")
    write_bank(gwen, f"{supplier.origin}{BANK}")
    gwen.goto("/admin/engine/instance/incidents/")
    cause.locator("[name=reason]").fill("The bank's address was wrong.")
    act(cause, "retry").click()
    expect(gwen).to_have_url(re.compile("/bulkact/"))
    expect(gwen.locator(f'[data-status="done"][data-done="{many}"]')).to_be_visible(timeout=60_000)
    assert faults_in(gwen, (LIGHT,)) == []
    gwen.goto(f"/admin/engine/instance/?q=OUT{many}-&status__exact=completed")
    paid = gwen.locator("#result_list [name=_selected_action]")
    Inbox(gwen).reload_until(lambda: paid.count() == many, "all paid out")
