"""What each outcome leads to and what time brings, as the page says it; and how acts over time are told."""

import pytest
from django.test import Client

from engine import access
from engine.models import Instance, Signal, Task, Wait
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.outcome_preview import Foresight, foresee
from tests.cast import Cast
from tests.hooks import value, values
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

BUY = """
workflow: buy
title: Buy
input: {type: object, properties: {total: {type: number}}}
steps:
  - id: approve
    title: Approval
    task:
      title: Approve it
      roles: [finance]
      payload: {granted: "${start.total}"}
      form: {type: object, properties: {granted: {type: number, title: Granted}, why: {type: string}}}
      outcomes: {yes: {title: Approve}, changes: {title: Ask for changes}, no: {title: Reject, reject: true}}
      wip_limit: 2
      remind: [{after: PT1H, to: [ada]}]
      escalate:
        - {after: P1D, notify: [management], priority: high, roles: [management]}
        - {after: P2D, assignee: adam}
        - {after: P3D, interrupting: true, steps: [{id: sorry, title: Say sorry, call: {python: {function: echo}}}]}
  - id: choose
    switch:
      cases:
        - {when: "result.approve.outcome == 'no'", steps: [{complete: DECLINED}]}
        - when: result.approve.outcome == 'changes'
          steps: [{id: correct, title: Correct it, task: {title: Correct, assignee: gwen}}]
  - id: order
    title: Create the order
    call: {python: {function: echo, args: {total: "${result.approve.granted}"}}}
"""


@pytest.fixture
def task(cast: Cast) -> Task:
    """Return the task with three ways on and four timers."""
    activated(cast.actor("gwen"), BUY)
    return only_task(started(cast.actor("gwen"), "buy", total=5))


def page(client: Client, task: Task) -> str:
    return " ".join(client.get(f"/inbox/tasks/{task.pk}/").content.decode().split())


def test_kernel_says_what_each_outcome_leads_to_and_nothing_happens(cast: Cast, task: Task) -> None:
    before = (Signal.objects.count(), Wait.objects.count(), Instance.objects.get().updated_at)
    ahead = foresee(actor=cast.actor("ada"), task=task).outcomes
    assert {name: way.steps for name, way in ahead.items()} == {
        "yes": ("order",),
        "changes": ("choose/case.1/correct",),
        "no": ("choose/case.0/choose_complete_1",),
    }
    assert ahead["no"].outcome == "DECLINED"
    assert foresee(actor=cast.actor("ada"), task=task).outcomes == ahead
    assert (Signal.objects.count(), Wait.objects.count(), Instance.objects.get().updated_at) == before
    task.refresh_from_db()
    assert task.status == "open"


def test_what_was_foreseen_is_what_happens(cast: Cast, task: Task) -> None:
    ada = cast.actor("ada")
    foreseen = foresee(actor=ada, task=task).outcomes["changes"]
    complete_task(actor=ada, task_id=task.pk, outcome="changes", values={"granted": 5})
    following = only_task(task.instance)
    assert following.path == foreseen.steps[0]
    assert (foreseen.who or {})[following.path] == "gwen"


@pytest.mark.wording
def test_page_says_what_each_outcome_leads_to_and_what_time_brings(task: Task, browser: SignIn) -> None:
    html = page(browser("ada"), task)
    for words in (
        "Create the order",
        "Correct it <small>Gwen</small>",
        "Declined",
        "e-mail to Ada",
        "priority becomes high, also offered to Management, e-mail to Management",
        "assigned to Adam",
        "Say sorry",
        "One person may hold 2 of these at a time.",
    ):
        assert words in html, words


@pytest.mark.wording
def test_instance_says_what_comes_next_in_sentences(task: Task, browser: SignIn) -> None:
    html = " ".join(browser("gwen").get(f"/inbox/instances/{task.instance_id}/").content.decode().split())
    assert "Approve: Create the order." in html
    assert "Ask for changes: Correct it (Gwen)." in html
    assert "Reject: Declined." in html


def test_who_does_not_see_the_case_learns_nothing_of_its_way(cast: Cast, task: Task) -> None:
    for stranger in ("uri", "sam"):
        assert foresee(actor=cast.actor(stranger), task=task) == Foresight()


def test_history_tells_what_the_answer_changed(cast: Cast, task: Task, browser: SignIn) -> None:
    ada = cast.actor("ada")
    claim_task(actor=ada, task_id=task.pk)
    complete_task(actor=ada, task_id=task.pk, outcome="yes", values={"granted": 4, "why": "enough"})
    html = page(browser("ada"), task)
    assert "<dt>Granted</dt> <dd><del>5</del> <ins>4</ins></dd>" in html
    assert "<dt>Why</dt> <dd><ins>enough</ins></dd>" in html


def test_place_in_the_list_and_the_neighbours(cast: Cast, task: Task, browser: SignIn) -> None:
    others = [only_task(started(cast.actor("gwen"), "buy", total=total)) for total in (6, 7)]
    client = browser("ada")
    ids = [row.pk for row in access.tasks_available(cast.actor("ada"))]
    middle = ids[1]
    assert {task.pk, *(other.pk for other in others)} == set(ids)
    html = client.get(f"/inbox/tasks/{middle}/", headers={"Referer": "http://testserver/inbox/?view=available"})
    said = html.content.decode()
    assert value("place", said) == "2/3"
    for neighbour in (ids[0], ids[2]):
        assert f'href="/inbox/tasks/{neighbour}/?in=view%3Davailable"' in said
    elsewhere = client.get(f"/inbox/tasks/{middle}/?in=view%3Davailable%26q%3Dnothing-fits").content.decode()
    assert values("place", elsewhere) == []
