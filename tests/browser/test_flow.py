"""A pile of tasks by keys, one search, a request of one's own: in a real browser."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in, faults_of
from tests.browser.conftest import DESK, SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS, options_of
from tests.browser.pages import Inbox, act, toast
from tests.browser.pictures import picture

PILE = """\
workflow: pile-of-tasks
title: Pile of tasks
starters: {min_level: 2}
input: {type: object, properties: {number: {type: integer}}}
steps:
  - id: look
    task:
      title: "Look at pile ${start.number}"
      assignee: ada
      comment: never
      outcomes: {fine: {title: Fine}, wrong: {title: Wrong, reject: true}}
"""
REQUEST = """\
workflow: new-desk
title: New desk
starters: {min_level: 2}
input:
  type: object
  required: [what]
  properties: {what: {type: string, title: What to buy}}
case_title: "${start.what} for ${person(instance.started_by)}"
reference: {key: "${'DESK-' + start.what}"}
steps:
  - id: review
    title: Manager
    task:
      title: "Review ${start.what}"
      roles: [finance]
      comment: never
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
  - id: choice
    if: result.review.outcome == 'reject'
    then:
      - complete: {outcome: REJECTED}
  - id: order
    title: Purchasing
    task: {title: "Order ${start.what}", roles: [support], comment: never}
"""
SIZE = 20 if os.environ.get("WORKFLOW_TEST_ALL") else 6
on_faces = pytest.mark.parametrize(("language", "size"), FACES)


def a_pile(errands: Errands, page: Page, size: int) -> None:
    """Give Ada some tasks of her own."""
    activate(errands.page, PILE)
    for number in range(size):
        started = send(errands.page, "instances/", {"template": "pile-of-tasks", "input": {"number": number}})
        send(page, f"tasks/{started['tasks'][0]['id']}/claim/", {})


@on_faces
def test_a_pile_of_own_tasks_takes_one_key_each(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    ada = signed_in("ada", **options_of(language, size))
    ada.goto("/inbox/")
    a_pile(errands, ada, SIZE)
    ada.goto("/inbox/?view=mine&template=pile-of-tasks")
    ada.locator("[data-row-link]").first.click()
    for number in range(SIZE):
        expect(ada.get_by_role("heading", level=1)).to_have_text(f"Look at pile {number}")
        if number:
            expect(ada.locator("h1")).to_be_focused()
            expect(toast(ada, "task.completed")).to_be_visible()
        ada.keyboard.press("Control+Enter" if number % 2 else "2")
    expect(ada).to_have_url("/inbox/?view=mine&template=pile-of-tasks")


def test_escape_leaves_a_field_then_a_menu_then_the_selection(signed_in: SignedIn, errands: Errands) -> None:
    errands.run("Sort the shelves")
    ada = signed_in("ada")
    ada.goto("/inbox/?view=available&q=shelves")
    ada.locator("[data-choose]").first.check()
    ada.locator(".wf-tools__save > summary").click()
    expect(ada.locator("#filter-name")).to_be_focused()
    ada.keyboard.press("Escape")
    expect(ada.locator("#filter-name")).not_to_be_focused()
    expect(ada.locator("details[data-menu][open]")).to_have_count(1)
    ada.keyboard.press("Escape")
    expect(ada.locator("details[data-menu][open]")).to_have_count(0)
    expect(ada.locator("[data-choose]:checked")).to_have_count(1)
    ada.keyboard.press("Escape")
    expect(ada.locator("[data-choose]:checked")).to_have_count(0)


@on_faces
def test_one_search_finds_tasks_and_cases_from_any_field(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    word = f"zephyrine{language}{'phone' if size else 'desk'}"
    task = errands.run(f"Water the {word} plants")
    ada = signed_in("ada", **options_of(language, size))
    ada.goto("/inbox/?view=available")
    ada.locator("[data-search]").focus()
    ada.keyboard.press("Control+k")
    field = ada.locator("[data-search-all]")
    expect(field).to_be_focused()
    field.fill(word)
    expect(ada.locator('[data-group="tasks"] [role=option]')).to_have_count(1)
    expect(ada.locator("mark.wf-hit").first).to_have_text(word)
    assert faults_in(ada, FEW_LOOKS) == []
    ada.keyboard.press("Escape")
    expect(ada.locator("[data-search]")).to_be_focused()
    ada.keyboard.press("Control+k")
    expect(ada.locator('[data-group="tasks"] [role=option][aria-selected=true]')).to_have_count(1)
    ada.keyboard.press("Enter")
    expect(ada).to_have_url(task)


def test_a_request_of_ones_own_is_reminded_commented_and_withdrawn(signed_in: SignedIn, errands: Errands) -> None:
    activate(errands.page, REQUEST)
    for options in ({}, {"viewport": {"width": 360, "height": 780}, "locale": "de"}):
        uri = signed_in("uri", **options)
        uri.goto("/inbox/start/new-desk/")
        expect(uri.locator('[data-stop="review"]')).to_be_visible()
        uri.locator("input[name='f.what']").fill("Oak desk")
        act(uri.get_by_role("main"), "start").click()
        expect(uri.get_by_role("heading", level=1)).to_contain_text("Oak desk")
        expect(uri.locator('[data-stop="review"]')).to_have_attribute("data-state", "here")
        act(uri, "remind").click()
        expect(toast(uri, "instance.reminded")).to_be_visible()
        expect(act(uri, "remind")).to_have_count(0)
        uri.locator("[data-comment]").fill("The blue one")
        act(uri, "comment").click()
        expect(uri.locator('[data-entry][data-code="comment_workflow"]')).to_contain_text("The blue one")
        assert faults_in(uri, FEW_LOOKS) == []
        act(uri, "more" if options else "withdraw_menu").click()
        assert faults_of(uri) == []
        act(uri, "print_case").filter(visible=True).focus()
        uri.locator("#withdraw-reason-phone" if options else "#withdraw-reason").fill("Found one")
        act(uri, "withdraw").filter(visible=True).click()
        expect(toast(uri, "instance.withdraw")).to_be_visible()
        act(uri, "start_again").click()
        expect(uri.locator("input[name='f.what']")).to_have_value("Oak desk")


@pytest.mark.parametrize(("language", "size"), FACES)
def test_a_rejected_request_says_so_and_starts_again(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    activate(errands.page, REQUEST.replace("new-desk", "turned-desk").replace("comment: never", "comment: optional", 1))
    uri, ada = signed_in("uri", locale=WORDS[language], viewport=size or DESK), signed_in("ada")
    uri.goto("/inbox/")
    ada.goto("/inbox/")
    case = send(uri, "instances/", {"template": "turned-desk", "input": {"what": "Marble desk"}})
    answer = {"outcome": "reject", "comment": "Oak will do"}
    task = ada.request.get(f"/api/v1/instances/{case['id']}/").json()["tasks"][0]["id"]
    send(ada, f"tasks/{task}/complete/", answer)
    uri.goto(f"/inbox/instances/{case['id']}/")
    said = uri.locator('[data-part="summary"] h2').filter(has_text="Oak will do")
    Inbox(uri).reload_until(lambda: said.count() == 1, "the reason")
    expect(said).to_contain_text("Ada")
    expect(uri.locator('[data-stop="review"]')).to_have_attribute("data-state", "bad")
    expect(uri.locator("[data-stop]").last).to_have_attribute("data-state", "bad")
    Inbox(uri).reload_until(lambda: uri.locator(".wfd-node.wfd-bad").count() == 1, "the diagram with its end")
    picture(uri, f"request-rejected-{language}{'-360' if size else ''}")
    assert faults_in(uri, FEW_LOOKS) == []
    act(uri, "start_again").click()
    expect(uri.locator("input[name='f.what']")).to_have_value("Marble desk")


def test_without_scripts_a_request_is_commented_and_found(signed_in: SignedIn, errands: Errands) -> None:
    activate(errands.page, REQUEST.replace("new-desk", "plain-desk"))
    started = send(errands.page, "instances/", {"template": "plain-desk", "input": {"what": "Pine"}})
    gwen = signed_in("gwen", java_script_enabled=False)
    gwen.goto(f"/inbox/instances/{started['id']}/")
    gwen.locator("[data-comment]").fill("Said without scripts")
    act(gwen, "comment").click()
    expect(gwen.get_by_text("Said without scripts")).to_be_visible()
    gwen.goto("/inbox/search/?q=DESK-Pine")
    expect(gwen.locator('[data-group="cases"]')).to_be_visible()
    gwen.goto(f"/inbox/instances/{started['id']}/")
