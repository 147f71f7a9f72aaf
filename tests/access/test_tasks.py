"""The same code decides and explains what people see and may do."""

import pytest

from engine import access
from engine.errors import Conflict, NotFound, Refused
from engine.models import Task
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.workflows import APPROVAL, TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


@pytest.fixture
def review(gwen: Actor, uri: Actor) -> Task:
    """Return a review for finance that Uri asked for."""
    activated(gwen, APPROVAL)
    return only_task(started(uri, "approval", amount=7))


def test_a_role_holder_may_claim(ada: Actor, review: Task) -> None:
    assert list(access.tasks_available(ada)) == [review]
    assert claim_task(actor=ada, task_id=review.pk).assignee_id == ada.person_id
    assert list(access.tasks_mine(ada)) == [review]
    assert list(access.tasks_available(ada)) == []


def test_an_admin_without_the_role_sees_but_may_not_act(adam: Actor, review: Task) -> None:
    assert list(access.tasks_team(adam)) == [review]
    assert list(access.tasks_available(adam)) == []
    with pytest.raises(Refused) as refusal:
        claim_task(actor=adam, task_id=review.pk)
    assert refusal.value.code == "not_candidate"


def test_another_tenants_task_does_not_exist(sam: Actor, review: Task) -> None:
    for task_id in (review.pk, uuid7()):
        with pytest.raises(NotFound) as missing:
            claim_task(actor=sam, task_id=task_id)
        assert str(missing.value) == str(NotFound())


def test_below_level_four_an_unoffered_task_does_not_exist(uri: Actor, review: Task) -> None:
    with pytest.raises(NotFound):
        access.task_of(uri, review.pk)


def test_four_eyes_hold_for_claim_and_complete(cast: Cast, gwen: Actor, ada: Actor) -> None:
    activated(gwen, APPROVAL)
    task = only_task(started(ada, "approval", amount=7))
    for act in (claim_task, complete_task):
        with pytest.raises(Refused) as refusal:
            act(actor=ada, task_id=task.pk)
        assert refusal.value.code == "four_eyes"
    assert list(access.tasks_available(ada)) == []


def test_a_lost_claim_names_the_winner(cast: Cast, gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, TWO_TASKS)
    task = only_task(started(gwen, "two"))
    claim_task(actor=adam, task_id=task.pk)
    with pytest.raises(Conflict) as lost:
        claim_task(actor=ada, task_id=task.pk)
    assert (lost.value.code, lost.value.facts["winner"]) == ("claimed", "adam")


def test_a_released_task_is_offered_again(ada: Actor, adam: Actor, review: Task) -> None:
    claim_task(actor=ada, task_id=review.pk)
    release_task(actor=ada, task_id=review.pk)
    assert list(access.tasks_available(ada)) == [review]


def test_min_level_lets_a_user_act_on_that_one_task(cast: Cast, gwen: Actor, uri: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, min_level: 2, users: [uri]}"))
    task = only_task(started(gwen, "two"))
    assert list(access.tasks_available(uri)) == [task]
    assert complete_task(actor=uri, task_id=task.pk).next_tasks == ()


def test_the_explanation_and_the_decision_agree(cast: Cast, review: Task) -> None:
    for name in ("gwen", "ada", "adam", "zoe"):
        actor = cast.actor(name) if name != "zoe" else cast.actor("zoe").within(cast.acme)
        allowed = all(reason.ok for reason in access.explain_task(actor, review))
        assert allowed == (access.refuse_act(actor, review) is None)
        assert allowed == access.tasks_available(actor).filter(pk=review.pk).exists()


def test_a_god_of_another_tenant_sees_nothing(sam: Actor, review: Task) -> None:
    assert not access.visible_tasks(sam).exists()
    assert not access.visible_instances(sam).exists()
    assert not access.visible_templates(sam).exists()
    assert not access.visible_people(sam).filter(username="ada").exists()


def test_below_level_four_a_lost_claim_names_the_winner_too(cast: Cast, gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, min_level: 2, users: [uri, ada]}"))
    task = only_task(started(gwen, "two"))
    claim_task(actor=ada, task_id=task.pk)
    with pytest.raises(Conflict) as lost:
        claim_task(actor=uri, task_id=task.pk)
    assert (lost.value.code, lost.value.facts["winner"]) == ("claimed", "ada")
    assert list(access.tasks_available(uri)) == []
