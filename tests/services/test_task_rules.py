"""Who may act on a task, by the author's own words: the same person, each once, each door alike."""

from typing import Any

import pytest

from engine import access
from engine.errors import Refused, WorkflowError
from engine.models import TaskEvent
from engine.services.assigning import assign_task
from engine.services.drafts import draft_for, save_task_draft
from engine.services.tasks import claim_task, complete_task
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
