"""The page of a team in a real browser: by keyboard, by dragging, on a phone, in German."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import FEW_LOOKS, LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, options_of
from tests.browser.pages import act, box_of, toast
from tests.browser.pictures import picture

PARCELS = """\
workflow: parcels
title: Parcels
starters: {min_level: 2}
input: {type: object, required: [what], properties: {what: {type: string}}}
steps:
  - id: pack
    task: {title: "${start.what}", roles: [finance], min_level: 2, due: PT0.1S, not_same_as: [start], comment: never}
"""
PHONE = {"width": 360, "height": 740}
NUMBERS = count(1)
GERMAN = {"locale": "de-DE"}
on_faces = pytest.mark.parametrize(("language", "size"), FACES)


@pytest.fixture
def parcels(errands: Errands) -> Iterator[list[str]]:
    """Give Ada three tasks of Finance under names of their own, started by Gwen, and one that Mira asked for."""
    activate(errands.page, PARCELS)
    return [f"Parcel {next(NUMBERS)}" for _number in range(3)]


def hand_to(page: Page, who: str, titles: list[str]) -> None:
    """Start a case for each and give its task to a person."""
    for title in titles:
        made = send(page, "instances/", {"template": "parcels", "input": {"what": title}})
        send(page, f"tasks/{made['tasks'][0]['id']}/assign/", {"user": who})


def row_of(page: Page, name: str) -> Locator:
    return page.locator(f'[data-person="{name}"]')


def open_count(page: Page, name: str) -> int:
    return int(row_of(page, name).locator('[data-figure="open"]').get_attribute("data-value") or "")


@on_faces
def test_tasks_move_by_keyboard_alone_and_undo_returns_them(
    signed_in: SignedIn, errands: Errands, parcels: list[str], language: str, size: dict[str, int] | None
) -> None:
    hand_to(errands.page, "ada", parcels)
    page = signed_in("ada", **options_of(language, size))
    page.goto("/inbox/")
    if not size:
        page.locator('[data-nav="load"]').first.press("Enter")
        expect(page).to_have_url(re.compile("/inbox/team/"))
    page.goto("/inbox/team/?role=finance")
    before = open_count(page, "mira")
    act(row_of(page, "ada"), "open_person").press("Enter")
    expect(page.locator("#tasks")).to_be_visible()
    for title in parcels[:2]:
        box_of(page, title).press("Space")
    receiver = page.locator("[data-move-to]")
    receiver.focus()
    while receiver.input_value() != "mira":
        receiver.press("ArrowDown")
    expect(page.locator("[data-move-after]")).to_contain_text(f"{before} → {before + 2}")
    if (language, size) == ("en", None):
        picture(page, "team")
    act(page, "move").press("Enter")
    expect(toast(page, "tasks.assign")).to_be_visible()
    assert open_count(page, "mira") == before + 2
    expect(page.locator("h1")).to_be_focused()
    page.locator("[data-toast] form button, [data-toast] [data-undo]").first.press("Enter")
    expect(toast(page, "tasks.give_back")).to_be_visible()
    assert open_count(page, "mira") == before


def test_dragging_a_row_onto_a_person_moves_all_that_are_selected(
    signed_in: SignedIn, errands: Errands, parcels: list[str]
) -> None:
    hand_to(errands.page, "ada", parcels)
    page = signed_in("ada")
    page.goto("/inbox/team/?role=finance&person=ada")
    before = open_count(page, "mira")
    box_of(page, parcels[0]).check()
    box_of(page, parcels[1]).check()
    page.locator("[data-row]").filter(has_text=parcels[1]).drag_to(
        row_of(page, "mira"), source_position={"x": 300, "y": 8}
    )
    expect(toast(page, "tasks.assign")).to_be_visible()
    assert open_count(page, "mira") == before + 2
    expect(page.locator("[data-row]").filter(has_text=parcels[2])).to_be_visible()


@on_faces
def test_what_the_receiver_may_not_do_is_named_and_stays(
    signed_in: SignedIn, errands: Errands, parcels: list[str], language: str, size: dict[str, int] | None
) -> None:
    hand_to(errands.page, "ada", parcels[:1])
    mira = signed_in("mira")
    made = send(mira, "instances/", {"template": "parcels", "input": {"what": parcels[1]}})
    send(errands.page, f"tasks/{made['tasks'][0]['id']}/assign/", {"user": "ada"})
    page = signed_in("ada", **options_of(language, size))
    page.goto("/inbox/team/?role=finance&person=ada")
    for title in parcels[:2]:
        box_of(page, title).check()
    page.locator("[data-move-to]").select_option("mira")
    act(page, "move").click()
    expect(page.locator("[data-done]")).to_have_attribute("data-done", "1")
    expect(page.locator('[data-result][data-code="four_eyes"]')).to_contain_text("Mira")
    expect(toast(page, "tasks.assign")).to_be_visible()
    assert faults_in(page, FEW_LOOKS) == []
    page.locator("[data-back]").click()
    expect(page).to_have_url(re.compile("/inbox/team/.*person=ada"))


@pytest.mark.parametrize("german", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_page_holds_at_every_width_and_in_every_look(
    signed_in: SignedIn, errands: Errands, parcels: list[str], german: bool
) -> None:
    hand_to(errands.page, "ada", parcels)
    page = signed_in("ada", **(GERMAN if german else {}))
    page.goto("/inbox/team/?role=finance&person=ada")
    expect(page.locator("html")).to_have_attribute("lang", "de" if german else "en")
    act(page, "chart_table").click()
    box_of(page, parcels[0]).check()
    assert faults_in(page, LOOKS) == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    box_of(page, parcels[1]).check()
    page.locator("[data-move-to]").select_option("mira")
    picture(page, "team_phone_de" if german else "team_phone")
    act(page, "move").click()
    expect(toast(page, "tasks.assign")).to_be_visible()


def test_an_unclaimed_task_is_answered_in_one_step_and_claimed_by_it(signed_in: SignedIn, errands: Errands) -> None:
    address = errands.run("Post the letter")
    page = signed_in("ada")
    page.goto(address)
    expect(act(page, "claim")).to_be_visible()
    page.locator("#answer [name$=amount]").first.fill("5")
    page.locator("[data-first-outcome]").click()
    expect(toast(page, "task.completed")).to_be_visible()
    page.goto(address)
    expect(page.locator('[data-entry][data-code="completed"]').first).to_be_attached()
