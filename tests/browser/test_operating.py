"""An operator's day: fifty instances stand still for one cause; it is mended, and one act tries them all again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import LIGHT, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import activate, send
from tests.browser.outside_world import BANK, Supplier
from tests.browser.pages import Inbox

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
    """Write the secret in the admin: new, or anew."""
    page.goto("/admin/engine/secret/")
    known = page.get_by_role("link", name="bank", exact=True)
    if known.count():
        known.click()
    else:
        page.goto("/admin/engine/secret/add/")
        page.get_by_label("Name").fill("bank")
    page.get_by_label("Value").fill(address)
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/secret/$"))


@pytest.mark.parametrize("many", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_incidents_of_one_cause_are_mended_and_tried_again_at_once(
    signed_in: SignedIn, supplier: Supplier, many: int
) -> None:
    gwen = signed_in("gwen")
    gwen.goto("/admin/")
    write_bank(gwen, "http://127.0.0.1:1/closed")
    activate(gwen, SOURCE.replace("MANY", str(many)))
    for number in range(many):
        send(gwen, "instances/", {"template": f"pay-out-{many}", "input": {"number": number}})
    gwen.goto("/admin/engine/instance/incidents/")
    cause = gwen.get_by_role("region", name=re.compile("Pay out: Hand in"))
    Inbox(gwen).reload_until(cause.get_by_text(f"{many} instances").is_visible, "all incidents")
    write_bank(gwen, f"{supplier.origin}{BANK}")
    gwen.goto("/admin/engine/instance/incidents/")
    cause.get_by_label("Reason, kept with each").fill("The bank's address was wrong.")
    cause.get_by_role("button", name="Retry those chosen").click()
    expect(gwen).to_have_url(re.compile("/bulkact/"))
    expect(gwen.get_by_text(f"{many} of {many} tried again.")).to_be_visible(timeout=60_000)
    assert faults_in(gwen, (LIGHT,)) == []
    paid = gwen.get_by_text(f"{many} results", exact=False)
    gwen.goto(f"/admin/engine/instance/?q=OUT{many}-&status__exact=completed")
    Inbox(gwen).reload_until(paid.or_(gwen.get_by_text(f"{many} instances")).first.is_visible, "all paid out")
