"""Claim, release and complete human tasks.

Every act first takes the instance's claim (its runtime row), so that it never races with the engine; whoever comes second is told
who was first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.access.four_eyes import INSIDE, hold_turn
from engine.audit.chain import Act, Chain, append, database_now, record
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError, check_values
from engine.kernel.signals import SignalType, TaskClaimed, TaskCompleted, TaskReleased
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Instance, Task, TaskEvent
from engine.models.status_labels import status_word
from engine.runtime import coordinator
from engine.runtime.commit import Batch, write
from engine.runtime.definition_cache import definition_of
from engine.runtime.locked_reads import HeldTask, hold_task
from engine.runtime.projection import Delivery, Loaded
from engine.runtime.projection.tasks import task_event
from engine.services.instances.lifecycle import attention_words, instance_after, tasks_after
from engine.services.tasks.answer_checks import missing_files, with_read_only
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
        raise Refused(_("Your account is not active any more."), code="level")


@in_one_transaction
def claim_task(*, actor: Actor, task_id: UUID) -> Task:
    """Bind an open task to the actor. Claiming what one holds already changes nothing."""
    held = hold_task(actor, task_id)
    actor, task = held.actor, held.task
    refuse_act(actor, task, offered=held.offered)
    if task.status == TaskStatus.CLAIMED:
        return task
    refuse_foreign(actor)
    refuse_shared(task)
    _refuse_over_limit(actor, task)
    batch = Batch()
    claim(batch, held)
    write(batch)
    tell_engine(actor, task, TaskClaimed(task.token, actor.name))
    task.status, task.assignee, task.claimed_at = TaskStatus.CLAIMED, held.person, held.loaded.now
    return task


def claim(batch: Batch, held: HeldTask) -> None:
    """Add the rows of a claim: the task's, its event, and the audit with the instance's chain."""
    chain = note_claim(batch, held)
    batch.add("chains", {"id": chain.id, "audit_seq": chain.seq, "audit_hash": chain.hash})
    batch.add("claimed_tasks", {"id": held.task.pk, "assignee_id": held.actor.person_id, "claimed_at": held.loaded.now})


def note_claim(batch: Batch, held: HeldTask) -> Chain:
    """Add what a claim leaves in the task's events and in the audit; return the chain after it."""
    new = {"assignee": held.actor.name}
    batch.add("new_events", task_event(held.loaded, held.task.pk, "claimed", held.actor, new=new))
    told = new | {"token": held.task.token}
    act = Act("task_claimed", step=held.task.step, iteration=held.task.iteration, new=told)
    rows, chain = append(held.loaded.chain, [act], actor=held.actor, at=held.loaded.now)
    batch.extend("audit", rows)
    return chain


def tell_engine(actor: Actor, task: Task, event: TaskClaimed | TaskReleased) -> None:
    """Let a claim or release move the instance, where its definition picks among offers by that."""
    if definition_of(task.version_id).claims_decide:
        delivery = Delivery(event, None, uuid7(), actor, token=task.token, queued=False)
        coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)


@in_one_transaction
def release_task(*, actor: Actor, task_id: UUID, reason: str = "") -> Task:
    """Give a claimed task back to all who may take it: one's own, or from level 4 on anybody's."""
    task = claim_instance(actor, task_id)
    if task.status != TaskStatus.CLAIMED:
        words = {"status": status_word(task.status)}
        message = _("This task is %(status)s; only a claimed one can be released.") % words
        raise Conflict(message, code="status", status=task.status)
    if task.assignee_id != actor.person_id:
        access.require_level(actor, TO_OPERATE, gettext_noop("release somebody else's task"))
    return _release(actor, task, reason)


def _release(actor: Actor, task: Task, reason: str) -> Task:
    holder = task.assignee.username if task.assignee else None
    note_act(actor, task, "released", database_now(), old={"assignee": holder}, cause=reason)
    Task.objects.filter(pk=task.pk).update(status=TaskStatus.OPEN, assignee_id=None, claimed_at=None, follow_up_at=None)
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
    told = {**(new or {}), "token": task.token}
    act = Act(f"task_{kind}", step=task.step, iteration=task.iteration, cause=cause, old=old, new=told)
    record(task.instance, act, actor=actor)


def refuse_act(actor: Actor, task: Task, *, offered: bool | None = None) -> None:
    """Raise the first rule that forbids the actor to claim or complete this task."""
    if INSIDE in task.extra or task.instance.parent_token is not None:
        hold_turn(actor)
    refusal = access.refuse_act(actor, task, offered=offered)
    if refusal is not None:
        raise refusal


def refuse_shared(task: Task) -> None:
    """Keep a task that several people answer from being bound to one of them."""
    if task.takes_several:
        message = _("Several people answer this task; it is nobody's alone.")
        raise Conflict(message, code="status", status=task.status)


def _refuse_over_limit(actor: Actor, task: Task) -> None:
    """Refuse a claim by somebody who holds as many tasks of this step as its author lets one person hold."""
    most = task.extra.get("wip_limit")
    if most is None:
        return
    template_id = task.instance.template_id
    take_locks(lock_name("wip", actor.person_id, template_id, task.step))
    held = Task.objects.filter(status=TaskStatus.CLAIMED, assignee_id=actor.person_id, step=task.step)
    number = held.filter(version__template_id=template_id).count()
    if number >= most:
        message = _("You hold %(number)s of these already; finish or release one first.") % {"number": number}
        raise Conflict(message, code="wip_limit", limit=most)


def refuse_foreign(actor: Actor) -> None:
    """Keep who works in another tenant from holding a task there."""
    if actor.crosses or actor.person_id is None:
        message = _("You work in another tenant; tasks there can only be bound to its own people.")
        raise Refused(message, code="not_candidate")


@in_one_transaction
def complete_task(
    *,
    actor: Actor,
    task_id: UUID,
    outcome: str | None = None,
    values: Mapping[str, Any] | None = None,
    comment: str = "",
    ticked: Sequence[str] = (),
) -> CompletedTask:
    """Answer a task and let the instance go on, up to its next wait. An open one is claimed in the same act.

    `ticked` are points of the checklist that are done as of now, beside those ticked before.
    """
    held = hold_task(actor, task_id)
    actor, task = held.actor, held.task
    _refuse_answered(actor, task)
    refuse_act(actor, task, offered=held.offered)
    refuse_standstill(task.instance)
    answer = _checked_answer(actor, task, outcome, dict(values or {}), comment)
    _require_checklist(task, answer.outcome, ticked)
    _require_files(task, answer.outcome)
    delivery = Delivery(answer, SignalType.TASK_COMPLETED, uuid7(), actor, token=task.token, queued=False)
    batch = Batch()
    advanced = coordinator.deliver_held(_claimed(batch, held), [delivery], actor, batch)
    instance = instance_after(task.instance, advanced)
    return CompletedTask(_task_after(batch, held), instance, tasks_after(actor, instance, advanced))


def _claimed(batch: Batch, held: HeldTask) -> Loaded:
    """Claim an open task in the act that answers it; return its instance as it is then."""
    if held.task.status != TaskStatus.OPEN or held.task.takes_several:
        return held.loaded
    if not definition_of(held.loaded.version_id).claims_decide:
        return replace(held.loaded, chain=note_claim(batch, held))
    note_act(held.actor, held.task, "claimed", held.loaded.now, new={"assignee": held.actor.name})
    tell_engine(held.actor, held.task, TaskClaimed(held.task.token, held.actor.name))
    return coordinator.hold(held.loaded.instance_id)


def _task_after(batch: Batch, held: HeldTask) -> Task:
    """Bring the task in hand up to what was just written; one that stays open, others having to answer, is read again."""
    task = held.task
    written = next((row for row in batch.rows["closed_tasks"] if row["token"] == task.token), None)
    if written is None:
        task.refresh_from_db()
        return task
    for name in ("status", "outcome", "answer", "completed_at", "completed_by_id", "completed_by_name"):
        setattr(task, name, written.get(name))
    task.comment = written.get("comment") or ""
    task.claimed_at = task.claimed_at or written.get("claimed_at")
    if written.get("assignee_id"):
        task.assignee = held.person
    return task


def _refuse_answered(actor: Actor, task: Task) -> None:
    own = task.completed_by_id == actor.person_id or actor.name in task.answered_by
    if task.status == TaskStatus.COMPLETED and own:
        at = {"at": f"{task.completed_at:%H:%M}"}
        message = _("Already sent at %(at)s. Here is what you answered.") % at
        raise Conflict(message, code="answered", outcome=task.outcome)


def refuse_standstill(instance: Instance) -> None:
    """Refuse to move an instance that stands still: suspended, or with a signal missing that only an operator can bring back."""
    if instance.status == InstanceStatus.SUSPENDED:
        message = _("This instance is suspended; its tasks wait until somebody resumes it.")
        raise Conflict(message, code="status", status=instance.status)
    if instance.status == InstanceStatus.INCIDENT and (instance.error or {}).get("code") == "dead_letter":
        message = _("This instance stands still until an operator has looked at it. Your task waits; nothing is lost.")
        raise Conflict(message, code="status", status=instance.status)


def _checked_answer(
    actor: Actor, task: Task, outcome: str | None, values: dict[str, Any], comment: str
) -> TaskCompleted:
    chosen = _outcome(task, outcome)
    _require_comment(task, chosen, comment)
    checked, errors = check_values(task.form or None, with_read_only(task, values))
    errors = errors or tuple(missing_files(task, checked))
    if errors:
        raise Invalid(attention_words(len(errors)), [_within("values", error) for error in errors])
    return TaskCompleted(
        token=task.token, outcome=chosen["name"], by=actor.name, values=checked, comment=comment or None
    )


def _require_checklist(task: Task, outcome: str, ticked: Sequence[str]) -> None:
    """Refuse an answer that leaves points of the checklist undone, unless it rejects."""
    if not task.checklist or (task.outcome_named(outcome) or {}).get("reject"):
        return
    done = {*ticked, *task.ticked_ids}
    missing = [point for point in task.checklist if point["required"] and point["id"] not in done]
    if missing:
        message = _("Tick what is done: the checklist is not complete.")
        errors = [
            FieldError(f"checklist.{point['id']}", "unticked", _("Not done yet: %(title)s") % {"title": point["title"]})
            for point in missing
        ]
        raise Invalid(message, errors)


def _require_files(task: Task, outcome: str) -> None:
    rules = task.extra.get("attachments") or {}
    if not rules.get("required") or (task.outcome_named(outcome) or {}).get("reject"):
        return
    if not task.attachments.exists():
        message = _("Add a file: this answer needs one.")
        raise Invalid(message, [FieldError("attachments", "required", message)])


def _within(field: str, error: FieldError) -> FieldError:
    path = f"{field}.{error.path}" if error.path else field
    return replace(error, path=path)


def _outcome(task: Task, name: str | None) -> dict[str, Any]:
    if name is None and len(task.outcomes) == 1:
        only: dict[str, Any] = task.outcomes[0]
        return only
    found = task.outcome_named(name) if name else None
    if found is None:
        known = ", ".join(outcome["name"] for outcome in task.outcomes)
        message = _("Choose one of: %(known)s.") % {"known": known}
        raise Invalid(message, [FieldError("outcome", "outcome", message)])
    return found


def _require_comment(task: Task, outcome: dict[str, Any], comment: str) -> None:
    rule = outcome.get("comment") or task.comment_rule
    needed = rule == "always" or (rule == "on_reject" and outcome.get("reject"))
    if needed and not comment.strip():
        message = _("Write a comment: %(outcome)s needs one.") % {"outcome": outcome["title"]}
        raise Invalid(message, [FieldError("comment", "comment_required", message)], code="comment_required")
