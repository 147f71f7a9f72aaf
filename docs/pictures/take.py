"""Take the pictures of the admin, for README and authoring.md, from a running product: `.venv/bin/python docs/pictures/take.py http://127.0.0.1:8000`.

It signs in as the demo people, so the product must run with the demo. Needs Chromium and the development requirements.
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parents[1]))

from engine.gallery import gallery  # noqa: E402
from workflowplatform.services.chromium import find_chromium  # noqa: E402

SIZE = {"width": 1280, "height": 800}
DRAFT = """workflow: book-order
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


def signed_in(browser: Browser, address: str, name: str) -> Page:
    """Open a window in which somebody is signed in."""
    page = browser.new_context(viewport=SIZE, base_url=address, locale="en-GB").new_page()
    page.goto("/accounts/login/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", f"demo-{name}")
    page.click("main [type=submit]")
    page.wait_for_url("**/inbox/**")
    return page


def take(page: Page, name: str) -> None:
    """Take one picture when everything has been loaded."""
    page.wait_for_load_state("networkidle")
    page.screenshot(path=FOLDER / f"{name}.png")


def take_all(browser: Browser, address: str) -> None:
    """Take the admin as Gwen sees it."""
    gwen = signed_in(browser, address, "gwen")
    gwen.goto("/admin/engine/templateversion/add/")
    gwen.locator(".cm-content").wait_for()
    gwen.get_by_label("The template as YAML").fill(DRAFT)
    gwen.click("[name=_save]")
    take(gwen, "admin")
    take_authoring(gwen)


def write(page: Page, source: str) -> None:
    """Replace what stands in the editor, and wait until it was looked at."""
    page.locator(".cm-content").wait_for()
    page.get_by_label("The template as YAML").fill(source)
    page.locator("[data-laid-out-in]").wait_for()
    page.wait_for_timeout(2500)


def take_authoring(gwen: Page) -> None:
    """Take the desk with a slip in the text, a trial that waits, and what a change of a used template meets."""
    gwen.goto("/admin/engine/templateversion/add/")
    source = gallery()["expense-approval"].replace("workflow: expense-approval", "workflow: expense-claim")
    write(gwen, source.replace("roles: [finance]", "roles: [finanse]"))
    gwen.locator(".wf-repair").scroll_into_view_if_needed()
    take(gwen, "authoring-write")
    gwen.get_by_role("button", name="Replace").click()
    gwen.get_by_role("button", name="Try it").click()
    for label, value in {"What for": "Train to Berlin", "Amount in euro": "240", "Spent on": "2030-01-04"}.items():
        gwen.get_by_label(label).first.fill(value)
    gwen.get_by_label("Category").select_option("Travel")
    gwen.get_by_role("button", name="Start the trial").click()
    take(gwen, "authoring-try")
    gwen.goto("/admin/engine/template/")
    gwen.locator("tr").filter(has_text="Purchase approval").locator("a[href*='/change/']").first.click()
    gwen.get_by_role("button", name="New version from this one").click()
    write(gwen, gallery()["purchase-approval"].replace("roles: [finance]", "roles: [management]"))
    gwen.get_by_role("button", name="Review and activate").click()
    take(gwen, "authoring-changes")


def main() -> None:
    """Start Chromium and take the pictures."""
    (address,) = sys.argv[1:]
    flags = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=flags)
        take_all(browser, address)
        browser.close()


main()
