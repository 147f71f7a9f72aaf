"""Handing a task over at every level: assign, delegate and get back, ask and wait, return; four eyes hold on each way."""

from typing import Any

import pytest

from engine import access
from engine.errors import WorkflowError
from engine.models import RuntimeState, Task, TaskComment, TaskEvent, TaskQuestion
from engine.services.notifications.announcements import Announcement, listeners
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.handover import (
    answer_question,
    ask_about_task,
    delegate_task,
    open_question,
    questions_for,
    return_task,
    withdraw_question,
)
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.services.test_deputies import away
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

CHECK = """
workflow: check
title: Check
starters: {min_level: 2}
steps:
  - id: first
    task:
      title: First
      roles: [finance]
      min_level: 2
      outcomes: {yes: {title: Aye}, no: {title: Nay}}
      form: {type: object, required: [note], properties: {note: {type: string, title: Note}}}
      not_same_as: [start]
  - id: second
    task: {title: Second, roles: [finance], min_level: 2, not_same_as: [first]}
"""
ANSWER: dict[str, Any] = {"outcome": "yes", "values": {"note": "fits"}}


@pytest.fixture
def lea(cast: Cast) -> Actor:
    """Return a person of level 3 in finance."""
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance",), email="l@a.example")
    return cast.actor("lea")


@pytest.fixture
def max_(cast: Cast) -> Actor:
    """Give another person of level 3 in finance."""
    create_person(actor=None, tenant=cast.acme, name="max", level=3, roles=("finance",), email="x@a.example")
    return cast.actor("max")


@pytest.fixture
def task(gwen: Actor, uri: Actor, lea: Actor) -> Task:
    """Return a task that Lea has claimed."""
    activated(gwen, CHECK)
    return claim_task(actor=lea, task_id=only_task(started(uri, "check")).pk)


@pytest.fixture
def announced() -> Any:
    """Return what was announced to people."""
    found: list[Announcement] = []
    listeners.append(found.append)
    yield found
    listeners.remove(found.append)


def refusal(act: Any, **given: Any) -> str:
    with pytest.raises(WorkflowError) as refused:
        act(**given)
    return refused.value.code


def test_holder_of_level_3_assigns_to_a_colleague_who_may_act(
    cast: Cast, lea: Actor, max_: Actor, task: Task, announced: list[Announcement]
) -> None:
    assert set(access.people_to_give(lea, task).values_list("username", flat=True)) == {"ada", "lea", "max"}
    given = assign_task(actor=lea, task_id=task.pk, person="max", reason="he knows")
    assert (given.status, given.assignee and given.assignee.username) == ("open", "max")
    assert [(one.kind, one.person_id, one.text) for one in announced] == [("assigned", max_.person_id, "he knows")]
    assert refusal(assign_task, actor=lea, task_id=task.pk, person="lea") == "not_found"
    assert refusal(assign_task, actor=max_, task_id=task.pk, person="uri") in ("four_eyes", "level", "not_candidate")
    assert release_task(actor=max_, task_id=task.pk).assignee_id is None


@pytest.mark.parametrize(("name", "code"), [("uri", "four_eyes"), ("adam", "not_candidate"), ("sam", "invalid")])
def test_nobody_gets_what_they_may_not_do(cast: Cast, lea: Actor, task: Task, name: str, code: str) -> None:
    assert refusal(assign_task, actor=lea, task_id=task.pk, person=name) == code
    assert refusal(delegate_task, actor=lea, task_id=task.pk, user=name) == code


def test_level_3_hands_over_only_what_is_theirs(cast: Cast, lea: Actor, max_: Actor, task: Task) -> None:
    for act, given in ((assign_task, {"person": "max"}), (delegate_task, {"user": "max"})):
        assert refusal(act, actor=max_, task_id=task.pk, **given) in ("level", "claimed")
    assert refusal(ask_about_task, actor=max_, task_id=task.pk, user="uri", question="?") == "claimed"
    release_task(actor=lea, task_id=task.pk)
    assert refusal(delegate_task, actor=lea, task_id=task.pk, user="max") == "status"
    for act in (delegate_task, ask_about_task):
        words = {"question": "?"} if act is ask_about_task else {}
        assert refusal(act, actor=cast.actor("sam"), task_id=task.pk, user="stan", **words) == "not_found"


def test_delegate_fills_in_and_the_delegator_has_the_final_word(
    cast: Cast, lea: Actor, max_: Actor, task: Task, announced: list[Announcement]
) -> None:
    assert delegate_task(actor=lea, task_id=task.pk, user="max", note="please").delegated_by_name == "lea"
    assert refusal(complete_task, actor=lea, task_id=task.pk, **ANSWER) == "not_candidate"
    assert refusal(delegate_task, actor=max_, task_id=task.pk, user="ada") == "delegated"
    assert refusal(complete_task, actor=max_, task_id=task.pk, outcome="yes") == "invalid"
    returned = complete_task(actor=max_, task_id=task.pk, **ANSWER)
    assert (returned.task.status, returned.task.assignee_id) == ("claimed", lea.person_id)
    draft = access.draft_of(lea, returned.task)
    assert draft is not None
    assert (draft.values, draft.outcome, draft.saved_by_name) == ({"note": "fits"}, "yes", "max")
    done = complete_task(actor=lea, task_id=task.pk, **ANSWER)
    assert done.task.completed_by_name == "lea"
    took_part = RuntimeState.objects.get(pk=task.instance_id).snapshot["people"]["first"]
    assert set(took_part) == {"lea", "max"}
    second = only_task(done.instance)
    for name in ("lea", "max"):
        assert refusal(complete_task, actor=cast.actor(name), task_id=second.pk) in ("four_eyes", "not_found")
    assert complete_task(actor=cast.actor("ada"), task_id=second.pk).instance.status == "completed"
    assert [one.kind for one in announced] == ["delegated", "returned"]


def test_delegate_returns_it_untouched_with_a_note(lea: Actor, max_: Actor, task: Task) -> None:
    assert refusal(return_task, actor=lea, task_id=task.pk) == "status"
    delegate_task(actor=lea, task_id=task.pk, user="max")
    claim_task(actor=max_, task_id=task.pk)
    returned = return_task(actor=max_, task_id=task.pk, note="not mine to say")
    assert returned is None or returned.assignee_id == lea.person_id
    assert TaskEvent.objects.get(task=task, kind="returned").cause == "not mine to say"
    assert complete_task(actor=lea, task_id=task.pk, **ANSWER).task.status == "completed"


def test_question_parks_the_task_until_it_is_answered(
    cast: Cast, lea: Actor, uri: Actor, task: Task, announced: list[Announcement]
) -> None:
    asked = ask_about_task(actor=lea, task_id=task.pk, user="uri", question=" Which one? ")
    assert (asked.waiting_for_name, asked.status, asked.assignee_id) == ("uri", "claimed", lea.person_id)
    assert refusal(ask_about_task, actor=lea, task_id=task.pk, user="ada", question="?") == "waiting"
    question = questions_for(uri).get()
    assert open_question(actor=uri, question_id=question.pk).opened_at is not None
    assert refusal(open_question, actor=cast.actor("adam"), question_id=question.pk) == "not_found"
    assert refusal(answer_question, actor=cast.actor("adam"), question_id=question.pk, answer="x") == "not_found"
    assert refusal(answer_question, actor=uri, question_id=question.pk, answer=" ") == "invalid"
    assert return_task(actor=uri, task_id=task.pk, note="The red one") is None
    task.refresh_from_db()
    assert (task.waiting_for_name, task.waiting_since) == ("", None)
    assert [(one.author_name, one.text) for one in TaskComment.objects.filter(task=task)] == [("uri", "The red one")]
    assert refusal(answer_question, actor=uri, question_id=question.pk, answer="again") == "not_found"
    assert [(one.kind, one.text) for one in announced] == [("asked", "Which one?"), ("answered", "The red one")]
    took_part = RuntimeState.objects.get(pk=task.instance_id).snapshot.get("people", {})
    assert "uri" not in took_part.get("first", {})


def test_question_is_withdrawn_or_overtaken(cast: Cast, lea: Actor, uri: Actor, task: Task) -> None:
    ask_about_task(actor=lea, task_id=task.pk, user="uri", question="Which one?")
    assert withdraw_question(actor=lea, task_id=task.pk).waiting_since is None
    assert not questions_for(uri).exists()
    assert refusal(withdraw_question, actor=lea, task_id=task.pk) == "status"
    ask_about_task(actor=lea, task_id=task.pk, user="uri", question="Which one now?")
    complete_task(actor=lea, task_id=task.pk, **ANSWER)
    question = TaskQuestion.objects.get(ended_at__isnull=True)
    assert refusal(answer_question, actor=uri, question_id=question.pk, answer="late") == "closed"


def test_deputy_answers_and_hands_over_for_the_absent(
    cast: Cast, gwen: Actor, lea: Actor, max_: Actor, task: Task
) -> None:
    ask_about_task(actor=lea, task_id=task.pk, user="uri", question="Which one?")
    away(gwen, "uri", "adam")
    assert [one.text for one in questions_for(cast.actor("adam"))] == ["Which one?"]
    away(gwen, "lea", "max")
    assert assign_task(actor=cast.actor("max"), task_id=task.pk, person="ada").assignee.username == "ada"


def test_nobody_filled_in_what_they_may_not_take_part_in(cast: Cast, lea: Actor, max_: Actor, task: Task) -> None:
    delegate_task(actor=lea, task_id=task.pk, user="max")
    complete_task(actor=max_, task_id=task.pk, **ANSWER)
    snapshot = RuntimeState.objects.get(pk=task.instance_id).snapshot
    leaf = next(frame for frame in snapshot["frames"] if frame.get("step") == "first")
    leaf["barred"] = ["max"]  # as if Max did meanwhile what this task checks
    RuntimeState.objects.filter(pk=task.instance_id).update(snapshot=snapshot)
    assert refusal(complete_task, actor=lea, task_id=task.pk, **ANSWER) == "four_eyes"
