"""Away, for Ada, handed over, asked, done again: in both languages, on a desk and on a phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.faces import FACES, WORDS
from tests.browser.pages import act, notice, toast
from tests.browser.pictures import picture

ORDER = """\
workflow: order-again
title: Order again
starters: {min_level: 2}
steps:
  - id: fill
    title: Fill in the order
    task:
      title: Fill in the order
      users: [ada]
      allow: [redo]
      form: {type: object, properties: {amount: {type: number, title: Amount}}}
  - {id: check, title: Check the order, task: {title: Check the order, users: [gwen]}}
"""

on_faces = pytest.mark.parametrize(("language", "size"), FACES)


def page_of(signed_in: SignedIn, name: str, language: str, size: dict[str, int] | None) -> Page:
    return signed_in(name, locale=WORDS[language], **({"viewport": size} if size else {}))


def place(language: str, size: dict[str, int] | None) -> str:
    return f"{language}{'-360' if size else ''}"


@on_faces
def test_deputy_does_what_is_the_absent_persons_until_they_are_back(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    what = f"Sort the screws {place(language, size)}"
    task = errands.run(what)
    mira = page_of(signed_in, "mira", language, size)
    mira.goto("/inbox/away/")
    if act(mira, "end_absence").count():  # in the demo she is away
        act(mira, "end_absence").first.click()
        expect(toast(mira, "absence.ended")).to_be_visible()
    ada = page_of(signed_in, "ada", language, size)
    ada.goto("/inbox/away/")
    today = datetime.now(UTC).date()
    ada.locator("#from").fill(str(today))
    ada.locator("#until").fill(str(today - timedelta(days=3)))
    ada.locator("#deputy").select_option("mira")
    ada.locator('[name="covers"][value="some"]').check()
    for other in ("accounting", "engineering", "support"):
        ada.locator(f'[name="role"][value="{other}"]').uncheck()
    act(ada, "save_absence").click()
    expect(notice(ada, "order")).to_be_visible()
    assert faults_in(ada, FEW_LOOKS) == []
    ada.locator("#until").fill(str(today + timedelta(days=2)))
    act(ada, "save_absence").click()
    expect(toast(ada, "absence.saved")).to_be_visible()
    expect(ada.locator('[data-absence][data-person="ada"]')).to_have_count(1)
    picture(ada, f"away-{place(language, size)}")
    assert faults_in(ada, FEW_LOOKS) == []

    mira.goto("/inbox/?view=available&q=screws")
    row = mira.locator("[data-row]").filter(has_text=what)
    expect(row.locator('[data-for="ada"]').first).to_be_visible()
    assert faults_in(mira, FEW_LOOKS) == []
    mira.goto(task)
    expect(mira.locator('[data-for="ada"]').first).to_be_visible()
    act(mira, "claim").filter(visible=True).first.click()
    mira.locator('[name="f.amount"]').fill("3")
    picture(mira, f"for-ada-{place(language, size)}")
    assert faults_in(mira, FEW_LOOKS) == []
    mira.keyboard.press("Control+Enter")
    expect(toast(mira, "task.completed")).to_be_visible()

    act(ada.locator('[data-absence][data-person="ada"]'), "end_absence").click()
    expect(toast(ada, "absence.ended")).to_be_visible()
    errands.run(what)
    mira.goto("/inbox/?view=available&q=screws")
    expect(mira.locator('[data-row] [data-for="ada"]')).to_have_count(0)


@on_faces
def test_task_is_delegated_returned_and_waits_for_an_answer(
    signed_in: SignedIn, errands: Errands, language: str, size: dict[str, int] | None
) -> None:
    task = errands.run(f"Choose the colour {place(language, size)}")
    ada = page_of(signed_in, "ada", language, size)
    ada.goto(task)
    act(ada, "claim").filter(visible=True).first.click()
    act(ada, "hand_over").click()
    expect(ada.locator("#person")).to_be_focused()
    picture(ada, f"hand-over-{place(language, size)}")
    assert faults_in(ada, FEW_LOOKS) == []
    ada.locator("#choose-delegate").check()
    ada.locator("#person").select_option("adam")
    act(ada, "send_hand_over").click()
    expect(toast(ada, "task.delegated")).to_be_visible()

    adam = page_of(signed_in, "adam", language, size)
    adam.goto(task)
    expect(notice(adam, "delegated")).to_be_visible()
    assert faults_in(adam, FEW_LOOKS) == []
    act(adam, "return_task").click()
    expect(toast(adam, "task.returned")).to_be_visible()

    ada.goto(task)
    act(ada, "hand_over").click()
    ada.locator("#choose-ask").check()
    picture(ada, f"ask-{place(language, size)}")
    ada.locator("#ask").fill("ur")
    ada.locator("[role=option]").filter(has_text="@uri").click()
    picture(ada, f"ask-picked-{place(language, size)}")
    assert faults_in(ada, FEW_LOOKS) == []
    act(ada, "send_hand_over").click()
    expect(ada.locator("#question-error")).to_be_visible()
    expect(ada.locator("#ask-question")).to_be_focused()
    ada.keyboard.type("Which one?")
    ada.keyboard.press("Control+Enter")
    expect(notice(ada, "waiting")).to_be_visible()
    expect(ada.locator("#answer .wf-button--primary")).to_have_count(0)
    picture(ada, f"waiting-{place(language, size)}")
    assert faults_in(ada, FEW_LOOKS) == []
    act(ada, "remind_asked").click()
    expect(toast(ada, "task.reminded")).to_be_visible()
    expect(act(ada, "remind_asked")).to_be_disabled()
    act(ada, "ask_instead").click()
    expect(ada.locator("#ask")).to_be_focused()
    ada.keyboard.press("Escape")
    ada.keyboard.press("Escape")
    expect(act(ada, "hand_over")).to_be_focused()

    uri = page_of(signed_in, "uri", language, size)
    uri.goto("/inbox/questions/")
    assert faults_in(uri, FEW_LOOKS) == []
    asked = uri.locator("form[action*='/inbox/questions/']").last
    asked.locator("[name=answer]").fill("The red one")
    asked.locator("button[type=submit]").click()
    ada.goto(task)
    expect(notice(ada, "waiting")).to_have_count(0)
    expect(ada.locator('[data-part="said"]')).to_contain_text("The red one")


@on_faces
def test_answered_task_is_done_again_from_its_page(
    signed_in: SignedIn, errands: Errands, errand_in_force: set[str], language: str, size: dict[str, int] | None
) -> None:
    if "order-again" not in errand_in_force:
        activate(errands.page, ORDER)
        errand_in_force.add("order-again")
    started = send(errands.page, "instances/", {"template": "order-again", "input": {}})
    first = started["tasks"][0]["id"]
    ada = page_of(signed_in, "ada", language, size)
    ada.goto("/inbox/")
    send(ada, f"tasks/{first}/complete/", {"outcome": "done", "values": {"amount": 12.5}})
    ada.goto(f"/inbox/tasks/{first}/")
    act(ada, "open_redo").click()
    picture(ada, f"redo-{place(language, size)}")
    assert faults_in(ada, FEW_LOOKS) == []
    ada.locator("#redo-reason").fill("The amount is wrong")
    act(ada, "redo").click()
    expect(toast(ada, "task.redone")).to_be_visible()
    expect(ada).to_have_url(re.compile(rf"/inbox/tasks/(?!{first})"))
    expect(ada.locator('[name="f.amount"]')).to_have_value({"en": "12.5", "de": "12,5"}[language])
    assert faults_in(ada, FEW_LOOKS) == []


def test_task_is_handed_over_without_scripts(signed_in: SignedIn, errands: Errands) -> None:
    task = errands.run("Carry the ladder")
    ada = signed_in("ada", java_script_enabled=False)
    ada.goto(task)
    act(ada, "claim").filter(visible=True).first.click()
    act(ada, "hand_over").click()
    ada.locator("#choose-ask").check()
    ada.locator("#ask").fill("uri")
    ada.locator("#ask-question").fill("How long is it?")
    act(ada, "send_hand_over").click()
    expect(notice(ada, "waiting")).to_be_visible()
    act(ada, "ask_instead").click()
    ada.locator("#ask").fill("nobody at all")
    act(ada, "send_hand_over").click()
    expect(ada.locator("#ask-error")).to_be_visible()
    act(ada, "cancel_hand_over").click()
    expect(ada.locator("[data-hand-over][open]")).to_have_count(0)
