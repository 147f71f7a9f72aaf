"""An XSS corpus through every text of a furnished product, and its pages in a real browser: nothing runs.

The whole walk is slow; every run of bin/test takes the short one. That each written field is on a page, or in NOT_SEEN with
its reason, is asked of the whole walk here and of the test client in tests/admin/test_xss.py.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import Chromium
from tests.browser.conftest import NewContext
from tests.browser.pages import Door
from tests.browser.payloads import PAYLOADS, code_of
from tests.browser.product import Product, a_product
from tests.browser.watching import Watch
from tests.browser.xss_detectors import Canary, codes_on
from tests.browser.xss_fields import NOT_SEEN, WRITTEN, seen_wrongly

pytestmark = pytest.mark.security("texts never become markup")

WALK_SECONDS = 30
"""How long a walk follows links after all pages of its seeded rows were opened."""
PAGES_OF_A_KIND = 2
SHORT = 14
"""How many of the seeded pages the short walk opens."""
WALKS = {
    "zoe: tenants": ("zoe", r"/admin/accounts/tenant/"),
    "gwen: rows": ("gwen", r"/admin/(?!engine/(instance|templateversion|task)/.)"),
    "gwen: versions": ("gwen", r"/admin/engine/templateversion/.|/inbox/start/"),
    "gwen: cases": ("gwen", r"/admin/engine/(instance|task)/."),
    "gwen: inbox": ("gwen", r"/inbox/"),
    "uri: inbox": ("uri", r"/inbox/"),
}
"""The people who open the seeded pages and follow the links from there, with the pages of each."""
BEGINS = {"zoe": ["/admin/"], "gwen": ["/admin/", "/inbox/", "/inbox/start/"], "uri": ["/inbox/"]}
SKIPPED = re.compile(r"/logout|/live/|/stream/|/jsi18n|/static/|export|\.json|/files/|/api/v1/(?!docs)")
IN_MAILS = (
    "engine.notification.text", "engine.task.title", "engine.instance.title", "accounts.tenant.title", "accounts.user.full_name",
)  # fmt: skip
SHOWN_TO: dict[str, set[str]] = {}
"""The codes of the fields that each walk met."""
SEED = """
import json
from tests.browser.payloads import inject
from tests.browser.xss_mails import mails_to, pages_without_a_mail
from tests.browser.xss_rows import seed_rows
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import User
pages = seed_rows(actor_of(User.objects.get(username="gwen")))
empty = [name for name, rows in inject().items() if not rows]
mails = mails_to("gwen")
print("SEEDED " + json.dumps({"pages": pages, "empty": empty, "mails": mails, "left": [*pages_without_a_mail(mails)]}))
"""


@dataclass(frozen=True, slots=True)
class Marked:
    """A product full of payloads, the pages of its seeded rows, and the HTML mails about them."""

    product: Product
    pages: list[str]
    mails: dict[str, str]


@pytest.fixture(scope="module")
def marked(chromium: Chromium, request: pytest.FixtureRequest) -> Generator[Marked, None, None]:
    """Provide a product full of payloads.

    A short run fills the product of all, after all other files.
    """
    whole = os.environ.get("WORKFLOW_TEST_ALL")
    with a_product() if whole else nullcontext(request.getfixturevalue("product")) as running:
        said = running.manage_as_owner("shell", "-c", SEED)
        seeded = json.loads(next(line for line in said.splitlines() if line.startswith("SEEDED "))[7:])
        assert seeded["empty"] == [], "a field without a row takes no payload: seed one in xss_rows.py"
        assert seeded["left"] == [], "an HTML mail that nobody looks at: compose it in xss_mails.py"
        yield Marked(running, seeded["pages"], seeded["mails"])


def links(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))"
    )
    return [link.partition("#")[0] for link in found if link.startswith("/")]


def kind_of(address: str) -> str:
    """Return which page an address leads to, whatever row it shows."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+|\?.*", "*", address)


def enter(new_context: NewContext, product: Product, name: str) -> Page:
    page = new_context(product.address).new_page()
    Door(page).sign_in(name, f"demo-{name}")
    page.wait_for_url("**/inbox/")
    return page


def look(canary: Canary, address: str) -> set[str]:
    """Open a page on which nothing may run; return the codes of the fields that it shows."""
    answer = canary.page.goto(address, wait_until="load")
    assert answer is None or answer.status < 500, address
    assert canary.noticed() == {}, address
    return codes_on(canary.page)


def test_nothing_runs_on_the_pages_that_show_most(
    marked: Marked, new_context: NewContext, watch: Watch, record_property: Any
) -> None:
    """The short walk: one page of each kind, evenly chosen."""
    product, seeded = marked.product, marked.pages
    one_of_each = list({kind_of(address.partition("&")[0]): address for address in seeded}.values())
    canary = Canary(enter(new_context, product, "gwen"), watch)
    chosen = [address for address in one_of_each if "/tenant/" not in address][:: len(one_of_each) // SHORT + 1]
    codes = set[str]().union(*(look(canary, address) for address in chosen))
    record_property("figure", f"{len(codes)} of {len(WRITTEN)} fields on {len(chosen)} pages, nothing ran")
    assert len(codes) > 20


MAIL = "/mail-of-a-test/"
"""Where mails are opened: an address of the product, so that the detectors know what leads away."""


@pytest.mark.slow
def test_nothing_runs_in_html_mails(
    marked: Marked, new_context: NewContext, watch: Watch, record_property: Any
) -> None:
    """Each is opened as a document of its own, without the content security policy that protects pages."""
    page = new_context(marked.product.address).new_page()
    canary = Canary(page, watch)
    opened: list[str] = []
    page.route(f"**{MAIL}*", lambda route: route.fulfill(content_type="text/html; charset=utf-8", body=opened[-1]))
    codes: set[str] = set()
    for number, html in enumerate(marked.mails.values()):
        opened.append(html)
        codes |= look(canary, f"{MAIL}{number}")
    SHOWN_TO["mails"] = codes
    record_property("figure", f"{len(codes)} of {len(WRITTEN)} fields in {len(marked.mails)} HTML mails, nothing ran")
    assert {code_of(name) for name in IN_MAILS} <= codes


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_nothing_runs(marked: Marked, new_context: NewContext, watch: Watch, record_property: Any, walk: str) -> None:
    """All pages of the seeded rows, then the links that people follow: every kind of page twice, as long as there is time."""
    (name, own), product, seeded = WALKS[walk], marked.product, marked.pages
    canary = Canary(enter(new_context, product, name), watch)
    first = [address for address in seeded if re.match(own, address)]
    shown = set[str]().union(*(look(canary, address) for address in first))
    met: dict[str, int] = {}
    left = [*BEGINS[name], *links(canary.page)]
    deadline = time.monotonic() + WALK_SECONDS
    while left and time.monotonic() < deadline:
        address = left.pop(0)
        kind = kind_of(address)
        if SKIPPED.search(address) or met.get(kind, 0) >= PAGES_OF_A_KIND or address in first:
            continue
        met[kind] = met.get(kind, 0) + 1
        shown |= look(canary, address)
        left += links(canary.page)
    SHOWN_TO[walk] = shown
    pages = len(first) + sum(met.values())
    record_property("figure", f"{walk}: {len(PAYLOADS)} payloads, {pages} pages in Chromium, nothing ran")
    assert pages > 5, met


@pytest.mark.slow
def test_every_written_field_was_shown_or_has_its_reason(record_property: Any) -> None:
    """A payload on no page proves nothing; a reason for a field that a page shows is stale."""
    if set(SHOWN_TO) != {*WALKS, "mails"}:
        pytest.skip("needs all walks")
    codes = set[str]().union(*SHOWN_TO.values())
    record_property("figure", f"{len(codes)} of {len(WRITTEN)} fields shown in Chromium, {len(NOT_SEEN)} with a reason")
    assert seen_wrongly(codes, code_of) == {}
