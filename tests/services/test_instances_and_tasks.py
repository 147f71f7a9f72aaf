"""Starting and answering: field errors, refusals, and that nothing is lost."""

import pytest

from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, Instance, Task
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.workflows import APPROVAL, TIMER, TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor


@pytest.fixture
def review(gwen: Actor, uri: Actor) -> Task:
    """Return a review for finance that Uri asked for."""
    activated(gwen, APPROVAL)
    return only_task(started(uri, "approval", amount=7))


def test_bad_input_is_a_field_error_and_starts_nothing(gwen: Actor, uri: Actor) -> None:
    activated(gwen, APPROVAL)
    for wrong in ({}, {"amount": "much"}, {"amount": -1}, [], "x"):
        with pytest.raises(Invalid) as refusal:
            start_instance(actor=uri, template="approval", input=wrong)
        assert refusal.value.errors
    assert not Instance.objects.exists()


def test_below_the_starters_level_nothing_starts(gwen: Actor, uri: Actor) -> None:
    activated(gwen, TIMER)
    with pytest.raises((Refused, NotFound)):
        start_instance(actor=uri, template="timer", input={})
    assert not Instance.objects.exists()


def test_another_tenants_template_cannot_be_started(gwen: Actor, sam: Actor) -> None:
    activated(gwen, TIMER)
    with pytest.raises(NotFound):
        start_instance(actor=sam, template="timer", input={})


def test_a_bad_answer_is_a_field_error_and_the_task_stays(ada: Actor, review: Task) -> None:
    with pytest.raises(Invalid) as refusal:
        complete_task(actor=ada, task_id=review.pk, outcome="approve", values={})
    assert [error.path for error in refusal.value.errors] == ["values.note"]
    review.refresh_from_db()
    assert review.status == "open"


def test_an_unknown_outcome_names_those_that_exist(ada: Actor, review: Task) -> None:
    with pytest.raises(Invalid, match="approve, reject"):
        complete_task(actor=ada, task_id=review.pk, outcome="maybe", values={"note": "?"})


def test_a_rejection_needs_its_comment(ada: Actor, review: Task) -> None:
    with pytest.raises(Invalid) as refusal:
        complete_task(actor=ada, task_id=review.pk, outcome="reject", values={"note": "no"})
    assert refusal.value.code == "comment_required"
    done = complete_task(actor=ada, task_id=review.pk, outcome="reject", values={"note": "no"}, comment="too much")
    assert done.instance.state == {"approved": False}


def test_the_second_answer_is_told_of_the_first(ada: Actor, review: Task) -> None:
    complete_task(actor=ada, task_id=review.pk, outcome="approve", values={"note": "ok"})
    with pytest.raises(Conflict) as told:
        complete_task(actor=ada, task_id=review.pk, outcome="reject", values={"note": "no"}, comment="x")
    assert told.value.code == "answered"
    review.refresh_from_db()
    assert (review.outcome, review.answer) == ("approve", {"note": "ok"})


def test_somebody_elses_answer_closes_the_task(ada: Actor, gwen: Actor, review: Task) -> None:
    complete_task(actor=ada, task_id=review.pk, outcome="approve", values={"note": "ok"})
    with pytest.raises(Conflict) as told:
        claim_task(actor=gwen, task_id=review.pk)
    assert told.value.code == "closed"


def test_only_the_holder_or_an_admin_releases(gwen: Actor, ada: Actor, uri: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, min_level: 2, users: [uri, ada]}"))
    task = only_task(started(gwen, "two"))
    claim_task(actor=ada, task_id=task.pk)
    with pytest.raises((Refused, NotFound)):
        release_task(actor=uri, task_id=task.pk)
    assert release_task(actor=gwen, task_id=task.pk, reason="on leave").status == "open"


def test_html_in_values_is_kept_as_text(ada: Actor, review: Task) -> None:
    text = "<script>alert(1)</script>"
    complete_task(actor=ada, task_id=review.pk, outcome="approve", values={"note": text})
    review.refresh_from_db()
    assert review.answer == {"note": text}


def test_cancelling_withdraws_everything_and_keeps_the_reason(gwen: Actor, adam: Actor, review: Task) -> None:
    cancelled = cancel_instance(actor=adam, instance_id=review.instance_id, reason="asked twice")
    assert (cancelled.status, cancelled.result) == ("cancelled", "cancelled")
    review.refresh_from_db()
    assert review.status == "cancelled"
    last = Audit.objects.filter(subject_id=cancelled.pk).order_by("seq").last()
    assert last is not None
    assert (last.action, last.cause, last.actor_name) == ("cancel_workflow", "asked twice", "adam")


def test_what_is_over_cannot_be_cancelled_again(adam: Actor, review: Task) -> None:
    cancel_instance(actor=adam, instance_id=review.instance_id, reason="asked twice")
    with pytest.raises(Conflict):
        cancel_instance(actor=adam, instance_id=review.instance_id, reason="again")


def test_cancelling_needs_level_four_and_a_reason(uri: Actor, adam: Actor, sam: Actor, review: Task) -> None:
    with pytest.raises(Refused):
        cancel_instance(actor=uri, instance_id=review.instance_id, reason="mine")
    with pytest.raises(NotFound):
        cancel_instance(actor=sam, instance_id=review.instance_id, reason="theirs")
    with pytest.raises(Invalid):
        cancel_instance(actor=adam, instance_id=review.instance_id, reason=" ")
