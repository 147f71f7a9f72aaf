"""Permissions and times of tasks in a real browser: four eyes, snoozed, escalated, answered by several."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import FEW_LOOKS, faults_in
from tests.browser.conftest import SignedIn
from tests.browser.errands import Errands, activate, send
from tests.browser.pages import Inbox, act, box_of, identity_in, notice, toast
from tests.browser.pictures import picture

HEARD = 30_000
"""Milliseconds until a page must have heard of something, on a machine that is busy with other tests."""
PAYOUT = """\
workflow: payout
title: Payout
starters: {min_level: 2}
input: {type: object, required: [what], properties: {what: {type: string, title: What for}}}
reference: "PAY-${start.what}"
steps:
  - id: approve
    title: Approve the payout
    task:
      title: "Pay out the ${start.what}"
      users: [ada, adam]
      not_same_as: [start]
      comment: always
      outcomes: {approve: {title: Approve}}
"""
ALARM = """\
workflow: alarm
title: Alarm
starters: {min_level: 2}
steps:
  - id: look
    title: Look after it
    task:
      title: Look after the alarm
      users: [ada]
      escalate: [{after: PT3S, priority: critical, users: [adam]}]
"""
VOTE = """\
workflow: vote
title: Vote
starters: {min_level: 2}
steps:
  - id: agree
    title: Agree on the date
    task:
      title: Agree on the date of the party
      users: [ada, adam, gwen]
      outcomes: {yes: {title: Fine}, no: {title: Not that day, reject: true}}
      complete_when: done >= 2
"""


def begin(page: Page, template: str, **input_: str) -> str:
    """Start a case as the page's person, and give the address of its task."""
    started = send(page, "instances/", {"template": template, "input": input_})
    return f"/inbox/tasks/{started['tasks'][0]['id']}/"


@pytest.fixture
def rules(signed_in: SignedIn) -> None:
    """Activate the templates, once per run."""
    gwen = signed_in("gwen")
    gwen.goto("/inbox/start/")
    for title, source in (("Payout", PAYOUT), ("Alarm", ALARM), ("Vote", VOTE)):
        if not gwen.get_by_role("link", name=title, exact=True).count():
            activate(gwen, source)


def forge(page: Page, form: str, action: str) -> None:
    """Send a form of the page to another address, as a person would who looks for a way around."""
    page.locator(form).first.evaluate("(form, action) => { form.action = action; form.submit(); }", action)


@pytest.mark.usefixtures("rules")
def test_who_asked_for_it_is_refused_on_every_door_and_told_why(signed_in: SignedIn) -> None:
    ada, gwen = signed_in("ada"), signed_in("gwen")
    task = begin(ada, "payout", what="bonus")
    ada.goto(task)
    expect(ada.locator('[data-reason][data-code="four_eyes"][data-ok="no"]')).to_be_visible()
    expect(act(ada, "claim")).to_have_count(0)
    picture(ada, "four_eyes")
    forge(ada, "form[action$='/comment/']", f"{task}claim/")
    expect(notice(ada, "four_eyes")).to_be_visible()
    assert faults_in(ada, FEW_LOOKS) == []

    ada.goto("/inbox/?view=team&template=payout")
    box_of(ada, "Pay out the bonus").check()
    act(ada.locator("[data-bulk]"), "claim").click()
    expect(ada.locator("[data-result]")).to_have_attribute("data-code", "four_eyes")
    ada.goto("/inbox/?view=available&template=payout")
    expect(ada.locator("[data-row]")).to_have_count(0)
    ada.keyboard.press("n")
    expect(toast(ada, "next.none")).to_be_visible()

    gwen.goto(task)
    act(gwen, "hand_over").click()
    whom = gwen.locator("#person")
    expect(whom.get_by_role("option", name="Ada", exact=True)).to_have_count(0)
    whom.evaluate("select => select.add(new Option('Ada', 'ada', true, true))")
    act(gwen, "send_hand_over").click()
    expect(notice(gwen, "four_eyes")).to_be_visible()

    adam = Inbox(signed_in("adam"))
    adam.page.goto(task)
    adam.claim()
    expect(adam.page.get_by_role("button", name="Approve").first).to_be_visible()
    adam.page.keyboard.press("Control+Enter")
    expect(adam.page.locator("[name=comment]")).to_be_focused()
    adam.page.keyboard.type("Well earned.")
    adam.page.keyboard.press("Control+Enter")
    expect(toast(adam.page, "task.completed").filter(has_text="PAY-bonus").filter(has_text="Approve")).to_be_visible()


@pytest.mark.slow
def test_a_task_put_off_leaves_the_list_and_comes_back_by_itself(signed_in: SignedIn, errands: Errands) -> None:
    inbox = Inbox(signed_in("ada"))
    page, task = inbox.page, errands.run("Repaint the shed")
    row = page.get_by_role("link", name="Repaint the shed")
    page.goto(task)
    inbox.claim()
    expect(page.get_by_label("Amount")).to_be_focused()
    page.get_by_label("Amount").blur()
    page.keyboard.press("z")
    page.locator('[data-until="tomorrow"]').click()
    expect(toast(page, "task.snoozed")).to_be_visible()
    expect(row).to_have_count(0)
    page.goto("/inbox/?view=later")
    expect(row).to_be_visible()

    page.goto(task)
    expect(page.locator("[data-snoozed]")).to_be_visible()
    act(page, "more").click()
    act(page, "return").click()
    expect(toast(page, "task.returned")).to_be_visible()

    soon = datetime.now(UTC) + timedelta(seconds=4)
    send(page, f"tasks/{identity_in(task)}/snooze/", {"until": soon.isoformat()})
    page.goto("/inbox/?q=shed")
    inbox.reload_until(row.is_visible, "the task that was put off")
    assert datetime.now(UTC) >= soon


@pytest.mark.slow
@pytest.mark.usefixtures("rules")
def test_what_nobody_takes_is_raised_and_offered_to_another_who_hears_of_it(signed_in: SignedIn) -> None:
    ada, adam = signed_in("ada"), signed_in("adam")
    adam.goto("/inbox/?view=available&template=alarm")
    expect(adam.locator("[data-row]")).to_have_count(0)
    task = begin(ada, "alarm")
    ada.goto(task)
    expect(ada.locator('[data-part="coming"] li')).to_have_count(1)
    expect(ada.locator('.wf-meta [data-priority="critical"]')).to_have_count(0)
    adam.locator("[data-live-pill]").click(timeout=HEARD)
    row = adam.locator("[data-row]").filter(has_text="Look after the alarm")
    expect(row.locator('[data-priority="critical"]')).to_be_visible()
    ada.reload()
    expect(ada.locator('.wf-meta [data-priority="critical"]')).to_be_visible()
    ada.locator('[data-shows="history"], [data-tab="history-tab"]').filter(visible=True).click()
    expect(ada.locator('#history-tab [data-entry][data-code="escalated"]')).to_be_visible()
    picture(ada, "escalated")
    row.get_by_role("link", name="Look after the alarm").click()
    expect(adam.locator('[data-reason][data-code="offered"]')).to_have_attribute("data-ok", "yes")
    Inbox(adam).claim()
    Inbox(adam).answer("Done")
    expect(toast(adam, "task.completed").filter(has_text="Look after the alarm")).to_be_visible()


@pytest.mark.slow
@pytest.mark.usefixtures("rules")
def test_two_of_three_answer_each_once_and_the_third_is_no_longer_asked(signed_in: SignedIn) -> None:
    gwen, ada, adam = (Inbox(signed_in(name)) for name in ("gwen", "ada", "adam"))
    task = begin(gwen.page, "vote")
    for inbox in (gwen, ada):
        inbox.page.goto(task)
    ada.answer("Fine")
    expect(
        toast(ada.page, "task.completed").filter(has_text="Agree on the date of the party").filter(has_text="Fine")
    ).to_be_visible()
    ada.page.goto(task)
    expect(ada.page.get_by_role("button", name="Fine")).to_have_count(0)
    expect(ada.page.locator('[data-reason][data-code="answered"]')).to_be_attached()
    adam.page.goto(task)
    expect(adam.page.locator("[data-several]")).to_have_attribute("data-answered", "ada")
    adam.answer("Not that day")
    expect(gwen.page.locator("[data-live-task]")).not_to_be_empty(timeout=HEARD)
    gwen.answer("Fine")
    expect(notice(gwen.page, "closed")).to_be_visible()
