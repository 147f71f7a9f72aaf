"""Who may act on a task, by the author's own words: the same person, each once, each door alike."""

import pytest

from engine import access
from engine.errors import Refused
from engine.services.tasks import claim_task, complete_task
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

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
