"""An XSS corpus through every text of a furnished product, and every page of it in a real browser: nothing runs."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page

from tests.browser.chromium import Chromium
from tests.browser.conftest import NewContext
from tests.browser.pages import Door
from tests.browser.payloads import PAYLOADS
from tests.browser.product import Product, a_product
from tests.browser.watching import Watch

pytestmark = [pytest.mark.slow, pytest.mark.security("texts never become markup")]

PAGES_A_PERSON = 40
BEGINS = {"zoe": ["/admin/"], "gwen": ["/admin/", "/inbox/", "/inbox/start/"], "uri": ["/inbox/"]}
LISTS = ("template", "instance", "task", "audit", "deadletter", "webhook", "schedule", "businesscalendar", "secret", "role",
         "user", "tenant", "token", "bulkact", "retentionrule", "signal", "webhookdelivery")  # fmt: skip
SKIPPED = re.compile(r"/logout|/live/|/stream/|/jsi18n|/static/|export|/api/v1/(?!docs)")
NOTICE = """
window.told = [];
addEventListener('securitypolicyviolation', (event) => window.told.push(event.violatedDirective + ' ' + event.blockedURI));
"""
SEED = """
from tests.browser.payloads import authored, inject
from engine.services.templates.versions import activate_version, save_draft
from engine.services.instances.lifecycle import start_instance
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import User
gwen = actor_of(User.objects.get(username="gwen"))
if {first}:
    save_draft(actor=gwen, source=authored())
    activate_version(actor=gwen, name="marked", number=1)
    start_instance(actor=gwen, template="marked", input={{"free": {payload}}})
written = inject({shift})
print("EMPTY", sorted(name for name, rows in written.items() if not rows))
"""


@pytest.fixture(scope="module")
def marked(chromium: Chromium) -> Generator[Product, None, None]:
    """Give a product of one's own: others look at theirs."""
    with a_product() as running:
        seed(running, 0)
        yield running


def seed(product: Product, round_: int) -> None:
    words = SEED.format(first=round_ == 0, shift=round_ * 17, payload=json.dumps(PAYLOADS[round_]))
    product.manage_as_owner("shell", "-c", words)


def links(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))"
    )
    return [link.partition("#")[0] for link in found if link.startswith("/")]


def kind_of(address: str) -> str:
    """Say which page an address leads to, whatever row it shows."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+|\?.*", "*", address)


@pytest.mark.parametrize("name", BEGINS)
def test_nothing_runs(marked: Product, new_context: NewContext, watch: Watch, record_property: Any, name: str) -> None:
    """Every kind of page twice, by the links that people follow; Watch complains of requests elsewhere and of the console."""
    page = new_context(marked.address).new_page()
    Door(page).sign_in(name, f"demo-{name}")
    page.wait_for_url("**/inbox/")
    page.add_init_script(NOTICE)
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", hear)
    left = [*BEGINS[name], *(f"/admin/engine/{one}/" for one in LISTS if name != "uri")]
    met: dict[str, int] = {}
    while left and sum(met.values()) < PAGES_A_PERSON:
        address = left.pop(0)
        kind = kind_of(address)
        if SKIPPED.search(address) or met.get(kind, 0) >= 2:
            continue
        met[kind] = met.get(kind, 0) + 1
        answer = page.goto(address, wait_until="load")
        assert answer is None or answer.status < 500, address
        assert page.evaluate("[window.xss9 ?? null, window.told]") == [None, []], (name, address)
        left += links(page)
    record_property("figure", f"{name}: {len(PAYLOADS)} payloads, {sum(met.values())} pages in Chromium, nothing ran")
    assert dialogs == []
    assert sum(met.values()) > 5, met
