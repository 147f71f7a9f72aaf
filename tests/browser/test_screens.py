"""How pages look on small and dark screens."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, NewContext, SignedIn
from tests.browser.pages import act
from tests.browser.product import Product

PHONES = (360, 320)
LISTS = ("mine", "available", "team", "overdue", "done")
FIXED = (
    "/inbox/?view=team&q=nothing-has-this-in-its-title",
    "/inbox/?view=team&due=week&role=finance&priority=high&reference=PO",
    "/inbox/?view=later",
    "/inbox/started/",
    "/inbox/start/",
    "/inbox/start/purchase-approval/",
    "/inbox/start/no-such-workflow/",
    "/accounts/settings/",
    "/accounts/password/",
)
OF_THE_DOOR = ("/accounts/login/", "/accounts/reset/", "/accounts/reset/sent/")
OF_THE_ADMIN = ("/admin/", "/admin/engine/template/", "/admin/engine/templateversion/add/", "/admin/engine/instance/")
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BRIGHT = """() => [...document.querySelectorAll("body, body *")].filter(element => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const [red, green, blue, alpha = 1] = style.backgroundColor.match(/[\\d.]+/g).map(Number);
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return light > 128 && alpha > 0.5 && style.clipPath === "none" && box.width * box.height > 3000;
}).map(element => element.className || element.tagName)"""


def pages_of_the_inbox(page: Page) -> Iterator[str]:
    """Open one page of every kind: each list, its first task, that task's case, and all that is not a list."""
    for name in LISTS:
        page.goto(f"/inbox/?view={name}")
        task = page.locator("[data-row-link]").first.get_attribute("href") or ""
        yield page.url
        page.goto(task)
        case = act(page.locator('[data-part="path"]'), "to_case").get_attribute("href") or ""
        yield page.url
        page.goto(case)
        yield page.url
    yield from pages_at(page, FIXED)


def pages_at(page: Page, addresses: tuple[str, ...]) -> Iterator[str]:
    """Open some pages."""
    for address in addresses:
        page.goto(address)
        yield page.url


def faults_of(page: Page) -> list[str]:
    """Look at a page in the dark, then on phones: what glares, what sticks out, what has not one heading."""
    faults = [f"bright: {part}" for part in page.evaluate(BRIGHT)]
    for width in PHONES:
        page.set_viewport_size({"width": width, "height": 740})
        if (more := page.evaluate(WIDER)) > 0:
            faults.append(f"{more} px too wide at {width}")
    page.set_viewport_size(DESK)
    headings = page.get_by_role("heading", level=1).count()
    return faults if headings == 1 else [*faults, f"{headings} first headings"]


def test_every_page_of_the_inbox_is_dark_in_the_dark_and_never_scrolls_sideways_on_a_phone(
    signed_in: SignedIn,
) -> None:
    ada = signed_in("ada", color_scheme="dark")
    found = {address: faults_of(ada) for address in pages_of_the_inbox(ada)}
    assert {address: faults for address, faults in found.items() if faults} == {}


def test_the_door_is_dark_in_the_dark_and_never_scrolls_sideways_on_a_phone(
    product: Product, new_context: NewContext
) -> None:
    page = new_context(product.address, color_scheme="dark").new_page()
    found = {address: faults_of(page) for address in pages_at(page, OF_THE_DOOR)}
    assert {address: faults for address, faults in found.items() if faults} == {}


def test_the_admin_is_dark_in_the_dark(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", color_scheme="dark")
    found = {address: gwen.evaluate(BRIGHT) for address in pages_at(gwen, OF_THE_ADMIN)}
    assert {address: parts for address, parts in found.items() if parts} == {}


def test_phone_keeps_all_outcomes_but_the_first_a_step_away(signed_in: SignedIn) -> None:
    page = signed_in("ada", viewport={"width": 360, "height": 740})
    page.goto("/inbox/?view=mine")
    page.get_by_role("link", name="Approve purchase").click()
    shown = page.locator(".wf-bar__acts").get_by_role("button").filter(visible=True)
    expect(shown).to_have_text(["Approve"], use_inner_text=True)
    act(page, "other_outcomes").click()
    expect(shown).to_have_text(["Approve", "Ask for changes", "Reject"], use_inner_text=True)
