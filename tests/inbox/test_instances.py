"""The page of an instance."""

import re

import pytest
from pytest_django import DjangoAssertNumQueries

from engine.diagram.step_names import REJECTED, look_of
from engine.models import Instance
from engine.presentation.narrative.audit_messages import INSTANCE_MESSAGES, TASK_MESSAGES
from engine.presentation.narrative.status_summary import summary_of
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import codes, part
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

KEPT = """
workflow: kept
title: Kept
input: {type: object, properties: {amount: {type: number, title: Invoice total, x-unit: €}}}
state: {amount: "${start.amount}"}
steps:
  - id: look
    task: {title: Look}
"""
ASKED = """
workflow: asked
title: Asked
starters: {min_level: 2}
steps:
  - id: look
    task:
      title: Look
      assignee: ada
      comment: optional
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
  - complete: {outcome: "${result.look.outcome == 'reject' ? 'TURNED' : 'BOUGHT'}"}
"""
AROUND = """
workflow: around
title: Around
steps:
  - id: inner
    workflow: {name: review, input: {what: lunch, amount: 3}}
"""


@pytest.mark.wording
def test_sentence_says_for_whom_it_waits(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    uri = browser("uri")
    assert "Waiting for Finance to claim “Review lunch”" in uri.get(f"/inbox/instances/{instance.pk}/").content.decode()
    claim_task(actor=cast.actor("ada"), task_id=only_task(instance).pk)
    assert "Ada in Finance is deciding, since today" in uri.get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert (
        "Waiting for Ada to answer “Review lunch”"
        in browser("gwen").get(f"/inbox/instances/{instance.pk}/").content.decode()
    )


def test_timeline_tells_who_did_what_and_what_changed(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    complete_task(
        actor=cast.actor("ada"),
        task_id=only_task(instance).pk,
        outcome="approve",
        values={"note": "ok"},
        comment="Enjoy",
    )
    html = browser("uri").get(f"/inbox/instances/{instance.pk}/").content.decode()
    told = part("timeline", html)
    assert codes("entry", told)[0] == "task_completed" or "task_completed" in codes("entry", told)
    assert codes("entry", told)[-1] == "start_workflow"
    for said in ("Finance review", "Approve", "Enjoy", "<del>low</del> <ins>high</ins>"):
        assert said in told


@pytest.mark.wording
def test_ended_instance_says_how(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    ada = cast.actor("ada")
    complete_task(actor=ada, task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    complete_task(actor=ada, task_id=only_task(instance).pk)
    html = browser("gwen").get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert "Completed today" in html


@pytest.mark.wording
def test_cancelled_case_says_by_whom_and_why_and_each_thing_once(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    cancel_instance(actor=cast.actor("gwen"), instance_id=instance.pk, reason="no budget")
    html = browser("uri").get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert "Gwen: “no budget”" in html
    told = [" ".join(text.split()) for text in re.findall(r'class="wf-timeline__words">(.*?)</div>', html, re.S)]
    assert told == ["<b>Gwen</b> cancelled it", "Finance review was withdrawn", "<b>Uri</b> started it"]


def test_data_that_the_start_asked_for_is_named_and_measured_as_there(cast: Cast, gwen: Actor, browser: SignIn) -> None:
    activated(gwen, KEPT)
    instance = started(gwen, "kept", amount=6400)
    html = browser("gwen").get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert re.search(r"<dt>Invoice total</dt>\s*<dd[^>]*>€6,400.00</dd>", part("data", html))


def test_every_event_of_a_task_has_its_words_in_the_story_of_the_case() -> None:
    assert {f"task_{kind}" for kind in TASK_MESSAGES} <= set(INSTANCE_MESSAGES)


def test_case_that_waits_for_another_leads_to_it(cast: Cast, gwen: Actor, review: str, browser: SignIn) -> None:
    activated(gwen, AROUND)
    instance = started(gwen, "around")
    (child,) = Instance.objects.filter(parent=instance)
    link = f'href="/inbox/instances/{child.pk}/" data-act="open_child"'
    assert link in browser("ada").get(f"/inbox/instances/{instance.pk}/").content.decode()


def test_starter_reads_titles_of_tasks_but_gets_no_link_to_what_is_not_theirs(
    cast: Cast, review: str, browser: SignIn
) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    html = browser("uri").get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert "Review lunch" in html
    assert f"/inbox/tasks/{only_task(instance).pk}/" not in html


def test_level_two_does_not_see_what_others_started(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("ada"), "review", what="lunch", amount=3)
    assert browser("uri").get(f"/inbox/instances/{instance.pk}/").status_code == 404


def test_started_lists_only_ones_own(cast: Cast, review: str, browser: SignIn) -> None:
    started(cast.actor("uri"), "review", what="mine", amount=3)
    started(cast.actor("ada"), "review", what="hers", amount=3)
    html = browser("uri").get("/inbox/started/").content.decode()
    assert "EXP-mine" in html
    assert "EXP-hers" not in html


@pytest.mark.parametrize("address", ["/inbox/started/", "/inbox/start/"])
def test_lists_cost_the_same_for_one_row_and_for_many(
    cast: Cast, review: str, browser: SignIn, address: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ada, actor = browser("ada"), cast.actor("ada")
    costs = []
    for _round in range(2):
        for number in range(1 + 5 * _round):
            start_instance(actor=actor, template="review", input={"what": f"x{number}", "amount": 1})
        with django_assert_max_num_queries(14) as counted:
            ada.get(address)
        costs.append(len(counted))
    assert costs[0] == costs[1]


def test_pages_cost_the_same_however_much_happened(
    cast: Cast, review: str, browser: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    instance = started(cast.actor("uri"), "review", what="lunch", amount=3)
    gwen, ada, costs = browser("gwen"), cast.actor("ada"), []
    for _round in range(2):
        task = only_task(instance)
        counted_pages = []
        for address in (f"/inbox/instances/{instance.pk}/", f"/inbox/tasks/{task.pk}/"):
            with django_assert_max_num_queries(32) as counted:
                gwen.get(address)
            counted_pages.append(len(counted))
        costs.append(counted_pages)
        if task.step == "review":
            complete_task(actor=ada, task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert costs[0][0] == costs[1][0]


@pytest.mark.parametrize("comment", ["Too dear", ""])
def test_a_rejected_request_says_by_whom_and_is_not_drawn_as_done(
    cast: Cast, gwen: Actor, browser: SignIn, comment: str
) -> None:
    """A rejection ends a case as completed: the page of its starter still says that it was turned down, and by whom."""
    activated(gwen, ASKED)
    instance = started(cast.actor("uri"), "asked")
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="reject", comment=comment)
    instance.refresh_from_db()
    assert instance.status == "completed"
    tasks = list(instance.tasks.all())
    told = summary_of(instance, [], tasks, {}, None)
    assert told.tone == "danger"
    assert "Ada" in told.first
    assert ("“" in told.first) is bool(comment)
    assert comment in told.first
    html = browser("uri").get(f"/inbox/instances/{instance.pk}/").content.decode()
    states = re.findall(r'data-stop="(\w*)" data-state="(\w+)"', html)
    assert states == [("", "done"), ("look", "bad"), ("", "bad")]
    (again,) = re.findall(r'<a class="([^"]+)"\s+href="[^"]+\?again=[^"]+"', html)
    assert "wf-button--primary" in again


def test_an_approved_request_is_drawn_as_done(cast: Cast, gwen: Actor, browser: SignIn) -> None:
    activated(gwen, ASKED)
    instance = started(cast.actor("uri"), "asked")
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="approve")
    html = browser("uri").get(f"/inbox/instances/{instance.pk}/").content.decode()
    assert {state for _stop, state in re.findall(r'data-stop="(\w*)" data-state="(\w+)"', html)} == {"done"}


REJECTING = [
    "REJECTED",
    "Declined",
    "not_answered",
    "ABGELEHNT",
    "Abgelehnt durch Finanzen",
    "zurückgezogen",
    "storniert",
]


@pytest.mark.parametrize("outcome", REJECTING)
def test_an_end_that_turns_a_request_down_is_drawn_like_that(outcome: str) -> None:
    assert look_of({"complete": {"outcome": outcome}}) == REJECTED


@pytest.mark.parametrize("outcome", ["APPROVED", "notified", "Freigegeben", "noted", "bezahlt"])
def test_other_ends_are_drawn_as_done(outcome: str) -> None:
    assert look_of({"complete": {"outcome": outcome}}) != REJECTED
