"""The product is killed in the middle of a case."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import activate
from tests.browser.pages import Inbox, toast
from tests.browser.product import Product
from tests.platform.sandbox import eventually

SECONDS_TO_VANISH = 5.0
SOURCE = """\
workflow: night-watch
title: Night watch
steps:
  - id: lock
    task: {title: Lock the doors, users: [gwen], outcomes: {locked: {title: Locked}}}
  - id: night
    title: The night
    wait: {for: PT2S}
  - id: unlock
    task: {title: Unlock the doors, users: [gwen], outcomes: {unlocked: {title: Unlocked}}}
"""


@pytest.fixture
def doomed(product: Product) -> Generator[Product, None, None]:
    """Provide the product to be killed, and leave it running for those who come after."""
    yield product
    if not product.sandbox.leftovers():
        product.start()


@pytest.mark.slow
def test_killed_product_leaves_no_server_and_goes_on_with_the_case_after_the_next_start(
    doomed: Product, signed_in: SignedIn
) -> None:
    inbox = Inbox(signed_in("gwen"))
    activate(inbox.page, SOURCE)
    instance = inbox.start("Night watch")
    inbox.open_task("Lock the doors")
    inbox.claim()
    inbox.answer("Locked")
    expect(toast(inbox.page, "task.completed")).to_be_visible()

    # An open page would ask a dying server for its stream, and be told that it breaks.
    inbox.page.goto("about:blank")
    doomed.kill()
    assert eventually(lambda: doomed.sandbox.leftovers() == [], SECONDS_TO_VANISH), doomed.sandbox.leftovers()

    doomed.start()
    inbox.page.goto("/inbox/")
    inbox.open_task("Unlock the doors")
    inbox.claim()
    inbox.answer("Unlocked")
    inbox.open_instance(instance)
    expect(inbox.status).to_have_attribute("data-status", "completed")
