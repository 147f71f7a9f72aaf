"""What people do with tasks besides answering them: assign, take the next, act on many, snooze, begin, comment, skip."""

from datetime import timedelta
from typing import Any

import pytest

from engine import access
from engine.audit.chain import database_now
from engine.errors import Conflict, Invalid, NotFound, Refused, WorkflowError
from engine.models import Task, TaskDraft, TaskEvent
from engine.services.tasks.assignment import assign_task, take_next_task
from engine.services.tasks.bulk import act_on_tasks
from engine.services.tasks.comments import comment_task
from engine.services.tasks.drafts import discard_task_draft, draft_for, save_task_draft
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.tasks.suspension import resume_task, skip_task, snooze_task, suspend_task
from tests.cast import Cast
from tests.workflows import APPROVAL, TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

SKIPPABLE = """
workflow: skippable
title: Skippable
steps:
  - id: look
    task: {title: Look, allow: [skip], draft: false}
  - id: after
    task: {title: "After ${has(result.look) ? 'a look' : 'no look'}"}
"""


@pytest.fixture
def review(gwen: Actor, uri: Actor) -> Task:
    """Return a review for finance that Uri asked for."""
    activated(gwen, APPROVAL)
    return only_task(started(uri, "approval", amount=7))


@pytest.fixture
def first(gwen: Actor) -> Task:
    """Return a task that everybody of level 4 may do."""
    activated(gwen, TWO_TASKS)
    return only_task(started(gwen, "two"))


def refusal_of(act: Any, **given: Any) -> str:
    """Return the code with which an act is refused."""
    with pytest.raises(WorkflowError) as refusal:
        act(**given)
    return refusal.value.code


def kinds(task: Task) -> list[str]:
    """Return what happened to a task, in order."""
    return list(TaskEvent.objects.filter(task=task).order_by("id").values_list("kind", flat=True))


def test_an_admin_assigns_and_only_that_person_may_act(gwen: Actor, ada: Actor, adam: Actor, first: Task) -> None:
    given = assign_task(actor=gwen, task_id=first.pk, person="adam", reason="knows it")
    assert (given.status, given.assignee_id) == ("open", adam.person_id)
    assert refusal_of(claim_task, actor=ada, task_id=first.pk) == "not_candidate"
    assert list(access.tasks_mine(adam)) == [first]
    assert claim_task(actor=adam, task_id=first.pk).status == "claimed"


def test_reassigning_takes_a_claimed_task_away(gwen: Actor, ada: Actor, adam: Actor, first: Task) -> None:
    claim_task(actor=ada, task_id=first.pk)
    assign_task(actor=gwen, task_id=first.pk, person="adam")
    assert list(access.tasks_mine(ada)) == []
    assert complete_task(actor=adam, task_id=first.pk).task.status == "completed"
    assert kinds(first) == ["created", "claimed", "reassigned", "claimed", "completed"]


def test_assigning_to_nobody_offers_it_again(gwen: Actor, ada: Actor, first: Task) -> None:
    assign_task(actor=gwen, task_id=first.pk, person="adam")
    assign_task(actor=gwen, task_id=first.pk, person=None)
    assert list(access.tasks_available(ada)) == [first]


def test_four_eyes_level_and_candidates_hold_when_a_task_is_given(gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, APPROVAL)
    task = only_task(started(ada, "approval", amount=3))
    assert refusal_of(assign_task, actor=gwen, task_id=task.pk, person="ada") == "four_eyes"
    assert refusal_of(assign_task, actor=gwen, task_id=task.pk, person="uri") == "level"
    assert refusal_of(assign_task, actor=gwen, task_id=task.pk, person="adam") == "not_candidate"
    assert refusal_of(assign_task, actor=gwen, task_id=task.pk, person="sam") == "invalid"
    assert list(access.people_to_give(gwen, task)) == []


def test_who_can_be_given_a_task_is_listed_by_the_rule_that_decides(cast: Cast, gwen: Actor, review: Task) -> None:
    listed = {person.username for person in access.people_to_give(gwen, review)}
    allowed = {name for name in ("gwen", "ada", "adam", "uri") if access.refuse_given(cast.actor(name), review) is None}
    assert listed == allowed == {"ada"}


def test_below_level_four_nobody_assigns(gwen: Actor, uri: Actor, sam: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, min_level: 2}"))
    task = only_task(started(gwen, "two"))
    assert refusal_of(assign_task, actor=uri, task_id=task.pk, person="uri") == "level"
    assert refusal_of(assign_task, actor=sam, task_id=task.pk, person="sam") == "not_found"


def test_release_after_a_reassignment_leads_back_to_the_new_assignee(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, assignee: ada}"))
    task = only_task(started(gwen, "two"))
    assign_task(actor=gwen, task_id=task.pk, person="adam")
    claim_task(actor=adam, task_id=task.pk)
    release_task(actor=adam, task_id=task.pk)
    assert list(access.tasks_available(adam)) == [task]
    assert list(access.tasks_available(ada)) == []


def test_next_task_is_the_most_urgent_that_one_may_take(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, TWO_TASKS.replace("{title: First}", "{title: First, priority: '${start.p}'}"))
    for priority in ("low", "critical", "normal"):
        started(gwen, "two", p=priority)
    assert [take_next_task(actor=ada).priority_name for _ in range(3)] == ["critical", "normal", "low"]  # type: ignore[union-attr]
    assert take_next_task(actor=adam) is None


def test_next_task_can_be_narrowed(gwen: Actor, ada: Actor, first: Task, review: Task) -> None:
    assert take_next_task(actor=ada, template="approval", role="finance") == review
    assert take_next_task(actor=ada, role="finance") is None
    assert take_next_task(actor=ada) == first


def test_bulk_does_what_it_can_and_says_what_it_cannot(gwen: Actor, ada: Actor, adam: Actor, review: Task) -> None:
    activated(gwen, TWO_TASKS)
    free, taken = (only_task(started(gwen, "two")) for _ in range(2))
    claim_task(actor=adam, task_id=taken.pk)
    strange = uuid7()
    rows = act_on_tasks(actor=adam, action="claim", task_ids=[free.pk, taken.pk, review.pk, strange])
    assert [(row.ok, row.code) for row in rows] == [
        (True, ""),
        (True, ""),
        (False, "not_candidate"),
        (False, "not_found"),
    ]
    rows = act_on_tasks(actor=ada, action="claim", task_ids=[taken.pk, review.pk])
    assert [(row.ok, row.code) for row in rows] == [(False, "claimed"), (True, "")]


def test_bulk_release_and_assign_obey_the_rules_of_the_single_act(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, APPROVAL)
    own, other = only_task(started(ada, "approval", amount=1)), only_task(started(gwen, "approval", amount=2))
    rows = act_on_tasks(actor=gwen, action="assign", task_ids=[own.pk, other.pk], person="ada")
    assert [row.code for row in rows] == ["four_eyes", ""]
    claim_task(actor=ada, task_id=other.pk)
    rows = act_on_tasks(actor=adam, action="release", task_ids=[own.pk, other.pk])
    assert [row.code for row in rows] == ["status", ""]


@pytest.mark.parametrize(
    "wrong", [{"action": "eat"}, {"action": "assign"}, {"task_ids": []}, {"task_ids": [uuid7() for _ in range(201)]}]
)
def test_bulk_refuses_what_makes_no_sense(ada: Actor, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        act_on_tasks(actor=ada, **{"action": "claim", "task_ids": [uuid7()], **wrong})


def test_a_draft_survives_release_and_reassignment_and_goes_with_the_answer(
    gwen: Actor, ada: Actor, adam: Actor, first: Task
) -> None:
    claim_task(actor=ada, task_id=first.pk)
    save_task_draft(actor=ada, task_id=first.pk, values={"note": "half"}, outcome="done", comment="so far")
    release_task(actor=ada, task_id=first.pk)
    assign_task(actor=gwen, task_id=first.pk, person="adam")
    found = draft_for(actor=adam, task_id=first.pk)
    assert found is not None
    assert (found.values, found.outcome, found.comment, found.saved_by_name) == (
        {"note": "half"}, "done", "so far", "ada",
    )  # fmt: skip
    assert draft_for(actor=ada, task_id=first.pk) is None
    complete_task(actor=adam, task_id=first.pk)
    assert not TaskDraft.objects.exists()


def test_a_draft_may_be_wrong_but_not_unkeepable(ada: Actor, adam: Actor, review: Task) -> None:
    save_task_draft(actor=ada, task_id=review.pk, values={"note": 7})
    save_task_draft(actor=ada, task_id=review.pk, values={"note": 8})
    assert TaskDraft.objects.get().values == {"note": 8}
    assert refusal_of(save_task_draft, actor=ada, task_id=review.pk, values={"note": "\0"}) == "invalid"
    assert refusal_of(save_task_draft, actor=adam, task_id=review.pk, values={}) == "not_candidate"
    discard_task_draft(actor=ada, task_id=review.pk)
    assert draft_for(actor=ada, task_id=review.pk) is None


def test_everybody_who_sees_a_task_may_comment(adam: Actor, sam: Actor, ada: Actor, review: Task) -> None:
    comment_task(actor=adam, task_id=review.pk, text=" <b>Look</b> twice ")
    assert [(one.author_name, one.text) for one in access.comments_of(ada, review.pk)] == [
        ("adam", "<b>Look</b> twice")
    ]
    assert refusal_of(comment_task, actor=sam, task_id=review.pk, text="hello") == "not_found"
    assert refusal_of(comment_task, actor=adam, task_id=review.pk, text="  ") == "invalid"


def test_a_suspended_task_waits_and_comes_back_as_it_was(ada: Actor, adam: Actor, review: Task) -> None:
    claim_task(actor=ada, task_id=review.pk)
    suspend_task(actor=adam, task_id=review.pk, reason="audit")
    given = {"actor": ada, "task_id": review.pk}
    assert refusal_of(complete_task, outcome="approve", values={"note": "x"}, **given) == "status"
    assert refusal_of(suspend_task, actor=adam, task_id=review.pk) == "status"
    back = resume_task(actor=adam, task_id=review.pk)
    assert (back.status, back.assignee_id) == ("claimed", ada.person_id)
    assert refusal_of(resume_task, actor=adam, task_id=review.pk) == "status"
    assert kinds(review)[-2:] == ["suspended", "resumed"]


def test_a_task_put_off_leaves_ones_list_until_its_time(ada: Actor, first: Task) -> None:
    later = database_now() + timedelta(days=2)
    assert refusal_of(snooze_task, actor=ada, task_id=first.pk, until=later) == "status"
    claim_task(actor=ada, task_id=first.pk)
    snooze_task(actor=ada, task_id=first.pk, until=later)
    assert (list(access.tasks_mine(ada)), list(access.tasks_snoozed(ada))) == ([], [first])
    assert refusal_of(snooze_task, actor=ada, task_id=first.pk, until=database_now()) == "invalid"
    snooze_task(actor=ada, task_id=first.pk, until=None)
    assert list(access.tasks_mine(ada)) == [first]


def test_a_task_is_skipped_only_where_its_author_allows(gwen: Actor, ada: Actor, first: Task) -> None:
    assert refusal_of(skip_task, actor=ada, task_id=first.pk, reason="no need") == "refused"
    activated(gwen, SKIPPABLE)
    look = only_task(started(gwen, "skippable"))
    assert refusal_of(skip_task, actor=ada, task_id=look.pk, reason=" ") == "invalid"
    done = skip_task(actor=ada, task_id=look.pk, reason="no need")
    assert (done.task.status, [task.title for task in done.next_tasks]) == ("skipped", ["After no look"])
    event = TaskEvent.objects.filter(task=look).order_by("id").last()
    assert event is not None
    assert (event.kind, event.actor_name, event.cause) == ("skipped", "ada", "no need")


def test_where_the_author_wants_no_drafts_none_is_kept(gwen: Actor, ada: Actor) -> None:
    activated(gwen, SKIPPABLE)
    look = only_task(started(gwen, "skippable"))
    assert refusal_of(save_task_draft, actor=ada, task_id=look.pk, values={}) == "refused"


def test_what_is_over_can_neither_be_given_nor_held(gwen: Actor, ada: Actor, first: Task) -> None:
    complete_task(actor=ada, task_id=first.pk)
    for act in (suspend_task, resume_task):
        with pytest.raises(Conflict):
            act(actor=gwen, task_id=first.pk)
    with pytest.raises(Conflict):
        assign_task(actor=gwen, task_id=first.pk, person="ada")
    with pytest.raises((NotFound, Refused)):
        assign_task(actor=gwen, task_id=uuid7(), person="ada")
