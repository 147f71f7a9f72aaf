"""Claim, release and complete human tasks.

Every act first takes the instance's claim (its runtime row), so that it never races with the engine; the second person is told
who was first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.access.four_eyes import hold_turn
from engine.audit.chain import Act, Chain, append, database_now
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, NotFound, Refused
from engine.kernel.signals import SignalType, TaskClaimed, TaskCompleted, TaskReleased
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import Instance, Task, TaskDraft
from engine.models.status_labels import status_word
from engine.runtime import claims, coordinator
from engine.runtime.claims import HeldTask, hold_task
from engine.runtime.commit import Batch, write
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Delivery, Loaded
from engine.runtime.projection.tasks import task_event
from engine.services.instances.lifecycle import instance_after, tasks_after
from engine.services.notifications.announcements import Announcement, announce
from engine.services.tasks.answers import checked_answer
from engine.services.tasks.history import note_act
from engine.services.tasks.waiting import withdraw_open_question
from workflowplatform.accounts.actor import Actor, StandIn
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import User
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
    claims.lock([task.instance_id])
    return access.visible_tasks(actor).filter(pk=task_id).first() or _vanished(actor, task)


def _vanished(actor: Actor, task: Task) -> Task:
    """Explain a task that was visible a moment ago and is no more: another person took it, or its time is over."""
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
    require_may_act(actor, task, offered=held.offered)
    if task.status == TaskStatus.CLAIMED:
        return task
    refuse_foreign(actor)
    refuse_shared(task)
    absent = access.mandate_of(actor, task, offered=held.offered)
    _refuse_over_limit(absent.person_id if absent else actor.person_id, task)
    batch = Batch()
    claim(batch, held, absent)
    write(batch)
    tell_engine(actor, task, TaskClaimed(task.token, actor.name))
    task.status, task.claimed_at = TaskStatus.CLAIMED, held.loaded.now
    task.assignee = User.objects.get(pk=absent.person_id) if absent else held.person
    return task


def claim(batch: Batch, held: HeldTask, absent: StandIn | None = None) -> None:
    """Add the rows of a claim: the task's, its event, and the audit with the instance's chain.

    What a deputy claims is bound to the absent person, so that it is theirs alone again afterwards.
    """
    holder = absent.person_id if absent else held.actor.person_id
    chain = note_claim(batch, held, absent)
    batch.add("chains", {"id": chain.id, "audit_seq": chain.seq, "audit_hash": chain.hash})
    batch.add("claimed_tasks", {"id": held.task.pk, "assignee_id": holder, "claimed_at": held.loaded.now})


def note_claim(batch: Batch, held: HeldTask, absent: StandIn | None = None) -> Chain:
    """Add what a claim leaves in the task's events and in the audit; return the chain after it."""
    new = {"assignee": absent.name, "for": absent.name} if absent else {"assignee": held.actor.name}
    batch.add("new_events", task_event(held.loaded, held.task.pk, "claimed", held.actor, new=new))
    told = new | {"token": held.task.token}
    act = Act("task_claimed", step=held.task.step, iteration=held.task.iteration, new=told)
    rows, chain = append(held.loaded.chain, [act], actor=held.actor, at=held.loaded.now)
    batch.add_audit(rows)
    return chain


def tell_engine(actor: Actor, task: Task, event: TaskClaimed | TaskReleased) -> None:
    """Deliver a claim or release to the instance, where its definition picks among offers by that."""
    if definition_of(task.version_id).claims_decide:
        delivery = Delivery(event, None, uuid7(), actor, token=task.token, queued=False)
        coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)


@in_one_transaction
def release_task(*, actor: Actor, task_id: UUID, reason: str = "") -> Task:
    """Return a task to everybody who may take it: one's own, assigned or claimed, or from level 4 on anybody's."""
    task = claim_instance(actor, task_id)
    refuse_sending(actor, task)
    assigned = task.status == TaskStatus.OPEN and task.assignee_id is not None
    if task.status != TaskStatus.CLAIMED and not assigned:
        words = {"status": status_word(task.status)}
        message = _("This task is %(status)s; only a claimed one can be released.") % words
        raise Conflict(message, code="status", status=task.status)
    if not access.moves(actor, task):
        access.require_level(actor, TO_OPERATE, gettext_noop("release another person's task"))
    return _release(actor, task, reason)


UNBOUND: dict[str, Any] = {
    "status": TaskStatus.OPEN,
    "claimed_at": None,
    "follow_up_at": None,
    "delegated_by_id": None,
    "delegated_by_name": "",
}
"""What a task loses when it changes hands."""


def _release(actor: Actor, task: Task, reason: str) -> Task:
    withdraw_open_question(actor, task)
    holder = task.assignee.username if task.assignee else None
    note_act(actor, task, "released", database_now(), old={"assignee": holder}, cause=reason)
    claimed = task.status == TaskStatus.CLAIMED
    Task.objects.filter(pk=task.pk).update(assignee_id=None, **UNBOUND)
    if claimed:
        tell_engine(actor, task, TaskReleased(task.token))
    task.refresh_from_db()
    return task


def release_all_of(*, actor: Actor, person_id: UUID, reason: str) -> int:
    """Release everything that a person holds, as when they leave. Call inside the act's transaction."""
    held = Task.objects.open().filter(tenant_id=actor.tenant_id, assignee_id=person_id).order_by("instance_id")
    claims.lock(held.values_list("instance_id", flat=True))
    tasks = list(held.select_related("assignee", "instance"))
    for task in tasks:
        _release(actor, task, reason)
    return len(tasks)


def require_may_act(actor: Actor, task: Task, *, offered: bool | None = None) -> None:
    """Raise the first rule that forbids the actor to claim or complete this task."""
    if task.rules.not_inside or task.instance.parent_token is not None:
        hold_turn(actor)
    refusal = access.refuse_act(actor, task, offered=offered)
    if refusal is not None:
        raise refusal


def refuse_sending(actor: Actor, task: Task) -> None:
    """Keep a task in its place whose answer is about to be sent, and can still be taken back by its person."""
    refusal = access.refuse_sending(actor, task)
    if refusal is not None:
        raise refusal


def refuse_shared(task: Task) -> None:
    """Keep a task that several people answer from being bound to one of them."""
    if task.takes_several:
        message = _("Several people answer this task; it is nobody's alone.")
        raise Conflict(message, code="status", status=task.status)


def _refuse_over_limit(person_id: UUID | None, task: Task) -> None:
    """Refuse a claim by a person who has as many tasks of this step as its author allows."""
    most = task.rules.wip_limit
    if most is None:
        return
    template_id = task.instance.template_id
    take_locks(lock_name("wip", person_id, template_id, task.step))
    held = Task.objects.filter(status=TaskStatus.CLAIMED, assignee_id=person_id, step=task.step)
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
    """Answer a task and continue the instance, up to its next wait. An open one is claimed in the same action.

    `ticked` are points of the checklist that are done as of now, besides those ticked before.
    """
    return answer_held(hold_task(actor, task_id), Given(outcome, dict(values or {}), comment, tuple(ticked)))


@dataclass(frozen=True, slots=True)
class Given:
    """An answer as a person gives it."""

    outcome: str | None
    values: dict[str, Any]
    comment: str = ""
    ticked: tuple[str, ...] = ()


def answer_held(held: HeldTask, given: Given) -> CompletedTask:
    """Answer a task whose instance is claimed, under every rule. Call inside the act's transaction."""
    actor, task = held.actor, held.task
    absent, answer = ready_answer(held, given)
    if task.delegated_by_id is not None:
        return _hand_back(actor, task, given.outcome or "", given.values, given.comment)
    delivery = Delivery(answer, SignalType.TASK_COMPLETED, uuid7(), actor, token=task.token, queued=False)
    batch = Batch()
    advanced = coordinator.deliver_held(_claimed(batch, held, absent), [delivery], actor, batch)
    instance = instance_after(task.instance, advanced)
    return CompletedTask(_task_after(batch, held), instance, tasks_after(actor, instance, advanced))


def ready_answer(held: HeldTask, given: Given) -> tuple[StandIn | None, TaskCompleted]:
    """Return for whom an answer is given and what the engine is told, or refuse it: the rules for every way of answering."""
    actor, task = held.actor, held.task
    _refuse_answered(actor, task)
    require_may_act(actor, task, offered=held.offered)
    refuse_held(task.instance)
    absent = access.mandate_of(actor, task, offered=held.offered)
    answer = checked_answer(actor, task, given.outcome, given.values, given.comment, given.ticked)
    if task.delegated_by_id is None:
        _refuse_prepared_by_barred(task)
    return absent, replace(answer, stood_in_for=absent.name if absent else None, prepared_by=tuple(task.prepared_by))


def _hand_back(actor: Actor, task: Task, outcome: str, values: dict[str, Any], comment: str) -> CompletedTask:
    """Keep what a delegate filled in, and give the task back for the final word."""
    kept = {"values": values, "outcome": outcome, "comment": comment}
    TaskDraft.objects.update_or_create(
        tenant_id=task.tenant_id,
        task_id=task.pk,
        owner_id=None,
        defaults={**kept, "saved_by_name": actor.name, "saved_at": database_now()},
    )
    returned = give_back(actor, task, "")
    Task.objects.filter(pk=task.pk).update(prepared_by=[*task.prepared_by, actor.name])
    returned.refresh_from_db()
    return CompletedTask(returned, task.instance, ())


def give_back(actor: Actor, task: Task, note: str) -> Task:
    """Return a delegated task to the person who has the final word, or to the queue if that person has left."""
    withdraw_open_question(actor, task)
    owner = User.objects.filter(username=task.delegated_by_name, tenant_id=task.tenant_id, is_active=True).first()
    old = {"assignee": task.assignee.username if task.assignee else None}
    now = database_now()
    note_act(actor, task, "returned", now, old=old, new={"assignee": owner and owner.username}, cause=note)
    bound = {"status": TaskStatus.CLAIMED, "claimed_at": now} if owner else {}
    Task.objects.filter(pk=task.pk).update(assignee=owner, **{**UNBOUND, **bound})
    if owner:
        announce(Announcement("returned", owner.pk, actor, task.pk, note))
    task.refresh_from_db()
    return task


def _refuse_prepared_by_barred(task: Task) -> None:
    """Refuse an answer that a person filled in who may not take part by now."""
    barred = sorted(set(task.prepared_by) & set(task.excluded))
    if barred:
        message = _("%(name)s filled this in and then took part in what it checks. Someone else has to do it.")
        raise Refused(message % {"name": barred[0].capitalize()}, code="four_eyes")


def _claimed(batch: Batch, held: HeldTask, absent: StandIn | None) -> Loaded:
    """Claim an open task in the act that answers it; return its instance as it is then."""
    if held.task.status != TaskStatus.OPEN or held.task.takes_several:
        return held.loaded
    if not definition_of(held.loaded.version_id).claims_decide:
        return replace(held.loaded, chain=note_claim(batch, held, absent))
    note_act(held.actor, held.task, "claimed", held.loaded.now, new={"assignee": held.actor.name})
    tell_engine(held.actor, held.task, TaskClaimed(held.task.token, held.actor.name))
    return claims.hold(held.loaded.instance_id)


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
    task.completed_for_name = written.get("completed_for_name") or ""
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


def refuse_held(instance: Instance) -> None:
    """Refuse to move an instance that is stopped: suspended, or with a signal missing that only an operator can bring back."""
    if instance.status == InstanceStatus.SUSPENDED:
        message = _("This case is suspended; its tasks wait until someone resumes it.")
        raise Conflict(message, code="status", status=instance.status)
    if instance.status == InstanceStatus.INCIDENT and (instance.error or {}).get("code") == "dead_letter":
        message = _("This case is stopped until an operator has looked at it. Your task waits; nothing is lost.")
        raise Conflict(message, code="status", status=instance.status)
