"""People who may act on a task, as the author says: the same person, each once, alike on every route."""

from typing import Any

import pytest

from engine import access
from engine.errors import Invalid, Refused, WorkflowError
from engine.models import TaskEvent
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.checklists import tick_point
from engine.services.tasks.drafts import draft_for, save_task_draft
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor


def refused(act: Any, **given: Any) -> str:
    """Return the code with which an act is refused."""
    with pytest.raises(WorkflowError) as refusal:
        act(**given)
    return refusal.value.code


AGAIN = """
workflow: again
title: Again
steps:
  - id: draft
    task: {title: Draft}
  - id: correct
    task: {title: Correct, same_as: [draft]}
"""


def test_same_as_keeps_a_task_for_who_did_the_earlier_one(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, AGAIN)
    instance = started(gwen, "again")
    complete_task(actor=ada, task_id=only_task(instance).pk)
    correct = only_task(instance)
    for act in (claim_task, complete_task):
        with pytest.raises(Refused) as refusal:
            act(actor=adam, task_id=correct.pk)
        assert refusal.value.code == "not_candidate"
    assert list(access.tasks_available(adam)) == []
    assert list(access.tasks_available(ada)) == [correct]
    assert complete_task(actor=ada, task_id=correct.pk).instance.status == "completed"


BOARD = """
workflow: board
title: Board
steps:
  - id: vote
    task:
      title: Vote
      outcomes: {yes: {title: Aye}, no: {title: Nay, reject: true}}
      complete_when: done - failed >= 2 || failed >= 2
  - id: keep
    set: {votes: "${result.vote.answers}"}
"""


def test_several_people_answer_each_once_until_the_condition_holds(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, BOARD)
    vote = only_task(started(gwen, "board"))
    assert refused(claim_task, actor=ada, task_id=vote.pk) == "status"
    assert refused(assign_task, actor=gwen, task_id=vote.pk, person="ada") == "status"
    first = complete_task(actor=ada, task_id=vote.pk, outcome="yes")
    assert (first.task.status, first.task.answered_by, first.instance.status) == ("open", ["ada"], "running")
    assert refused(complete_task, actor=ada, task_id=vote.pk, outcome="no") == "answered"
    assert vote not in access.tasks_available(ada)
    assert list(access.tasks_available(adam)) == [vote]
    complete_task(actor=adam, task_id=vote.pk, outcome="no", comment="too dear")
    last = complete_task(actor=gwen, task_id=vote.pk, outcome="yes")
    assert (last.task.status, last.instance.status) == ("completed", "completed")
    votes = [(answer["by"], answer["outcome"], answer["comment"]) for answer in last.instance.state["votes"]]
    assert votes == [("ada", "yes", None), ("adam", "no", "too dear"), ("gwen", "yes", None)]
    assert [list(access.tasks_done(who)) for who in (ada, adam, gwen)] == [[vote]] * 3
    kinds = list(TaskEvent.objects.filter(task=vote).order_by("id").values_list("kind", "actor_name"))
    assert kinds == [("created", "gwen"), ("answered", "ada"), ("answered", "adam"), ("completed", "gwen")]


def test_each_of_several_keeps_a_draft_of_their_own(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, BOARD)
    vote = only_task(started(gwen, "board"))
    for who in (ada, adam):
        save_task_draft(actor=who, task_id=vote.pk, values={}, comment=f"by {who.name}")
    found = draft_for(actor=adam, task_id=vote.pk)
    assert found is not None
    assert found.comment == "by adam"


POINTS = """
workflow: points
title: Points
steps:
  - id: pack
    task:
      title: Pack
      outcomes: {packed: {title: Packed}, broken: {title: Broken, reject: true}}
      checklist: [Count, {id: label, title: Label}, {id: gift, title: Gift, required: false}]
      wip_limit: 1
"""


def test_a_checklist_is_ticked_before_the_answer_whoever_ticks(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, POINTS)
    task = only_task(started(gwen, "points"))
    tick_point(actor=ada, task_id=task.pk, point="label")
    with pytest.raises(Invalid) as missing:
        complete_task(actor=adam, task_id=task.pk, outcome="packed")
    assert [error.path for error in missing.value.errors] == ["checklist.point_1"]
    tick_point(actor=ada, task_id=task.pk, point="label", done=False)
    assert refused(complete_task, actor=adam, task_id=task.pk, outcome="packed", ticked=["point_1"]) == "invalid"
    assert refused(tick_point, actor=ada, task_id=task.pk, point="nowhere") == "invalid"
    tick_point(actor=ada, task_id=task.pk, point="label")
    assert complete_task(actor=adam, task_id=task.pk, outcome="packed", ticked=["point_1"]).task.status == "completed"


def test_a_rejection_needs_no_ticks(gwen: Actor, ada: Actor) -> None:
    activated(gwen, POINTS)
    task = only_task(started(gwen, "points"))
    assert complete_task(actor=ada, task_id=task.pk, outcome="broken").task.outcome == "broken"


def test_nobody_holds_more_than_the_author_allows(gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, POINTS)
    first, second = (only_task(started(gwen, "points")) for _ in range(2))
    claim_task(actor=ada, task_id=first.pk)
    assert refused(claim_task, actor=ada, task_id=second.pk) == "wip_limit"
    assert claim_task(actor=ada, task_id=first.pk).status == "claimed"
    assert claim_task(actor=adam, task_id=second.pk).status == "claimed"
