"""Somebody pulls the plug in the middle of a case."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import SignedIn
from tests.browser.errands import activate
from tests.browser.pages import Inbox
from tests.browser.product import Product, a_product
from tests.house.running_house import eventually

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
def other_product(chromium: Browser) -> Generator[Product, None, None]:
    """Give a product that may be killed, and Gwen in it."""
    with a_product("--no-demo") as running:
        running.manage("tenant", "create", "acme")
        running.manage("person", "create", "gwen", "--tenant", "acme", "--level", "5", "--password", "demo-gwen")
        yield running


def test_killed_product_leaves_no_server_and_goes_on_with_the_case_after_the_next_start(
    other_product: Product, signed_in: SignedIn
) -> None:
    inbox = Inbox(signed_in("gwen", other_product))
    activate(inbox.page, SOURCE)
    instance = inbox.start("Night watch")
    inbox.open_task("Lock the doors")
    inbox.claim()
    inbox.answer("Locked")
    expect(inbox.page.get_by_role("status").filter(has_text="Locked.")).to_be_visible()

    # An open page would ask a dying server for its stream, and be told that it breaks.
    inbox.page.goto("about:blank")
    other_product.kill()
    assert eventually(lambda: other_product.house.leftovers() == [], SECONDS_TO_VANISH), other_product.house.leftovers()

    other_product.start()
    inbox.page.goto("/inbox/")
    inbox.open_task("Unlock the doors")
    inbox.claim()
    inbox.answer("Unlocked")
    inbox.open_instance(instance)
    expect(inbox.status).to_have_text("completed", ignore_case=True)
