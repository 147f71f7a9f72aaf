"""Claim, release and complete human tasks.

Every act first takes the instance's claim (its runtime row), so that it never races with the engine; whoever comes second is told
who was first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from engine import access, coordinator
from engine.audit import Act, database_now, record
from engine.definitions import definition_of
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError, check_values
from engine.kernel.signals import SignalType, TaskClaimed, TaskCompleted, TaskReleased
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Instance, Task, TaskEvent
from engine.projection import Delivery
from engine.services.instances import instance_now, next_tasks
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7


@dataclass(frozen=True, slots=True)
class CompletedTask:
    """The task just done, its instance now, and the tasks that follow."""

    task: Task
    instance: Instance
    next_tasks: tuple[Task, ...]


def claim_instance(actor: Actor, task_id: UUID) -> Task:
    """See the task, then take its instance's claim, then see it again as it is now."""
    task = access.task_of(actor, task_id)
    coordinator.lock([task.instance_id])
    return access.visible_tasks(actor).filter(pk=task_id).first() or _vanished(actor, task)


def _vanished(actor: Actor, task: Task) -> Task:
    """Explain a task that was visible a moment ago and is no more: it went to somebody, or its time is over."""
    now = Task.objects.select_related("assignee").filter(pk=task.pk, tenant_id=actor.tenant_id).first()
    if now is None:
        raise NotFound
    raise access.refuse_act(actor, now) or NotFound()


def hold_active(actor: Actor) -> None:
    """Keep the actor from being deactivated until this act is done; refuse one who is already."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT is_active FROM wf_people WHERE id = %s FOR SHARE", [actor.person_id])
        found = cursor.fetchone()
    if found is None or not found[0]:
        raise Refused("Your account is not active any more.", code="level")


@transaction.atomic
def claim_task(*, actor: Actor, task_id: UUID) -> Task:
    """Bind an open task to the actor. Claiming what one holds already changes nothing."""
    hold_active(actor)
    task = claim_instance(actor, task_id)
    refuse_act(actor, task)
    if task.status == TaskStatus.CLAIMED:
        return task
    refuse_foreign(actor)
    now = database_now()
    note_act(actor, task, "claimed", now, new={"assignee": actor.name})
    Task.objects.filter(pk=task.pk).update(status=TaskStatus.CLAIMED, assignee_id=actor.person_id, claimed_at=now)
    tell_engine(actor, task, TaskClaimed(task.token, actor.name))
    return access.task_of(actor, task_id)


def tell_engine(actor: Actor, task: Task, happening: TaskClaimed | TaskReleased) -> None:
    """Let a claim or release move the instance, where its definition picks among offers by that."""
    if definition_of(task.version_id).claims_decide:
        delivery = Delivery(happening, None, uuid7(), actor, token=task.token, queued=False)
        coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)


@transaction.atomic
def release_task(*, actor: Actor, task_id: UUID, reason: str = "") -> Task:
    """Give a claimed task back to all who may take it: one's own, or from level 4 on anybody's."""
    task = claim_instance(actor, task_id)
    if task.status != TaskStatus.CLAIMED:
        raise Conflict(
            f"This task is {task.status}; only a claimed one can be released.", code="status", status=task.status
        )
    if task.assignee_id != actor.person_id:
        access.require_level(actor, TO_OPERATE, "release somebody else's task")
    return _release(actor, task, reason)


def _release(actor: Actor, task: Task, reason: str) -> Task:
    holder = task.assignee.username if task.assignee else None
    note_act(actor, task, "released", database_now(), old={"assignee": holder}, cause=reason)
    Task.objects.filter(pk=task.pk).update(status=TaskStatus.OPEN, assignee_id=None, claimed_at=None)
    tell_engine(actor, task, TaskReleased(task.token))
    task.refresh_from_db()
    return task


def release_all_of(*, actor: Actor, person_id: UUID, reason: str) -> int:
    """Release everything that a person holds, as when they leave. Call inside the act's transaction."""
    held = Task.objects.open().filter(tenant_id=actor.tenant_id, assignee_id=person_id).order_by("instance_id")
    coordinator.lock(held.values_list("instance_id", flat=True))
    tasks = list(held.select_related("assignee", "instance"))
    for task in tasks:
        _release(actor, task, reason)
    return len(tasks)


def note_act(
    actor: Actor, task: Task, kind: str, at: datetime, *, old: Any = None, new: Any = None, cause: str = ""
) -> None:
    """Write what happened to the task's events and to the instance's audit."""
    TaskEvent.objects.create(
        tenant_id=task.tenant_id,
        instance_id=task.instance_id,
        task=task,
        kind=kind,
        at=at,
        actor_id=actor.person_id,
        actor_name=actor.name,
        actor_level=actor.level,
        cause=cause,
        old=old,
        new=new,
    )
    record(
        task.instance,
        Act(f"task_{kind}", step=task.step, iteration=task.iteration, cause=cause, old=old, new=new),
        actor=actor,
    )


def refuse_act(actor: Actor, task: Task) -> None:
    """Raise the first rule that forbids the actor to claim or complete this task."""
    refusal = access.refuse_act(actor, task)
    if refusal is not None:
        raise refusal


def refuse_foreign(actor: Actor) -> None:
    """Keep who works in another tenant from holding a task there."""
    if actor.crosses or actor.person_id is None:
        raise Refused(
            "You work in another tenant; tasks there can only be bound to its own people.", code="not_candidate"
        )


@transaction.atomic
def complete_task(
    *,
    actor: Actor,
    task_id: UUID,
    outcome: str | None = None,
    values: Mapping[str, Any] | None = None,
    comment: str = "",
) -> CompletedTask:
    """Answer a task and let the instance go on, up to its next wait. An open one is claimed in the same act."""
    hold_active(actor)
    task = claim_instance(actor, task_id)
    _refuse_answered(actor, task)
    refuse_act(actor, task)
    _refuse_suspended(task.instance)
    answer = _checked_answer(actor, task, outcome, dict(values or {}), comment)
    if task.status == TaskStatus.OPEN:
        note_act(actor, task, "claimed", database_now(), new={"assignee": actor.name})
        tell_engine(actor, task, TaskClaimed(task.token, actor.name))
    delivery = Delivery(answer, SignalType.TASK_COMPLETED, uuid7(), actor, token=task.token, queued=False)
    coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)
    task.refresh_from_db()
    return CompletedTask(task, instance_now(task.instance_id), next_tasks(actor, task.instance_id))


def _refuse_answered(actor: Actor, task: Task) -> None:
    if task.status == TaskStatus.COMPLETED and task.completed_by_id == actor.person_id:
        raise Conflict(
            f"Already sent at {task.completed_at:%H:%M}. Here is what you answered.",
            code="answered",
            outcome=task.outcome,
        )


def _refuse_suspended(instance: Instance) -> None:
    if instance.status == InstanceStatus.SUSPENDED:
        message = "This instance is suspended; its tasks wait until somebody resumes it."
        raise Conflict(message, code="status", status=instance.status)


def _checked_answer(
    actor: Actor, task: Task, outcome: str | None, values: dict[str, Any], comment: str
) -> TaskCompleted:
    chosen = _outcome(task, outcome)
    _require_comment(task, chosen, comment)
    checked, errors = check_values(task.form or None, values)
    if errors:
        count = "1 field needs" if len(errors) == 1 else f"{len(errors)} fields need"
        raise Invalid(f"{count} your attention.", [_within("values", error) for error in errors])
    return TaskCompleted(
        token=task.token, outcome=chosen["name"], by=actor.name, values=checked, comment=comment or None
    )


def _within(field: str, error: FieldError) -> FieldError:
    path = f"{field}.{error.path}" if error.path else field
    return FieldError(path, error.code, error.message)


def _outcome(task: Task, name: str | None) -> dict[str, Any]:
    if name is None and len(task.outcomes) == 1:
        only: dict[str, Any] = task.outcomes[0]
        return only
    found = task.outcome_named(name) if name else None
    if found is None:
        known = ", ".join(outcome["name"] for outcome in task.outcomes)
        message = f"Choose one of: {known}."
        raise Invalid(message, [FieldError("outcome", "outcome", message)])
    return found


def _require_comment(task: Task, outcome: dict[str, Any], comment: str) -> None:
    rule = outcome.get("comment") or task.comment_rule
    needed = rule == "always" or (rule == "on_reject" and outcome.get("reject"))
    if needed and not comment.strip():
        message = f"Write a comment: {outcome['title']} needs one."
        raise Invalid(message, [FieldError("comment", "comment_required", message)], code="comment_required")
