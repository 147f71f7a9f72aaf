"""The inbox as it looks on its first day, in a product of its own: every picture is also checked by axe and measured.

`WORKFLOW_PICTURES=1 .venv/bin/python -m pytest -m slow tests/browser/test_pictures.py` keeps them for README and guide.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import faults_of
from tests.browser.chromium import Chromium
from tests.browser.conftest import DESK, SignedIn
from tests.browser.pages import Inbox, act
from tests.browser.pictures import picture
from tests.browser.product import Product, a_product

pytestmark = pytest.mark.slow
PHONE = {"width": 360, "height": 740}
TABLET = {"width": 900, "height": 760}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def fresh(chromium: Chromium) -> Generator[Product, None, None]:
    """Provide a product that nobody has worked in yet."""
    with a_product() as running:
        yield running


def available(page: Page) -> None:
    page.goto("/inbox/?view=available")
    expect(page.locator("[data-choose]")).not_to_have_count(0)


def task(page: Page) -> None:
    page.goto("/inbox/")
    page.get_by_role("link", name="Approve purchase").first.click()
    expect(page.get_by_text("Create the order")).to_be_attached()


def where(page: Page) -> None:
    task(page)
    page.locator('[data-shows="where"]').click()
    expect(page.get_by_text("Create the order")).to_be_visible()


def case(page: Page) -> None:
    task(page)
    act(page.locator('[data-part="path"]'), "to_case").click()
    expect(page.locator('[data-tab="steps-tab"]')).to_be_visible()
    Inbox(page).reload_until(page.locator('[data-tab="diagram-tab"]').is_visible, "the diagram")
    page.locator('[data-tab="steps-tab"]').click()
    expect(page.get_by_text("Manager approval").last).to_be_visible()
    page.locator('[data-tab="diagram-tab"]').click()


def gallery(page: Page) -> None:
    page.goto("/inbox/start/")
    expect(page.get_by_role("link", name="Purchase approval", exact=True)).to_be_visible()


def search(page: Page) -> None:
    available(page)
    page.keyboard.press("Control+k")
    page.locator("[data-search-all]").fill("laptop")
    expect(page.locator('[data-group="tasks"] [role=option]').first).to_be_visible()


PICTURES: Mapping[str, tuple[Callable[[Page], None], str, dict[str, int]]] = {
    "inbox": (available, "light", DESK),
    "inbox_dark": (available, "dark", DESK),
    "inbox_rail": (available, "light", TABLET),
    "inbox_phone": (available, "light", PHONE),
    "task": (task, "light", {"width": 1280, "height": 1080}),
    "task_dark": (task, "dark", {"width": 1280, "height": 1080}),
    "task_phone": (task, "light", PHONE),
    "task_phone_dark": (where, "dark", PHONE),
    "case": (case, "light", DESK),
    "start": (gallery, "light", DESK),
    "search": (search, "light", DESK),
}


@pytest.mark.parametrize("name", PICTURES)
def test_page_looks_as_it_should(signed_in: SignedIn, fresh: Product, name: str) -> None:
    opened, scheme, size = PICTURES[name]
    page = signed_in("ada", of=fresh, color_scheme=scheme, viewport=size)
    opened(page)
    picture(page, name)
    assert faults_of(page) == []
    assert page.evaluate(WIDER) <= 0
