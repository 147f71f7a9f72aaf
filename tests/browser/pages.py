"""The pages as people use them, found by their hooks (docs/testing.md): rewording a page changes nothing here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

IDENTITY = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PATIENCE = 60.0
"""Seconds until a worker must have continued, on a machine that is busy with other tests."""
STREAM = "**/api/v1/stream/**"


def deafen(page: Page) -> None:
    """Let pages loaded from now on hear nothing of what others do."""
    page.route(STREAM, lambda stream: stream.abort())


def act(place: Page | Locator, name: str) -> Locator:
    """Find what does something: a button, a link or what opens a menu."""
    return place.locator(f'[data-act="{name}"]')


def toast(page: Page, code: str) -> Locator:
    """Find what says that something was done."""
    return page.locator(f'[data-toast][data-code="{code}"]')


def notice(page: Page, code: str) -> Locator:
    """Find what says that something was refused, or happened meanwhile."""
    return page.locator(f'[data-notice][data-code="{code}"]')


def wait_until(page: Page, there: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Let the browser work until something has come of it that only the test can see."""
    deadline = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s at {page.url}"
        page.wait_for_timeout(20)


def box_of(page: Page, title: str) -> Locator:
    """Find the box that selects a row of a list."""
    return page.locator("[data-row]").filter(has_text=title).locator("[data-choose]")


@dataclass(frozen=True, slots=True)
class Door:
    """Signing in and out."""

    page: Page

    def sign_in(self, name: str, password: str) -> None:
        """Fill in the sign-in form."""
        self.page.goto("/accounts/login/")
        self.fill(name, password)

    def fill(self, name: str, password: str) -> None:
        """Fill in the form on the page, and send it."""
        self.page.locator("[name=username]").fill(name)
        self.page.locator("[name=password]").fill(password)
        act(self.page, "sign_in").click()

    def sign_out(self) -> None:
        """Leave by the menu."""
        act(self.page, "account").click()
        act(self.page, "sign_out").filter(visible=True).click()


@dataclass(frozen=True, slots=True)
class Authoring:
    """The admin's page of a template version."""

    page: Page

    def begin(self) -> None:
        """Open an empty template from the list of templates."""
        self.page.goto("/admin/engine/template/")
        self.page.locator("a[href$='/template/add/']").first.click()

    def write(self, source: str) -> None:
        """Replace the whole text in the editor."""
        self.page.locator(".cm-content").wait_for()
        # By the editor's own selection: one that the browser makes is lost where the editor draws its lines anew meanwhile.
        self.page.locator(".cm-content").press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)

    def save(self) -> None:
        """Keep the draft."""
        self.page.locator("[name=_save]").click()

    def activate(self) -> None:
        """Save the draft, read what changes, and activate it."""
        self.page.locator("[name=_changes]").click()
        act(self.page, "activate").click()

    @property
    def findings(self) -> Locator:
        """The list of findings."""
        return self.page.locator("#findings li.wf-finding")

    @property
    def line_marked(self) -> Locator:
        """The lines of the text that hold an error."""
        return self.page.locator(".cm-line.wf-line-error")

    def template_titled(self, title: str) -> str:
        """Find a template in the list and answer its id."""
        self.page.goto("/admin/engine/template/")
        row = self.page.get_by_role("row").filter(has_text=title)
        return identity_in(row.locator("a[href*='/change/']").first.get_attribute("href") or "")


@dataclass(frozen=True, slots=True)
class Inbox:
    """A person's inbox: start, claim, answer, look."""

    page: Page

    def open(self, view: str = "mine") -> None:
        """Open one of the lists by its name at the side."""
        self.page.goto("/inbox/")
        self.page.locator(f'[data-part="lists"] [data-nav="{view}"]').click()
        expect(self.page.locator("[data-list]")).to_have_attribute("data-list", view)

    def start(self, title: str, **fields: str) -> str:
        """Start a workflow by its form and answer the instance's id."""
        self.page.goto("/inbox/start/")
        self.page.get_by_role("link", name=title, exact=True).click()
        self.fill(**fields)
        act(self.page.get_by_role("main"), "start").click()
        expect(self.page).to_have_url(re.compile("/inbox/instances/"))
        return identity_in(self.page.url)

    def fill(self, **fields: str) -> None:
        """Fill in fields by their labels."""
        for label, value in fields.items():
            self.page.get_by_label(re.compile(rf"^\s*{label}(\s+\S+)?\s*$")).fill(value)

    def claim(self) -> None:
        """Claim the task on the page."""
        claim = act(self.page.get_by_role("main"), "claim")
        claim.click()
        expect(claim).to_have_count(0)

    def answer(self, outcome: str, **fields: str) -> None:
        """Answer the task on the page."""
        self.fill(**fields)
        self.page.get_by_role("button", name=outcome).first.click()

    def open_task(self, title: str, view: str = "available") -> str:
        """Open a task from a list, waiting until it is there, and answer its id; it is searched for: lists have pages."""
        self.open(view)
        address = self.page.url
        self.page.goto(f"{address}{'&' if '?' in address else '?'}{urlencode({'q': title})}")
        row = self.page.get_by_role("link", name=title, exact=True)
        self.reload_until(row.is_visible, f"{title!r} in {view}")
        row.click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)
        return identity_in(self.page.url)

    def open_instance(self, identity: str) -> None:
        """Open the page of an instance."""
        self.page.goto(f"/inbox/instances/{identity}/")

    def reload_until(self, there: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        """Look again, as a person would, until something shows."""
        deadline = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s at {self.page.url}"
            self.page.wait_for_timeout(250)
            self.page.reload()

    @property
    def notice(self) -> Locator:
        """What a refusal says."""
        return self.page.locator("[role=alert][data-notice]")

    @property
    def status(self) -> Locator:
        """The status word under the title."""
        return self.page.locator(".wf-meta .wf-tag").first

    @property
    def timeline(self) -> Locator:
        """What happened, newest first."""
        return self.page.locator('[data-part="timeline"] [data-entry]')


def identity_in(address: str) -> str:
    """Read the id in an address."""
    found = IDENTITY.search(address)
    assert found, f"{address} holds no id"
    return found[0]
