"""How pages look on small and dark screens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewContext, SignedIn
from tests.browser.product import Product

LISTS = ("mine", "available", "team", "overdue", "done")
FIXED = (
    *(f"/inbox/?view={name}" for name in LISTS),
    "/inbox/?view=team&q=nothing-has-this-in-its-title",
    "/inbox/started/",
    "/inbox/start/",
    "/inbox/start/purchase-approval/",
    "/inbox/start/no-such-workflow/",
    "/accounts/settings/",
    "/accounts/password/",
    "/accounts/reset/",
)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BRIGHT = """() => [...document.querySelectorAll("body, body *")].filter(element => {
  const colour = getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
  const box = element.getBoundingClientRect();
  const light = 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2];
  return light > 128 && (colour[3] ?? 1) > 0.5 && box.width * box.height > 3000;
}).map(element => element.className || element.tagName)"""


def addresses_of(page: Page) -> list[str]:
    """List one address of every kind of page in the inbox: the fixed ones, tasks of each list and their cases."""
    found = list(FIXED)
    for name in LISTS:
        page.goto(f"/inbox/?view={name}")
        task = page.locator("[data-row-link]").first.get_attribute("href")
        page.goto(task)
        case = page.get_by_role("link", name="Whole case").get_attribute("href")
        found += [task, case]
    return found


@pytest.mark.parametrize("width", [360, 320])
def test_no_page_of_the_inbox_scrolls_sideways_on_a_phone(signed_in: SignedIn, width: int) -> None:
    page = signed_in("ada", viewport={"width": width, "height": 740})
    wide = {}
    for address in addresses_of(page):
        page.goto(address)
        wide[address] = page.evaluate(WIDER)
        expect(page.get_by_role("heading", level=1), address).to_have_count(1)
    assert {address: more for address, more in wide.items() if more > 0} == {}


def test_door_does_not_scroll_sideways_on_a_phone(product: Product, new_context: NewContext) -> None:
    page = new_context(product.address, viewport={"width": 320, "height": 640}).new_page()
    page.goto("/accounts/login/")
    assert page.evaluate(WIDER) == 0


def test_phone_shows_one_outcome_and_keeps_the_others_a_step_away(signed_in: SignedIn) -> None:
    page = signed_in("ada", viewport={"width": 360, "height": 740})
    page.goto("/inbox/?view=mine")
    page.locator("[data-row-link]").first.click()
    page.get_by_text("Other outcome").click()
    bar = page.locator(".wf-bar__acts")
    assert len([button for button in bar.get_by_role("button").all() if button.is_visible()]) >= 2


def test_no_page_is_bright_in_the_dark(signed_in: SignedIn) -> None:
    page = signed_in("gwen", color_scheme="dark")
    bright = {}
    for address in [*addresses_of(page), "/admin/", "/admin/engine/template/", "/admin/engine/templateversion/add/"]:
        page.goto(address)
        bright[address] = page.evaluate(BRIGHT)
    assert {address: parts for address, parts in bright.items() if parts} == {}
