"""Tick what is done of a task's checklist, one point at a time; the ticks stay with the task when another takes it over."""

from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Task
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import claim_instance, require_may_act
from workflowplatform.accounts.actor import Actor


@in_one_transaction
def tick_point(*, actor: Actor, task_id: UUID, point: str, done: bool = True) -> Task:
    """Tick a point of the checklist, or take the tick away."""
    task = claim_instance(actor, task_id)
    require_may_act(actor, task)
    if point not in {one.id for one in task.checklist}:
        message = _("There is no such point on the checklist.")
        raise Invalid(message, [FieldError("point", "unknown", message)])
    if done == (point in task.ticked_ids):
        return task
    now = database_now()
    ticks = [tick for tick in task.ticked if tick["id"] != point]
    ticks += [{"id": point, "by": actor.name, "at": now.isoformat()}] if done else []
    note_act(actor, task, "ticked" if done else "unticked", now, new={"point": point})
    Task.objects.filter(pk=task.pk).update(ticked=ticks)
    return access.task_of(actor, task.pk)
