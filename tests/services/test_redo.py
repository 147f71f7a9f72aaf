"""An answered task is done again: by whom, until when, and what stays of the answers and decisions behind it."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import WorkflowError
from engine.models import Audit, Instance, RuntimeState, Task, TaskDraft, TaskEvent
from engine.runtime.replay import replay
from engine.services.instances import repair
from engine.services.people.accounts import create_person
from engine.services.tasks.drafts import draft_for
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.redo import can_redo, redo_task
from tests.cast import Cast
from tests.services.test_deputies import away
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor

ORDER = """
workflow: order
title: Order
starters: {min_level: 2}
steps:
  - id: fill
    task:
      title: Fill in
      users: [lea, ada, uri]
      min_level: 2
      allow: [redo]
      form: {type: object, properties: {amount: {type: integer}}}
  - id: check
    task: {title: Check, users: [ada, mira, lea], min_level: 2, not_same_as: [fill], allow: [redo]}
  - id: pay
    task: {title: Pay, users: [ada, mira, lea, adam], min_level: 2}
  - {emit: {signal: paid, key: x}}
  - id: file
    task: {title: File, users: [ada, mira], min_level: 2}
"""


@pytest.fixture
def case(cast: Cast) -> Instance:
    """Return a case whose first task was answered by Lea (level 3); Mira is an admin, Uri has level 2."""
    for name, level in (("lea", 3), ("mira", 4)):
        create_person(
            actor=None, tenant=cast.acme, name=name, level=level, roles=("finance",), email=f"{name}@a.example"
        )
    activated(cast.actor("gwen"), ORDER)
    instance = started(cast.actor("uri"), "order")
    answer(cast, instance, "fill", "lea", amount=12)
    return instance


def task_named(instance: Instance, step: str) -> Task:
    return Task.objects.select_related("instance").filter(instance=instance, step=step).latest("token")


def answer(cast: Cast, instance: Instance, step: str, name: str, **values: Any) -> Task:
    return complete_task(actor=cast.actor(name), task_id=task_named(instance, step).pk, values=values).task


def refusal(actor: Actor, task: Task, act: Callable[..., Any] = redo_task) -> str:
    with pytest.raises(WorkflowError) as refused:
        act(actor=actor, task_id=task.pk)
    return refused.value.code


def open_steps(instance: Instance) -> list[str]:
    return [f"{task.step}{task.iteration}" for task in Task.objects.open().filter(instance=instance).order_by("id")]


def test_who_answered_does_it_again_with_the_old_answer_filled_in(cast: Cast, case: Instance) -> None:
    lea, first = cast.actor("lea"), task_named(case, "fill")
    assert can_redo(lea, first)
    done = redo_task(actor=lea, task_id=first.pk, reason="the amount is wrong")
    assert open_steps(case) == ["fill#2"]
    (fresh,) = done.next_tasks
    assert (fresh.status, fresh.assignee and fresh.assignee.username) == ("claimed", "lea")
    draft = draft_for(actor=lea, task_id=fresh.pk)
    assert draft is not None
    assert (draft.values, draft.saved_by_name) == ({"amount": 12}, "lea")
    first.refresh_from_db()
    assert (first.status, first.answer) == ("completed", {"amount": 12})
    assert task_named(case, "check").status == "cancelled"
    answer(cast, case, "fill", "lea", amount=13)
    assert RuntimeState.objects.get(pk=case.pk).snapshot["results"]["fill"]["amount"] == 13
    assert open_steps(case) == ["check#2"]


def test_it_is_audited_and_the_case_replays_to_the_same(cast: Cast, case: Instance) -> None:
    first = task_named(case, "fill")
    redo_task(actor=cast.actor("lea"), task_id=first.pk, reason="wrong")
    told = Audit.objects.get(subject_id=case.pk, action="task_redone")
    assert (told.actor_name, told.step, told.cause) == ("lea", "fill", "wrong")
    assert TaskEvent.objects.get(task=first, kind="redone").cause == "wrong"
    assert replay(case) == RuntimeState.objects.get(pk=case.pk).snapshot


def test_others_below_an_admin_may_not_and_admins_may(cast: Cast, case: Instance) -> None:
    first = task_named(case, "fill")
    assert refusal(cast.actor("uri"), first) == "not_found"
    assert refusal(cast.actor("sam"), first) == "not_found"
    redo_task(actor=cast.actor("ada"), task_id=first.pk)
    assert open_steps(case) == ["fill#2"]
    answer(cast, case, "fill", "uri")
    lea = cast.actor("lea")
    assert refusal(lea, first) == "moved_on", "hers was replaced by Uri's"


def test_where_the_author_did_not_allow_it_or_it_is_open_it_is_refused(cast: Cast, case: Instance) -> None:
    assert refusal(cast.actor("ada"), task_named(case, "check")) == "status"
    answer(cast, case, "check", "ada")
    answer(cast, case, "pay", "ada")
    assert refusal(cast.actor("ada"), task_named(case, "pay")) == "refused"


def test_once_the_case_acted_on_the_outside_or_is_over_nothing_goes_back(cast: Cast, case: Instance) -> None:
    answer(cast, case, "check", "ada")
    answer(cast, case, "pay", "ada")
    first = task_named(case, "fill")
    assert refusal(cast.actor("gwen"), first) == "moved_on"
    assert not can_redo(cast.actor("gwen"), first)
    answer(cast, case, "file", "ada")
    assert refusal(cast.actor("gwen"), first) == "moved_on"
    assert not TaskEvent.objects.filter(kind="redone").exists()
    assert not TaskDraft.objects.exists()


def test_nobody_sets_aside_a_decision_that_four_eyes_keep_from_them(cast: Cast, case: Instance) -> None:
    first = task_named(case, "fill")
    answer(cast, case, "check", "ada")
    assert refusal(cast.actor("lea"), first) == "four_eyes"
    redo_task(actor=cast.actor("gwen"), task_id=first.pk)
    assert open_steps(case) == ["fill#2"]


def test_the_checker_who_does_it_again_does_not_check_again(cast: Cast, case: Instance) -> None:
    answer(cast, case, "check", "ada")
    redo_task(actor=cast.actor("ada"), task_id=task_named(case, "fill").pk)
    answer(cast, case, "fill", "ada")
    check = task_named(case, "check")
    assert set(check.excluded) == {"lea", "ada"}
    assert refusal(cast.actor("ada"), check, claim_task) == "four_eyes"


def test_deputy_and_absent_person_count_as_one_here_too(cast: Cast, case: Instance) -> None:
    """Mira fills in for Uri, who is away: neither checks it, and neither sets the check aside."""
    redo_task(actor=cast.actor("ada"), task_id=task_named(case, "fill").pk)
    away(cast.actor("gwen"), "uri", "mira")
    mira = cast.actor("mira")
    done = answer(cast, case, "fill", "mira")
    check = task_named(case, "check")
    assert (done.completed_for_name, set(check.excluded)) == ("uri", {"lea", "mira", "uri"})
    assert refusal(mira, check, complete_task) == "four_eyes"
    answer(cast, case, "check", "ada")
    assert refusal(mira, done) == "four_eyes"


def test_a_suspended_case_waits(cast: Cast, case: Instance) -> None:
    repair.suspend_instance(actor=cast.actor("ada"), instance_id=case.pk, reason="look")
    assert refusal(cast.actor("lea"), task_named(case, "fill")) == "status"


def test_a_lowered_level_counts(cast: Cast, case: Instance) -> None:
    cast.acme.people.filter(username="lea").update(level=1)
    assert refusal(cast.actor("lea"), task_named(case, "fill")) == "level"


def test_a_withdrawn_tasks_draft_and_claim_are_gone_with_it(cast: Cast, case: Instance) -> None:
    check = task_named(case, "check")
    claim_task(actor=cast.actor("ada"), task_id=check.pk)
    redo_task(actor=cast.actor("lea"), task_id=task_named(case, "fill").pk)
    assert refusal(cast.actor("ada"), check, complete_task) == "closed"
