"""Pause and resume tasks: suspend, resume, snooze, skip."""

from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, Refused
from engine.kernel.forms import FieldError
from engine.kernel.signals import TaskSkipped
from engine.kernel.transitions import TaskStatus
from engine.models import Task
from engine.models.status_labels import status_word
from engine.runtime import coordinator
from engine.runtime.projection import Delivery
from engine.services.instances.lifecycle import instance_now, next_tasks
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import (
    CompletedTask,
    claim_instance,
    hold_active,
    refuse_held,
    refuse_sending,
    require_may_act,
)
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

CAN_BE_SUSPENDED = (TaskStatus.OPEN, TaskStatus.CLAIMED)


@in_one_transaction
def suspend_task(*, actor: Actor, task_id: UUID, reason: str = "") -> Task:
    """Suspend a task: nobody can act on it until it is resumed. Its timers continue. Level 4."""
    task = claim_instance(actor, task_id)
    access.require_level(actor, TO_OPERATE, gettext_noop("suspend a task"))
    refuse_sending(actor, task)
    if task.status not in CAN_BE_SUSPENDED:
        message = _("This task is %(status)s; it cannot be suspended.") % {"status": status_word(task.status)}
        raise Conflict(message, code="status", status=task.status)
    return _move(actor, task, TaskStatus.SUSPENDED, "suspended", reason)


@in_one_transaction
def resume_task(*, actor: Actor, task_id: UUID, reason: str = "") -> Task:
    """Resume a suspended task as it was: claimed by the same person, else open. Level 4."""
    task = claim_instance(actor, task_id)
    access.require_level(actor, TO_OPERATE, gettext_noop("resume a task"))
    if task.status != TaskStatus.SUSPENDED:
        words = {"status": status_word(task.status)}
        message = _("This task is %(status)s; only a suspended one can be resumed.") % words
        raise Conflict(message, code="status", status=task.status)
    held = task.assignee_id is not None and task.claimed_at is not None
    return _move(actor, task, TaskStatus.CLAIMED if held else TaskStatus.OPEN, "resumed", reason)


def _move(actor: Actor, task: Task, status: TaskStatus, kind: str, reason: str) -> Task:
    note_act(actor, task, kind, database_now(), old={"status": task.status}, new={"status": status}, cause=reason)
    Task.objects.filter(pk=task.pk).update(status=status)
    return access.task_of(actor, task.pk)


@in_one_transaction
def snooze_task(*, actor: Actor, task_id: UUID, until: datetime | None) -> Task:
    """Put a task of one's own off until a moment; None brings it back to one's list now."""
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    if task.assignee_id is None:
        message = _("Claim it first: you can snooze only your own tasks.")
        raise Conflict(message, code="status", status=task.status)
    now = database_now()
    if until is not None and until <= now:
        message = _("Choose a moment that is still to come.")
        raise Invalid(message, [FieldError("until", "past", message)])
    shown = until.isoformat() if until else None
    note_act(
        actor,
        task,
        "snoozed",
        now,
        old={"until": task.follow_up_at.isoformat() if task.follow_up_at else None},
        new={"until": shown},
    )
    Task.objects.filter(pk=task.pk).update(follow_up_at=until)
    return access.task_of(actor, task.pk)


@in_one_transaction
def skip_task(*, actor: Actor, task_id: UUID, reason: str) -> CompletedTask:
    """Skip a task where its author allows that; the case continues without a result of it."""
    hold_active(actor)
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    refuse_held(task.instance)
    if not task.allows("skip"):
        raise Refused(_("The author of this workflow does not let this task be skipped."), code="refused")
    if not reason.strip():
        message = _("Enter a reason. It is kept with the task.")
        raise Invalid(message, [FieldError("reason", "required", message)])
    absent = access.mandate_of(actor, task)
    event = TaskSkipped(task.token, actor.name, reason, absent.name if absent else None)
    delivery = Delivery(event, None, uuid7(), actor, token=task.token, queued=False)
    coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)
    task.refresh_from_db()
    return CompletedTask(task, instance_now(task.instance_id), next_tasks(actor, task.instance_id))
