"""Undo, the worker and a second press at the same moment, and a worker that is killed: an answer is sent once, or taken back."""

import os
import signal
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import PendingAnswer, Task, TaskDraft, TaskEvent
from engine.services.tasks.undo import give_answer, send_now, send_pending, take_back
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import activated, only_task, started

CHECK = """
workflow: check
title: Check
undo: PT10M
steps:
  - {id: first, task: {title: First, roles: [finance]}}
  - {id: second, task: {title: Second, roles: [finance]}}
"""
ROUNDS = 5


def kept(cast: Cast) -> PendingAnswer:
    task = only_task(started(cast.actor("gwen"), "check"))
    pending = give_answer(actor=cast.actor("ada"), task_id=task.pk, outcome="done").pending
    assert pending is not None
    PendingAnswer.objects.filter(pk=pending.pk).update(due_at=database_now() - timedelta(seconds=1))
    return pending


def ends(pending: PendingAnswer) -> tuple[str, int, int, int]:
    """Return the status of the task, and how often it was sent, taken back, and followed by another."""
    task = Task.objects.get(pk=pending.task_id)
    events = TaskEvent.objects.filter(task=task)
    sent, back = events.filter(kind="completed").count(), events.filter(kind="taken_back").count()
    return task.status, sent, back, Task.objects.filter(instance=task.instance, step="second").count()


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_it_once(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), CHECK)
    for _ in range(ROUNDS):
        pending = kept(committed_cast)
        done = at_once([partial(send_pending, pending_id=pending.pk) for _ in range(4)])
        assert sorted(done) == [False, False, False, True]
        assert ends(pending) == ("completed", 1, 0, 1)


@pytest.mark.django_db(transaction=True)
def test_taking_back_and_sending_never_both_happen(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), CHECK)
    for _ in range(ROUNDS):
        pending, ada = kept(committed_cast), committed_cast.actor("ada")
        at_once(
            [
                partial(take_back, actor=ada, batch_id=pending.batch_id),
                partial(send_pending, pending_id=pending.pk),
                partial(send_now, actor=ada, batch_id=pending.batch_id),
            ]
        )
        assert ends(pending) in {("completed", 1, 0, 1), ("claimed", 0, 1, 0)}
        assert TaskDraft.objects.filter(task_id=pending.task_id).exists() is (ends(pending)[0] == "claimed")
        assert not PendingAnswer.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_killed_before_its_commit_loses_and_doubles_nothing(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), CHECK)
    pending = kept(committed_cast)
    connection.close()
    child = os.fork()
    if child == 0:
        _send_and_die(pending)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert ends(pending) == ("claimed", 0, 0, 0)
    drain()
    drain()
    assert ends(pending) == ("completed", 1, 0, 1)


def _send_and_die(pending: PendingAnswer) -> None:
    """Send in a forked process, and be killed when all is written and nothing is committed."""
    try:
        with transaction.atomic():
            if send_pending(pending_id=pending.pk) and not PendingAnswer.objects.filter(pk=pending.pk).exists():
                os.kill(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(1)
