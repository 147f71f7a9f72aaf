"""Assign tasks to people: assign, reassign, and take the best one."""

from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, WorkflowError
from engine.kernel.forms import FieldError
from engine.kernel.signals import TaskReleased
from engine.kernel.transitions import TaskStatus
from engine.models import Task, TaskCandidate
from engine.models.task import TaskQuerySet
from engine.services.notifications.announcements import Announcement, announce
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import (
    UNBOUND,
    claim_instance,
    claim_task,
    refuse_sending,
    refuse_shared,
    tell_engine,
)
from engine.services.tasks.waiting import withdraw_open_question
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import User

MOST_TRIES = 20
TRY_CLAIM = "SELECT 1 FROM wf_runtime_states WHERE instance_id = %s FOR NO KEY UPDATE SKIP LOCKED"


@in_one_transaction
def assign_task(*, actor: Actor, task_id: UUID, person: str | None, reason: str = "") -> Task:
    """Assign an open task to a person who may do it; None offers it to all candidates again.

    One's own, or what one does for an absent person; what is offered to a role that one leads; from level 4 on anybody's.
    """
    task = claim_instance(actor, task_id)
    if not access.moves(actor, task):
        access.require_level(actor, TO_OPERATE, gettext_noop("assign a task"))
    _refuse_unassignable(task)
    refuse_sending(actor, task)
    receiver = _receiver(actor, task, person) if person is not None else None
    return _hand_over(actor, task, receiver, reason)


def _refuse_unassignable(task: Task) -> None:
    over = access.refuse_over(task)
    if over is not None:
        raise over
    if task.status == TaskStatus.SUSPENDED:
        raise Conflict(_("This task is suspended; resume it first."), code="status", status=task.status)
    refuse_shared(task)


def _receiver(actor: Actor, task: Task, name: str) -> User:
    """Find the person and refuse one who may not act on the task: the rules apply here too."""
    person = access.colleagues(actor, task).filter(username=name.replace("\0", ""), is_active=True).first()
    if person is None:
        message = _("There is nobody of this name here.")
        raise Invalid(message, [FieldError("user", "unknown", message)])
    refusal = access.refuse_given(actor_of(person), task)
    if refusal is not None:
        raise refusal
    return person


def _hand_over(actor: Actor, task: Task, person: User | None, reason: str) -> Task:
    withdraw_open_question(actor, task)
    before, was_claimed = task.assignee, task.status == TaskStatus.CLAIMED
    kind = "released" if person is None else "reassigned" if before else "assigned"
    old = {"assignee": before.username if before else None}
    note_act(actor, task, kind, database_now(), old=old, new={"assignee": person and person.username}, cause=reason)
    _move_offer(task, before, person)
    Task.objects.filter(pk=task.pk).update(assignee=person, **UNBOUND)
    if person is not None:
        announce(Announcement("assigned", person.pk, actor, task.pk, reason))
    if was_claimed:
        tell_engine(actor, task, TaskReleased(task.token))
    task.refresh_from_db()
    return task


def _move_offer(task: Task, before: User | None, person: User | None) -> None:
    """Offer the task to its new assignee where the author named only an assignee, so that a release leads back to them."""
    if person is None or before is None or task.effective_roles or task.users:
        return
    for offer in TaskCandidate.objects.filter(task_id=task.pk, principal=before.pk):
        TaskCandidate.objects.filter(task_id=task.pk, principal=before.pk).delete()
        offer.principal = person.pk
        offer.save(force_insert=True)


@in_one_transaction
def take_next_task(*, actor: Actor, template: str | None = None, role: str | None = None) -> Task | None:
    """Claim the most urgent task that the actor may take, or None where there is none.

    Tasks that another person is just taking are passed over first, so that many who ask at once get one each.
    """
    wanted = list(_wanted(actor, template, role).values_list("pk", "instance_id")[:MOST_TRIES])
    for wait in (False, True):
        for task_id, instance_id in wanted:
            taken = try_claim(actor, task_id) if wait or _is_free(instance_id) else None
            if taken is not None:
                return taken
    return None


def _wanted(actor: Actor, template: str | None, role: str | None) -> TaskQuerySet:
    tasks = access.tasks_available(actor)
    if template is not None:
        tasks = tasks.filter(version__template__name=template)
    if role is not None:
        roles = access.visible_roles(actor).filter(name=role)
        tasks = tasks.filter(candidates__principal__in=roles.values("pk")).distinct()
    return tasks


def _is_free(instance_id: UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(TRY_CLAIM, [instance_id])
        return cursor.fetchone() is not None


def try_claim(actor: Actor, task_id: UUID) -> Task | None:
    """Claim a task, or return None where a rule forbids it."""
    try:
        with transaction.atomic():
            return claim_task(actor=actor, task_id=task_id)
    except WorkflowError:
        return None
