"""A running product, a real Chromium, and people who are signed in to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.chromium import Chromium, close_calmly
from tests.browser.errands import Errands, activate
from tests.browser.faces import leave_one_each
from tests.browser.outside_world import Supplier, a_supplier
from tests.browser.pages import Door
from tests.browser.product import Product, a_product
from tests.browser.watching import Watch
from workflowplatform.servers.chromium import find_chromium

DESK = {"width": 1280, "height": 860}
PAGE_MILLISECONDS = 20_000
TEST_SECONDS = 600 if os.environ.get("WORKFLOW_TEST_ALL") else 180
expect.set_options(timeout=PAGE_MILLISECONDS)  # a busy machine takes longer than the usual five seconds
CHROMIUM = Chromium(find_chromium() or "")
HUNG = pytest.StashKey[list[str]]()

NewContext = Callable[..., BrowserContext]
SignedIn = Callable[..., Page]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Choose faces before slow tests are left out, and put last what fills the product of all with payloads."""
    leave_one_each(items)
    items.sort(key=lambda item: item.path.name == "test_xss.py")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and once more when its browser hung: that says nothing about the product."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with CHROMIUM.patience(TEST_SECONDS) as hung:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if hung.is_set():
        where = [report.longreprtext for report in reports if report.failed]
        item.config.stash.setdefault(HUNG, []).append("\n".join([item.nodeid, *where]))
        with CHROMIUM.patience(TEST_SECONDS):
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report every test whose browser hung, also when its second run was green."""
    for told in config.stash.get(HUNG, []):
        terminalreporter.section(f"Chromium did not answer within {TEST_SECONDS} s; ended, and run once more")
        terminalreporter.line(told)


@pytest.fixture(scope="session")
def chromium() -> Generator[Chromium, None, None]:
    """Give the machine's Chromium; without one the journeys are skipped, and red where CI asks for all of them."""
    if not CHROMIUM.path:
        missing = pytest.fail if os.environ.get("CI", "").lower() == "true" else pytest.skip
        missing("No Chromium was found: install one, or name it by WORKFLOW_CHROMIUM.")
    yield CHROMIUM
    CHROMIUM.close()


@pytest.fixture(scope="session")
def supplier() -> Generator[Supplier, None, None]:
    """Return a server outside of the product."""
    with a_supplier() as opened:
        yield opened


@pytest.fixture(scope="session")
def product(chromium: Chromium, supplier: Supplier) -> Generator[Product, None, None]:
    """Provide one running product with its demo; its operator lets calls go to the supplier."""
    with a_product(WORKFLOW_HTTP_ALLOW=supplier.origin) as running:
        yield running


@pytest.fixture
def watch() -> Generator[Watch, None, None]:
    """Watch every page of a test; a complaint of any of them fails it."""
    watched = Watch()
    yield watched
    assert watched.complaints == []


@pytest.fixture
def new_context(chromium: Chromium, watch: Watch) -> Generator[NewContext, None, None]:
    """Open browser contexts that are watched, and close them with the test."""
    with ExitStack() as closing:

        def open_context(address: str, **options: Any) -> BrowserContext:
            context = chromium.new_context(base_url=address, **{"viewport": DESK, **options})
            closing.callback(close_calmly, context)
            context.set_default_timeout(PAGE_MILLISECONDS)
            watch.over(context, address)
            return context

        yield open_context
        watch.end()


@pytest.fixture(scope="session")
def kept_sessions() -> dict[tuple[str, str], Any]:
    """Keep sessions, so that each person signs in once per run."""
    return {}


@pytest.fixture
def signed_in(new_context: NewContext, product: Product, kept_sessions: dict[tuple[str, str], Any]) -> SignedIn:
    """Return a page of a person who is signed in, in a browser of their own."""

    def enter(name: str, of: Product = product, **options: Any) -> Page:
        kept = kept_sessions.get((name, of.address))
        context = new_context(of.address, **({"storage_state": kept} if kept else {}), **options)
        page = context.new_page()
        if not kept:
            Door(page).sign_in(name, f"demo-{name}")
            page.wait_for_url("**/inbox/")
            kept_sessions[name, of.address] = context.storage_state()
        return page

    return enter


@pytest.fixture(scope="session")
def errand_in_force() -> set[str]:
    """Remember at which product the errands' template is active."""
    return set()


@pytest.fixture
def errands(signed_in: SignedIn, product: Product, errand_in_force: set[str]) -> Errands:
    """Give small cases, started by Gwen."""
    gwen = signed_in("gwen")
    if product.address not in errand_in_force:
        activate(gwen)
        errand_in_force.add(product.address)
    return Errands(gwen)
