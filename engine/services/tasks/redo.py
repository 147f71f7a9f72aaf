"""Have an answered task done again: the case goes back to it, where its author allows that.

It is for the person who answered, and for operators. What began behind the task is withdrawn and done anew when the case comes
to it; once the case has acted on the outside behind the task, nothing goes back. A decision that four eyes keep from a person is
not set aside by that person.
"""

from contextlib import suppress
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Refused, Unreadable
from engine.kernel.machine.four_eyes import barred_from_redoing
from engine.kernel.machine.redoable import redoable_in
from engine.kernel.signals import TaskRedone
from engine.models import RuntimeState, Task, TaskDraft
from engine.runtime import claims, coordinator
from engine.runtime.claims import read_snapshot
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Delivery, Loaded
from engine.services.instances.lifecycle import instance_now, next_tasks
from engine.services.tasks.assignment import try_claim
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import CompletedTask, claim_instance, hold_active, refuse_held
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


@in_one_transaction
def redo_task(*, actor: Actor, task_id: UUID, reason: str = "") -> CompletedTask:
    """Open an answered task anew; what was answered stays in the record and is filled in for a start."""
    hold_active(actor)
    task = claim_instance(actor, task_id)
    refusal = access.refuse_redo(actor, task)
    if refusal is not None:
        raise refusal
    if task.instance.is_over:
        raise _moved_on(task)
    refuse_held(task.instance)
    loaded = claims.load([task.instance_id])[task.instance_id]
    _refuse_to_set_aside(actor, task, loaded)
    note_act(actor, task, "redone", database_now(), cause=reason)
    event = TaskRedone(task.step, task.iteration, actor.name, reason)
    delivery = Delivery(event, None, uuid7(), actor, queued=False)
    advanced = coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)
    if not advanced.applied[0]:
        raise _moved_on(task)
    _begin(actor, task, loaded)
    return CompletedTask(task, instance_now(task.instance_id), next_tasks(actor, task.instance_id))


def can_redo(actor: Actor, task: Task) -> bool:
    """Return whether a page should offer it; the act decides again."""
    if not task.allows("redo") or task.instance.is_over or access.refuse_redo(actor, task) is not None:
        return False
    stored = RuntimeState.objects.filter(pk=task.instance_id).values_list("snapshot", flat=True).first()
    with suppress(Unreadable):
        return stored is not None and (task.step, task.iteration) in redoable_in(read_snapshot(stored))
    return False


def _moved_on(task: Task) -> Conflict:
    message = _("The case has moved on, so this task can't be done again.")
    return Conflict(message, code="moved_on", status=task.instance.status)


def _refuse_to_set_aside(actor: Actor, task: Task, loaded: Loaded) -> None:
    """Refuse to have decided again what another decided because the actor may not: they would choose when it is good enough."""
    definition = definition_of(loaded.version_id)
    if loaded.snapshot is None or task.completed_at is None or task.step not in definition.steps:
        return
    step, started_by = definition.steps[task.step], loaded.facts.started_by
    for decided, people in barred_from_redoing(definition, loaded.snapshot, started_by, step, task.completed_at):
        if actor.is_service or not actor.eyes.isdisjoint(people):
            message = _("%(task)s was decided by someone else, and you took part, so someone else has this done again.")
            raise Refused(message % {"task": decided.id.replace("_", " ").capitalize()}, code="four_eyes")


def _begin(actor: Actor, task: Task, before: Loaded) -> None:
    """Fill the old answer in where one person answers with drafts, and assign the task to that person again if it is offered."""
    first = before.snapshot.next_frame if before.snapshot else 0
    fresh = Task.objects.open().filter(instance_id=task.instance_id, step=task.step, token__gte=first).first()
    if fresh is None or fresh.takes_several:
        return
    if fresh.keeps_drafts:
        _fill_in(task, fresh)
    if fresh.assignee_id is None and task.completed_by_id == actor.person_id:
        try_claim(actor, fresh.pk)


def _fill_in(task: Task, fresh: Task) -> None:
    TaskDraft.objects.create(
        tenant_id=fresh.tenant_id,
        task_id=fresh.pk,
        owner_id=None,
        values=task.answer or {},
        outcome=task.outcome or "",
        comment="",
        saved_by_name=task.completed_by_name,
        saved_at=database_now(),
    )
