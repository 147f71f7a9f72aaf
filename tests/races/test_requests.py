"""Answering and withdrawing a request at the same moment: one of them wins."""

from engine.errors import WorkflowError
from engine.models import Instance
from engine.services.instances.requests import remind_people, withdraw_instance
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import activated, only_task, started

ASK = """
workflow: ask-once
starters: {min_level: 2}
steps:
  - task: {title: Decide, roles: [finance], comment: never}
  - task: {title: File it, roles: [finance], comment: never}
"""


def test_answer_and_withdrawal_at_once_never_both_win(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), ASK)
    uri, ada = cast.actor("uri"), cast.actor("ada")
    for _ in range(3):
        case = started(uri, "ask-once")
        task = only_task(case)
        answered, withdrawn = at_once(
            [
                lambda task=task: complete_task(actor=ada, task_id=task.pk),
                lambda case=case: withdraw_instance(actor=uri, instance_id=case.pk, reason="no longer"),
            ]
        )
        assert isinstance(answered, WorkflowError) is not isinstance(withdrawn, WorkflowError)
        left = Instance.objects.get(pk=case.pk).status
        assert left == ("running" if isinstance(withdrawn, WorkflowError) else "cancelled")


def test_two_reminders_at_once_are_one(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), ASK)
    uri = cast.actor("uri")
    case = started(uri, "ask-once")
    sent = at_once([lambda: remind_people(actor=uri, instance_id=case.pk)] * 3)
    assert sum(not isinstance(one, WorkflowError) for one in sent) == 1
