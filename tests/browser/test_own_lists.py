"""Lists as each person wants them, in a real browser: shared filters, columns, the list that opens first, a file, results."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import DESK, SignedIn
from tests.browser.errands import Errands, send
from tests.browser.pages import act, box_of, deafen, identity_in, toast

PHONE = {"width": 360, "height": 740}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LANGUAGES = pytest.mark.parametrize(
    ("language", "viewport"), [("en-GB", DESK), ("de-DE", PHONE)], ids=["english desk", "german phone"]
)
MOST_ON_THE_WIRE = 150_000
HEARD = 30_000
"""Milliseconds until an open page has heard what someone else did."""


def is_whole(page: Page) -> None:
    """Check that nothing sticks out at the side and that no rule of WCAG is broken."""
    assert page.evaluate(WIDER) <= 0
    assert faults_in(page, FEW_LOOKS) == []


@LANGUAGES
def test_columns_are_chosen_for_a_list_and_kept(signed_in: SignedIn, language: str, viewport: dict[str, int]) -> None:
    page = signed_in("mira", locale=language, viewport=viewport)
    address = "/inbox/?view=team&template=purchase-approval"
    page.goto(address)
    act(page, "view_menu").click()
    is_whole(page)
    page.locator('[name=column][value="details"]').uncheck()
    page.locator('[name=column][value="opened"]').check()
    page.locator('[name=column][value="column.total"]').check()
    act(page, "save_columns").click()
    expect(toast(page, "columns.saved")).to_be_visible()
    expect(page.locator("[data-columns]")).to_have_attribute("data-columns", re.compile("opened.* column.total$"))
    expect(page.locator('[data-cell="column.total"]').first).to_contain_text("€")
    expect(page.locator('[data-cell="opened"]').first).to_be_visible()
    is_whole(page)
    other = signed_in("mira", locale=language)
    other.goto(address)
    expect(other.locator('[data-cell="column.total"]').first).to_be_visible()
    act(other, "view_menu").click()
    act(other, "usual_columns").click()
    expect(other.locator("[data-cell]")).to_have_count(0)


@LANGUAGES
def test_a_filter_is_shared_with_a_role_renamed_and_opens_first(
    signed_in: SignedIn, language: str, viewport: dict[str, int]
) -> None:
    name = f"Due soon {language}"
    ada = signed_in("ada", locale=language, viewport=viewport)
    ada.goto("/inbox/?view=team&due=week")
    act(ada, "save_filter_menu").click()
    expect(ada.locator("#filter-name")).to_be_focused()
    ada.keyboard.type(name)
    ada.locator("#filter-share").select_option("role:finance")
    act(ada, "save_filter").click()
    expect(toast(ada, "filter.saved")).to_be_visible()
    act(ada, "edit_filter").click()
    expect(ada.locator("[data-filter]")).to_be_visible()
    is_whole(ada)
    ada.locator("#filter-name").fill(f"{name}!")
    ada.locator("[name=editable]").check()
    act(ada, "change_filter").click()
    expect(toast(ada, "filter.changed")).to_be_visible()
    row = ada.locator("[data-saved]").filter(has_text=f"{name}!")
    expect(row.locator("[data-shared-with]")).to_have_attribute("data-shared-with", "finance")
    is_whole(ada)
    act(row, "open_first").click()
    expect(toast(ada, "first.saved")).to_be_visible()
    ada.goto("/inbox/")
    expect(ada).to_have_url(re.compile(r"\?view=team&due=week$"))
    expect(ada.get_by_role("heading", level=1)).to_have_text(f"{name}!")
    ada.goto("/inbox/filters/")
    act(row, "open_first").click()
    expect(toast(ada, "first.saved")).to_be_visible()
    act(row, "delete_filter").click()
    expect(toast(ada, "filter.deleted")).to_be_visible()
    ada.goto("/inbox/")
    expect(ada.locator("[data-list]")).to_have_attribute("data-list", "mine")


@pytest.mark.parametrize(("language", "separator"), [("en-GB", ","), ("de-DE", ";")])
def test_a_list_is_downloaded_as_a_file_and_once_more(signed_in: SignedIn, language: str, separator: str) -> None:
    page = signed_in("adam", locale=language)
    page.goto("/inbox/?view=team&template=purchase-approval")
    rows = page.locator("[data-row]").count()
    act(page, "view_menu").click()
    for _again in range(2):
        with page.expect_download() as downloading:
            act(page, "export").click()
        assert re.fullmatch(r"team-\d{4}-\d\d-\d\d\.csv", downloading.value.suggested_filename)
        text = Path(downloading.value.path()).read_text(encoding="utf-8-sig")
        read = list(csv.reader(io.StringIO(text), delimiter=separator))
        assert len(read) == rows + 1
        assert any("€" in cell for cell in read[1])


@LANGUAGES
def test_the_result_of_a_bulk_action_can_be_left_and_read_again(
    signed_in: SignedIn, errands: Errands, language: str, viewport: dict[str, int]
) -> None:
    titles = (f"Wash the car {language}", f"Fill the tank {language}")
    addresses = [errands.run(title) for title in titles]
    ada, adam = signed_in("ada", locale=language, viewport=viewport), signed_in("adam")
    deafen(ada)
    ada.goto("/inbox/?view=available&template=errand")
    for title in titles:
        box_of(ada, title).check()
    send(adam, f"tasks/{identity_in(addresses[0])}/claim/", {})
    act(ada.locator("[data-bulk]"), "claim").click()
    expect(ada.locator("[data-done]")).to_have_attribute("data-left", "1")
    address = ada.url
    is_whole(ada)
    act(ada, "bulk_reports").click()
    expect(ada.locator("[data-report]").first).to_be_visible()
    is_whole(ada)
    ada.locator("[data-report] [data-row-link]").first.click()
    expect(ada).to_have_url(address)
    expect(ada.locator("[data-result]")).to_have_count(2)
    ada.locator('[data-show="left"]').click()
    expect(ada.locator("[data-result]")).to_have_count(1)


@LANGUAGES
def test_who_took_a_task_is_read_without_a_pointer(
    signed_in: SignedIn, errands: Errands, language: str, viewport: dict[str, int]
) -> None:
    title = f"Post the letter {language}"
    address = errands.run(title)
    ada = signed_in("ada", locale=language, viewport=viewport)
    ada.goto("/inbox/?view=available&template=errand")
    row = ada.locator("[data-row]").filter(has_text=title)
    expect(row).to_be_visible()
    send(signed_in("adam"), f"tasks/{identity_in(address)}/claim/", {})
    expect(row).to_have_attribute("data-gone", "claimed", timeout=HEARD)
    said = row.locator(".wf-row__gone")
    expect(said).to_be_visible()
    expect(said).to_contain_text("Adam")
    assert said.evaluate("one => getComputedStyle(one.parentElement).opacity") == "1"
    assert ada.evaluate(WIDER) <= 0


@pytest.mark.parametrize("address", ["/inbox/?view=available", "/inbox/?view=team", "/inbox/started/", "/inbox/start/"])
def test_a_page_costs_little_on_the_wire_with_nothing_in_the_cache(signed_in: SignedIn, address: str) -> None:
    page = signed_in("ada")
    bytes_of: dict[str, int] = {}
    kept: dict[str, str] = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    session.on("Network.loadingFinished", lambda one: bytes_of.__setitem__(one["requestId"], one["encodedDataLength"]))
    page.on("response", lambda one: kept.__setitem__(one.url, one.headers.get("cache-control", "")))
    page.goto(address)
    page.wait_for_load_state("load")
    expect(page.locator("body")).to_be_visible()
    assert 20_000 < sum(bytes_of.values()) <= MOST_ON_THE_WIRE
    static = {url: said for url, said in kept.items() if "/static/" in url}
    assert len(static) > 20
    assert {url for url, said in static.items() if "immutable" not in said} == set()
