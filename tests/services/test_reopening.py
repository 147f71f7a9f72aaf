"""An operator reopens an answered task while the next step is untouched; the case and its audit say the same afterwards."""

from typing import Any

import pytest

from engine.errors import NotFound, WorkflowError
from engine.models import Audit, Instance, RuntimeState, Signal, Task, TaskDraft, TaskEvent, Wait
from engine.runtime.replay import replay
from engine.services.audit.verification import verify_everything, verify_folds
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import suspend_instance
from engine.services.people.accounts import create_person
from engine.services.tasks.comments import comment_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.tasks.reopening import reopen_task, why_not_reopen
from tests.cast import Cast
from tests.replaying import replayed, unlike_when_replayed
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

__all__ = ["replayed"]

CHECK = """
workflow: check
title: Check
starters: {min_level: 2}
state: {seen: 0}
steps:
  - id: first
    task:
      title: First
      roles: [finance]
      min_level: 2
      due: P2D
      outcomes: {aye: {title: Aye}, nay: {title: Nay, reject: true}}
      form: {type: object, required: [note], properties: {note: {type: string, title: Note}}}
      not_same_as: [start]
    timeout: P5D
  - set: {seen: 1}
  - id: second
    task: {title: Second, roles: [finance], min_level: 2, not_same_as: [first]}
    timeout: P1D
"""
VOTE = """
workflow: vote
title: Vote
steps:
  - {id: vote, task: {title: Vote, roles: [finance], outcomes: [yes_, no_], complete_when: done == 2}}
  - {id: after, task: {title: After, roles: [finance]}}
"""
ANSWER: dict[str, Any] = {"outcome": "aye", "values": {"note": "fits"}}
pytestmark = pytest.mark.usefixtures("replayed")


@pytest.fixture
def task(gwen: Actor, uri: Actor, ada: Actor) -> Task:
    """Return a task that Ada has answered."""
    activated(gwen, CHECK)
    return complete_task(actor=ada, task_id=only_task(started(uri, "check")).pk, **ANSWER).task


def reopened(actor: Actor, task: Task, reason: str = "by mistake") -> Task:
    return reopen_task(actor=actor, task_id=task.pk, reason=reason)


def refusal(actor: Actor, task: Task) -> tuple[str, Any]:
    with pytest.raises(WorkflowError) as refused:
        reopened(actor, task)
    return refused.value.code, refused.value.facts.get("why")


def test_the_case_is_what_the_answer_found(adam: Actor, task: Task) -> None:
    again = reopened(adam, task)
    assert (again.step, again.status, again.assignee) == ("first", "open", None)
    assert again.token > task.token
    instance = Instance.objects.get(pk=task.instance_id)
    assert (instance.status, instance.state) == ("running", {"seen": 0})
    assert {one.step: one.status for one in Task.objects.filter(instance=instance).order_by("id")[1:]} == {
        "second": "cancelled",
        "first": "open",
    }
    assert sorted(Wait.objects.filter(instance=instance).values_list("kind", "step")) == [
        ("task", "first"),
        ("timer", "first"),
    ]
    assert Signal.objects.filter(instance=instance).count() == 1


def test_it_is_due_when_it_was_due(adam: Actor, task: Task) -> None:
    timer = Wait.objects.filter(instance=task.instance_id, kind="timer")
    again = reopened(adam, task)
    assert again.due_at == task.due_at
    assert (timer.get().due_at or task.created_at) > task.created_at


def test_the_first_answer_stays_and_is_the_draft_of_the_next(adam: Actor, task: Task) -> None:
    again = reopened(adam, task)
    task.refresh_from_db()
    assert (task.status, task.outcome, task.completed_by_name) == ("completed", "aye", "ada")
    draft = TaskDraft.objects.get(task=again)
    assert (draft.values, draft.outcome, draft.saved_by_name) == ({"note": "fits"}, "aye", "ada")


def test_who_answered_first_stays_barred_by_four_eyes(cast: Cast, adam: Actor, ada: Actor, task: Task) -> None:
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance",))
    again = reopened(adam, task)
    done = complete_task(actor=cast.actor("flo"), task_id=again.pk, outcome="nay", values={})
    (second,) = done.next_tasks or Task.objects.open().filter(instance=task.instance_id)
    for name in ("ada", "flo"):
        with pytest.raises(WorkflowError) as refused:
            complete_task(actor=cast.actor(name), task_id=second.pk)
        assert refused.value.code == "four_eyes"


def test_it_can_be_answered_and_reopened_again(adam: Actor, ada: Actor, task: Task) -> None:
    once = complete_task(actor=ada, task_id=reopened(adam, task).pk, outcome="nay", values={}).task
    twice = complete_task(actor=ada, task_id=reopened(adam, once).pk, **ANSWER)
    assert twice.instance.status == "running"
    assert Task.objects.filter(instance=task.instance_id, step="first", status="completed").count() == 3


def test_the_audit_says_who_and_why_and_folds_to_the_tables(adam: Actor, task: Task) -> None:
    again = reopened(adam, task, reason="wrong case")
    act = Audit.objects.get(action="task_reopened")
    assert (act.actor_name, act.cause, act.step, act.new) == ("adam", "wrong case", "first", {"token": again.token})
    assert act.old == {"task": str(task.pk), "outcome": "aye", "person": "ada"}
    assert list(TaskEvent.objects.filter(task=again).order_by("id").values_list("kind", flat=True)) == [
        "created",
        "reopened",
    ]
    assert verify_folds().broken == ()
    assert verify_everything().broken == ()


def test_a_replay_gives_the_same_state(adam: Actor, ada: Actor, task: Task) -> None:
    again = reopened(adam, task)
    assert unlike_when_replayed() == {}
    complete_task(actor=ada, task_id=again.pk, **ANSWER)
    stored = RuntimeState.objects.get(pk=task.instance_id).snapshot
    assert replay(Instance.objects.select_related("template", "version").get(pk=task.instance_id)) == stored


def test_the_record_of_the_act_holds_no_copy_of_the_case(adam: Actor, task: Task) -> None:
    from engine.models import JournalRow

    reopened(adam, task)
    told = [row.told or "" for row in JournalRow.objects.filter(subject_id=task.instance_id)]
    (said,) = [one for one in told if "TaskReopened" in one]
    assert "before" not in said


def claimed(ada: Actor, second: Task) -> None:
    claim_task(actor=ada, task_id=second.pk)


def claimed_and_released(flo: Actor, second: Task) -> None:
    claim_task(actor=flo, task_id=second.pk)
    release_task(actor=flo, task_id=second.pk)


def drafted(flo: Actor, second: Task) -> None:
    save_task_draft(actor=flo, task_id=second.pk, values={"a": 1})


def commented(flo: Actor, second: Task) -> None:
    comment_task(actor=flo, task_id=second.pk, text="Hm")


@pytest.mark.parametrize("touch", [claimed, claimed_and_released, drafted, commented])
def test_a_next_step_that_was_touched_keeps_the_answer(cast: Cast, adam: Actor, task: Task, touch: Any) -> None:
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance",))
    touch(cast.actor("flo"), Task.objects.get(instance=task.instance_id, step="second"))
    assert why_not_reopen(task) == "touched"
    assert refusal(adam, task) == ("touched", "touched")


def test_a_later_event_keeps_the_answer(cast: Cast, adam: Actor, task: Task) -> None:
    from engine.dispatch.drain import drain
    from tests.workflows import fall_due

    fall_due(task.instance)
    drain()
    assert refusal(adam, task)[0] in ("touched", "status")


def test_refusals_say_which_rule(cast: Cast, adam: Actor, uri: Actor, gwen: Actor, task: Task) -> None:
    second = Task.objects.get(instance=task.instance_id, step="second")
    assert refusal(adam, second)[0] == "status"
    with pytest.raises(WorkflowError) as refused:
        reopened(adam, task, reason=" ")
    assert refused.value.code == "invalid"
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance",))
    for name in ("uri", "lea"):
        with pytest.raises(WorkflowError) as refused:
            reopened(cast.actor(name), task)
        assert refused.value.code in ("level", "not_found")
    for name in ("sam", "stan"):
        with pytest.raises(NotFound):
            reopened(cast.actor(name), task)
    suspend_instance(actor=gwen, instance_id=task.instance_id)
    assert refusal(adam, task)[0] == "status"
    cancel_instance(actor=gwen, instance_id=task.instance_id, reason="no")
    assert refusal(adam, task)[0] == "status"


def test_nobody_reopens_what_four_eyes_exclude_them_from(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, CHECK)
    task = complete_task(actor=ada, task_id=only_task(started(adam, "check")).pk, outcome="nay", values={}).task
    assert refusal(adam, task)[0] == "four_eyes"
    assert reopened(gwen, task).step == "first"


def test_of_several_answers_the_last_is_taken_back(cast: Cast, gwen: Actor, ada: Actor) -> None:
    create_person(actor=None, tenant=cast.acme, name="flo", level=4, roles=("finance",))
    activated(gwen, VOTE)
    task = only_task(started(gwen, "vote"))
    complete_task(actor=ada, task_id=task.pk, outcome="yes_")
    complete_task(actor=cast.actor("flo"), task_id=task.pk, outcome="no_")
    task.refresh_from_db()
    again = reopened(gwen, task)
    assert again.answered_by == ["ada"]
    complete_task(actor=cast.actor("flo"), task_id=again.pk, outcome="yes_")
    assert only_task(task.instance).step == "after"
