"""No page of the inbox or of the account may break a rule of WCAG 2.2 AA that a machine can check.

The addresses come from the product's own table of routes: a page added later is checked by itself, and one with an
argument that has no value here is red until it gets one. STATES are states of those pages that an address alone decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.addresses import PLACE, routes_of
from tests.browser.axe import FEW_LOOKS, LOOKS, faults_in, faults_of
from tests.browser.conftest import NewContext, SignedIn
from tests.browser.errands import Errands, send
from tests.browser.pages import STREAM, Inbox, act, box_of, deafen, identity_in, notice, toast
from tests.browser.product import Product

ROOMS = ("inbox/", "accounts/")
STATES = (
    "/inbox/?view=available",
    "/inbox/?view=team&priority=critical",
    "/inbox/?view=team&q=nothing-has-this-in-its-title",
    "/inbox/?view=overdue",
    "/inbox/?view=later",
    "/inbox/?view=done",
    "/inbox/start/?q=nothing-is-called-this",
    "/inbox/start/no-such-workflow/",
    "/inbox/no-such-page/",
)
LETTER = {"uidb64": "MQ", "token": "a-b"}
"""The arguments of a link in an old e-mail."""
NO_PAGES = {
    "attachment_id",
    "batch_id",
    "draft_file_id",
    "file_id",
    "filter_id",
    "report_id",
}
"""A file is no page, test_own_lists.py looks at filters and reports."""


def pages_of_routes(page: Page, places: dict[str, str], *rooms: str) -> Iterator[str]:
    """Open every address of some rooms that answers with a page; acts answer 405, and some only lead elsewhere."""
    for route in routes_of(*rooms):
        if NO_PAGES & set(PLACE.findall(route)):
            continue
        address = "/" + PLACE.sub(lambda place: places[place[1]], route)
        if _is_page(page, address):
            page.goto(address)
            yield address


def _is_page(page: Page, address: str) -> bool:
    """Request an address outside of the browser, as its person, and return whether a page would come; nothing more is read."""
    server = urlsplit(page.url)
    cookies = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
    with closing(HTTPConnection(server.netloc, timeout=60)) as connection:
        connection.request("GET", address, headers={"Cookie": cookies})
        answer = connection.getresponse()
        return answer.status not in (301, 302, 405) and answer.headers.get_content_type() == "text/html"


def places_of(errands: Errands) -> dict[str, str]:
    """Fill the places of routes with a case of Ada's."""
    started = send(errands.page, "instances/", {"template": "errand", "input": {"what": "Read it aloud"}})
    return LETTER | {
        "task_id": started["tasks"][0]["id"],
        "instance_id": started["id"],
        "name": "purchase-approval",
        "absence_id": an_absence(errands),
        "question_id": started["id"],
    }


def an_absence(errands: Errands) -> str:
    """Let Gwen be away, long from now: that is nobody's concern yet."""
    day = datetime.now(UTC).date() + timedelta(days=700)
    body = {"person": "gwen", "deputy": None, "from": str(day), "until": str(day)}
    for one in errands.page.request.get("/api/v1/substitutions/").json()["results"]:
        if one["person"] == "gwen":
            return str(one["id"])
    return str(send(errands.page, "substitutions/", body)["id"])


def opened(page: Page, addresses: tuple[str, ...]) -> Iterator[str]:
    """Open some addresses."""
    for address in addresses:
        page.goto(address)
        yield address


def look_at_all(page: Page, errands: Errands, looks: tuple[object, ...]) -> dict[str, list[str]]:
    """Look at every page and every state; keep what is wrong."""
    page.goto("/inbox/")
    of_routes = pages_of_routes(page, places_of(errands), *ROOMS)
    pages = (address for some in (of_routes, opened(page, STATES)) for address in some)
    return {address: faults for address in pages if (faults := faults_in(page, looks))}  # type: ignore[arg-type]


def test_every_page_of_inbox_and_account_passes_axe(signed_in: SignedIn, errands: Errands) -> None:
    assert look_at_all(signed_in("ada"), errands, FEW_LOOKS) == {}


@pytest.mark.slow
def test_every_page_of_inbox_and_account_passes_axe_in_every_look(signed_in: SignedIn, errands: Errands) -> None:
    assert look_at_all(signed_in("ada"), errands, LOOKS) == {}


def test_every_page_before_the_door_passes_axe(product: Product, new_context: NewContext) -> None:
    page = new_context(product.address).new_page()
    page.goto("/accounts/login/")
    pages = pages_of_routes(page, LETTER, "accounts/")
    found = {address: faults_in(page, FEW_LOOKS) for address in pages}
    assert {address: faults for address, faults in found.items() if faults} == {}
    assert len(found) >= 4


def test_what_opens_on_a_page_passes_axe(signed_in: SignedIn) -> None:
    page = signed_in("ada")
    page.goto("/inbox/?view=available")
    page.locator("[data-choose]").first.check()
    act(page, "filter").click()
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert faults_of(page) == []


def test_a_question_and_its_answer_that_is_missing_pass_axe(signed_in: SignedIn, errands: Errands) -> None:
    ada, adam = signed_in("ada"), signed_in("adam")
    adam.goto("/inbox/")
    task = identity_in(errands.run("Ask about the meadow"))
    send(adam, f"tasks/{task}/claim/", {})
    send(adam, f"tasks/{task}/ask/", {"user": "ada", "question": "Which meadow?"})
    ada.goto("/inbox/questions/")
    question = ada.locator("[data-question]").filter(has_text="Which meadow?")
    assert faults_in(ada, FEW_LOOKS) == []
    act(question, "answer_question").click()
    expect(ada.locator('[data-error][data-code="required"]')).to_be_visible()
    assert faults_in(ada, FEW_LOOKS) == []
    question.locator("textarea").fill("The upper one")
    act(question, "answer_question").click()
    expect(toast(ada, "question.answered")).to_be_visible()


@pytest.mark.slow
def test_what_acts_bring_passes_axe_in_every_look(signed_in: SignedIn, errands: Errands) -> None:
    """Pages that no address leads to: wrong fields, a put-off task, a lost claim, results of many, a saved filter, no right."""
    ada, adam = signed_in("ada"), signed_in("adam")
    seen = {name: faults_in(ada) for name in faces_of_acts(ada, adam, errands)}
    assert {name: faults for name, faults in seen.items() if faults} == {}
    assert len(seen) == 12


def faces_of_acts(ada: Page, adam: Page, errands: Errands) -> Iterator[str]:
    """Act, and name the page that came of it."""
    inbox, task = Inbox(ada), errands.run("Mow the meadow")
    ada.goto(task)
    yield "task to claim"
    inbox.claim()
    act(ada, "more").click()
    yield "task of one's own, its menu open"
    ada.locator('[data-until="tomorrow"]').click()
    ada.goto(task)
    yield "task put off"
    inbox.answer("Refuse", Amount="1000")
    expect(inbox.notice).to_be_visible()
    yield "answer with wrong fields"
    inbox.answer("Done", Amount="10")
    ada.goto(task)
    expect(notice(ada, "over.completed")).to_be_visible()
    yield "task that is over"
    yield from faces_of_races(ada, adam, errands)
    ada.goto("/inbox/start/purchase-approval/")
    act(ada.get_by_role("main"), "start").click()
    expect(inbox.notice).to_be_visible()
    yield "start with wrong fields"
    ada.goto("/inbox/?view=team&due=week")
    act(ada, "save_filter_menu").click()
    yield "filter to be saved"
    ada.locator("#filter-name").fill("This week")
    act(ada, "save_filter").click()
    expect(ada.get_by_role("heading", level=1)).to_have_text("This week")
    yield "saved filter"
    act(ada, "delete_filter").click()
    yield "toast with Undo"


def faces_of_races(ada: Page, adam: Page, errands: Errands) -> Iterator[str]:
    """Let Adam be faster, and Ada hear nothing of it: live, what he takes could not be chosen any more."""
    deafen(ada)
    inbox, task = Inbox(ada), errands.run("Rake the meadow")
    ada.goto(task)
    send(adam, f"tasks/{identity_in(task)}/claim/", {})
    inbox.claim()
    expect(notice(ada, "claimed")).to_contain_text("Adam")
    yield "lost claim"
    send(adam, f"tasks/{identity_in(task)}/release/", {})
    ada.goto("/inbox/?view=available&q=rake")
    box_of(ada, "Rake the meadow").check()
    send(adam, f"tasks/{identity_in(task)}/claim/", {})
    act(ada.locator("[data-bulk]"), "claim").click()
    expect(ada.locator("[data-done]")).to_have_attribute("data-left", "1")
    yield "result of many"
    ada.unroute(STREAM)
    send(errands.page, f"tasks/{identity_in(task)}/suspend/", {"reason": "Rain"})
    ada.goto(task)
    yield "task held back"


def test_axe_sees_a_broken_page(signed_in: SignedIn) -> None:
    page = signed_in("ada")
    page.goto("/inbox/")
    page.evaluate("() => document.querySelector('main').insertAdjacentHTML('beforeend', '<input><p lang=xx-yy>x</p>')")
    assert {fault.partition(":")[0] for fault in faults_of(page)} >= {"label", "valid-lang"}
