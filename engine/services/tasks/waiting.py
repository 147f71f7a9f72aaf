"""A task waits while a question about it is open. Where its author says so, its clock is paused meanwhile.

The question ends with its answer, when it is withdrawn, and when the task changes hands: who holds it then has asked nothing.
"""

from typing import Any

from engine.audit.chain import database_now
from engine.kernel.signals import ClockPaused, ClockResumed
from engine.models import Task, TaskQuestion
from engine.runtime import coordinator
from engine.runtime.projection import Delivery
from engine.services.tasks.history import note_act
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


def wait_for(actor: Actor, task: Task, asked: TaskQuestion) -> None:
    """Let a task wait for the answer to a question."""
    waiting = {"waiting_for_name": asked.asked_of_name, "waiting_since": asked.asked_at}
    Task.objects.filter(pk=task.pk).update(**waiting)
    if task.rules.ask is not None:
        _tell_engine(actor, task, ClockPaused(task.token))


def wait_no_more(actor: Actor, task: Task) -> None:
    """Let a task wait no more; its clock runs again."""
    Task.objects.filter(pk=task.pk).update(waiting_for_name="", waiting_since=None)
    if task.clock_paused_at is not None:
        _tell_engine(actor, task, ClockResumed(task.token))


def withdraw_open_question(actor: Actor, task: Task) -> None:
    """Withdraw the question for whose answer a task waits, if any; bring the task in hand up to what was written."""
    if task.waiting_since is None:
        return
    note_act(actor, task, "unasked", database_now(), old={"person": task.waiting_for_name})
    TaskQuestion.objects.filter(task_id=task.pk, ended_at__isnull=True).update(ended_at=database_now())
    wait_no_more(actor, task)
    task.refresh_from_db()


def _tell_engine(actor: Actor, task: Task, event: Any) -> None:
    delivery = Delivery(event, None, uuid7(), actor, token=task.token, queued=False)
    coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)
