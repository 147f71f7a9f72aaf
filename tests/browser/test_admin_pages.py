"""No page of the admin may break a rule of WCAG 2.2 AA, stick out of a phone, or glare in the dark.

The addresses come from the product's own table of routes, their ids from its own lists: a page added later is looked at by
itself, and a list without rows is red.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.addresses import ADMIN, PLACE, routes_of
from tests.browser.axe import DARK, FEW_LOOKS, LOOKS, faults_in
from tests.browser.conftest import DESK, PAGE_MILLISECONDS, NewContext, SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import act, toast
from tests.browser.product import Product
from tests.browser.test_axe import _is_page
from tests.browser.test_screens import BRIGHT, WIDER

BREAKS = """\
workflow: breaks-at-once
title: Breaks at once
steps:
  - id: halve
    title: Halve the amount
    set: {half: "${1 / (size(start) - size(start))}"}
"""
LETTER = """\
from engine.models import DeadLetter, Instance
stopped = Instance.objects.filter(status="incident").first()
DeadLetter.objects.create(
    tenant=stopped.tenant, instance=stopped, envelope={"type": "TimerDue", "payload": {"amount": 7}},
    reason="KeyError: 'amount'", node="host-1", at=stopped.started_at)
"""
"""A signal that no release of ours can apply would be a defect: here one is written down as if there had been."""
OF_LEVEL_SIX = ("admin/queues/", "admin/accounts/tenant/", "admin/engine/signal/workers/")
TABS = ("diagram", "text", "steps", "values", "tasks", "signals", "related", "engine", "everything")
NO_PAGES = re.compile(r"autocomplete|jsi18n|logout|export|search/|/progress/|/diagram|queues/(stats|metrics|.*<)|\(\?P")
"""Answers that are no pages, and RQ's jobs, which come and go: tests/admin/test_queues.py looks at those."""


@pytest.fixture
def furnished(signed_in: SignedIn, errands: Errands, product: Product) -> Page:
    """Return every list of the admin at least one row, as people would."""
    gwen = errands.page
    gwen.goto("/admin/")
    activate(gwen, BREAKS)
    for _ in range(3):
        send(gwen, "instances/", {"template": "breaks-at-once", "input": {}})
    product.manage("shell", "-c", LETTER)
    send(gwen, "schedules/", {"template": "breaks-at-once", "cron": "0 9 * * 1", "input": {}})
    webhook = send(
        gwen, "webhooks/", {"title": "Ledger", "url": "https://ledger.example/in", "events": ["task.opened"]}
    )
    send(gwen, f"webhooks/{webhook['id']}/ping/", {})
    free = uuid4().hex  # a name that is taken is refused, and each test furnishes anew
    fill(gwen, "/admin/engine/businesscalendar/add/", name=f"office_{free}")
    fill(gwen, "/admin/engine/secret/add/", name=f"bank_{free}", value="a secret")
    product.manage("retention", "set", "--tenant", "acme", "--completed", "P9Y")
    fill(gwen, "/admin/accounts/token/add/", name="the ledger")
    retry_all(gwen)
    return gwen


def fill(page: Page, address: str, **fields: str) -> None:
    """Fill in a form of the admin and save it."""
    page.goto(address)
    for name, value in fields.items():
        page.locator(f"#content-main [name={name}]").fill(value)
    act(page, "save").click()
    expect(act(page, "save")).to_have_count(0, timeout=PAGE_MILLISECONDS)


def retry_all(page: Page) -> None:
    """Begin a bulk operation, so that one can be looked at: it fails again, which is what is shown."""
    page.goto("/admin/engine/instance/incidents/")
    act(page.locator('[data-group="breaks-at-once"]'), "retry").click()
    expect(page.locator('[data-status="done"][data-done]')).to_be_visible(timeout=60_000)


def addresses_of(page: Page, *rooms: str, without: tuple[str, ...] = ()) -> Iterator[str]:
    """List the addresses of the admin that a person can open, filled with the first row of each list."""
    keys: dict[str, str] = {}
    for route in routes_of(*rooms):
        listed = ADMIN.match(route)
        if NO_PAGES.search(route) or route.startswith(without) or (PLACE.search(route) and not listed):
            continue
        base = listed[0] if listed else ""
        if PLACE.search(route) and base not in keys:
            keys[base] = first_row(page, f"/{base}")
        if PLACE.search(route) and not keys.get(base):
            continue  # no row to open: messages come and go
        address = "/" + PLACE.sub(keys.get(base, ""), route)
        if _is_page(page, address):
            yield address


def first_row(page: Page, address: str) -> str:
    """Return the key of a list's first row; "" where there is none."""
    page.goto(address)
    rows = page.locator(f"a[href*='{address}'][href*='/change/']")
    href = (rows.count() and rows.first.get_attribute("href")) or ""
    return href.removeprefix(address).partition("/change/")[0]


def faults_at(page: Page, address: str) -> list[str]:
    """Check a page in some looks; then on a phone in dark mode for what is too bright or too wide."""
    page.goto(address)
    faults = faults_in(page, FEW_LOOKS)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    if (more := page.evaluate(WIDER)) > 0:
        faults.append(f"{more} px too wide")
    faults += [f"bright: {part}" for part in page.evaluate(BRIGHT)]
    page.set_viewport_size(DESK)
    page.emulate_media(color_scheme="light")
    headings = page.get_by_role("heading", level=1).count()
    return faults if headings == 1 else [*faults, f"{headings} first headings"]


@pytest.mark.slow
def test_no_page_of_the_admin_breaks_a_rule_light_or_dark_wide_or_narrow(signed_in: SignedIn, furnished: Page) -> None:
    gwen, zoe = furnished, signed_in("zoe")
    zoe.goto("/admin/")
    told = list(addresses_of(gwen, "admin/", without=OF_LEVEL_SIX))
    case = next(address for address in told if re.search(r"/instance/[^/]+/change/", address))
    told += [f"{case}?tab={tab}" for tab in TABS]
    found = {address: faults_at(gwen, address) for address in told}
    found |= {address: faults_at(zoe, address) for address in addresses_of(zoe, *OF_LEVEL_SIX)}
    assert {address: faults for address, faults in found.items() if faults} == {}
    assert len(found) > 60


@pytest.mark.slow
def test_no_question_before_a_background_act_breaks_a_rule(furnished: Page) -> None:
    for name, action in {"deadletter": "discard_chosen", "instance": "cancel_chosen"}.items():
        furnished.goto(f"/admin/engine/{name}/")
        furnished.locator("#result_list input[name=_selected_action]").first.check()
        furnished.locator("select[name=action]").select_option(action)
        furnished.get_by_role("button", name="Run").or_(furnished.get_by_role("button", name="Go")).first.click()
        expect(furnished.locator("[data-confirm]")).to_be_visible()
        assert faults_in(furnished, LOOKS) == []


def test_a_page_turns_dark_when_the_machine_does(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", color_scheme="light")
    gwen.goto("/admin/")
    expect(gwen.locator("html")).not_to_have_class("dark")
    gwen.emulate_media(color_scheme="dark")
    expect(gwen.locator("html")).to_have_class("dark")
    assert gwen.evaluate(BRIGHT) == []
    assert faults_in(gwen, (DARK,)) == []
    gwen.emulate_media(color_scheme="light")
    expect(gwen.locator("html")).not_to_have_class("dark")


HEARD = """() => [...document.querySelectorAll('.material-symbols-outlined')]
  .filter(icon => !icon.ariaLabel && !icon.closest('[aria-hidden=true]')).map(icon => icon.textContent.trim())"""


@pytest.mark.wording
def test_what_unfold_draws_for_the_mouse_has_a_name_and_is_reached_by_keyboard(signed_in: SignedIn) -> None:
    gwen = signed_in("gwen", viewport={"width": 360, "height": 740})
    gwen.goto("/admin/engine/instance/")
    navigation = gwen.get_by_role("link", name="Dead letters", exact=True)
    expect(navigation).not_to_be_visible()
    gwen.get_by_role("button", name="Show or hide the navigation").press("Enter")
    expect(navigation).to_be_visible()
    gwen.get_by_role("button", name=re.compile("Gwen")).press("Enter")
    expect(gwen.get_by_role("button", name="Log out", exact=True)).to_be_visible()
    gwen.get_by_role("button", name="Close", exact=True).first.press(" ")
    expect(navigation).not_to_be_visible()
    expect(gwen.get_by_role("button", name="Search", exact=True)).to_be_visible()
    gwen.get_by_role("button", name="Filters", exact=True).press("Enter")
    expect(gwen.get_by_role("link", name="incident", exact=True)).to_be_visible()
    assert gwen.evaluate(HEARD) == []
    assert faults_in(gwen, (DARK,)) == []


def test_a_template_is_written_without_scripts(signed_in: SignedIn, new_context: NewContext, product: Product) -> None:
    kept = signed_in("gwen").context.storage_state()
    page = new_context(product.address, storage_state=kept, java_script_enabled=False).new_page()
    page.goto("/admin/engine/templateversion/add/")
    page.locator("[name=source]").fill("workflow: no-scripts\nsteps:\n  - task: {title: Look, roles: [finanse]}\n")
    act(page, "save").click()
    expect(page.locator('[data-finding][data-code="unknown_role"]')).to_be_visible()
    page.locator("[name=source]").fill("workflow: no-scripts\nsteps:\n  - task: {title: Look, roles: [finance]}\n")
    act(page, "save").click()
    act(page, "review").click()
    act(page, "activate").click()
    expect(toast(page, "templateversion.activate")).to_be_visible()
