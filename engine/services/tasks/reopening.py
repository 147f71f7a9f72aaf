"""Reopen an answered task while the next step is untouched: the case returns to what the answer found.

The instance's audit is run again up to its last turn, which must be the answer: so nothing else has happened since, and what the
answer found is known exactly. The kernel says whether anything has left the case (engine.kernel.interpreter.reopening);
whether a person has touched what followed is looked up here. The first answer stays in the history and becomes the draft of the
new task.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.interpreter.reopening import refuse_reopening
from engine.kernel.signals import TaskCompleted, TaskReopened
from engine.kernel.snapshot import Snapshot
from engine.kernel.timing.periods import spell_moment
from engine.kernel.transitions import InstanceStatus, TaskStatus
from engine.models import PendingAnswer, Task, TaskAttachment, TaskDraft, TaskEvent
from engine.models.status_labels import status_word
from engine.runtime import coordinator
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Delivery
from engine.runtime.replay import Turn, last_turn
from engine.services.instances.four_eyes_guard import refuse_passing
from engine.services.tasks.history import note_act
from engine.services.tasks.lifecycle import claim_instance, hold_active
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

LONGEST_REASON = 2_000
WHY: Mapping[str, Any] = {
    "ended": gettext_lazy("The case ended with this answer. Start it again with the same data instead."),
    "moving": gettext_lazy("The case is still on its way. Try again in a moment."),
    "moved": gettext_lazy("Something else has happened in the case since this answer."),
    "not_answered": gettext_lazy("Other people still have to answer this task."),
    "decided": gettext_lazy("This answer decided more than its own step; it can’t be taken out again."),
    "called_out": gettext_lazy("Another system has been called since this answer."),
    "child_started": gettext_lazy("Another case was started by this answer."),
    "signal_sent": gettext_lazy("A message went to another case or system because of this answer."),
    "place_taken": gettext_lazy("The place that this step had under its limit was given to another."),
    "too_late": gettext_lazy("The time for this task is over."),
    "touched": gettext_lazy("Someone has begun the step that follows."),
    "unknown": gettext_lazy("The history of this case isn’t complete, so nobody can tell what it was before."),
}
"""Why a task stays answered, by the code that the refusal carries as `why`."""


@in_one_transaction
def reopen_task(*, actor: Actor, task_id: UUID, reason: str) -> Task:
    """Open an answered task again, as it was before its answer; return the task that is offered now. Level 4, with a reason."""
    hold_active(actor)
    task = claim_instance(actor, task_id)
    access.require_level(actor, TO_OPERATE, gettext_noop("reopen a task"))
    _check_reason(reason)
    _refuse_status(task)
    turn = _answer_of(task)
    refuse_passing(actor, task.instance, task.step)
    assert turn.before is not None
    opened_at = spell_moment(task.created_at)
    event = TaskReopened(task.token, turn.before, opened_at, actor.name, reason.strip())
    delivery = Delivery(event, None, uuid7(), actor, queued=False)
    coordinator.deliver(instance_id=task.instance_id, deliveries=[delivery], actor=actor)
    return _begin_again(actor, task, reason.strip())


def why_not_reopen(task: Task) -> str:
    """Return the code for which a task stays answered, or nothing where it may be reopened now."""
    if task.status != TaskStatus.COMPLETED or task.instance.status != InstanceStatus.RUNNING:
        return "status"
    turn = last_turn(task.instance)
    return ("unknown" if turn is None else _why(task, turn)) or ""


def _check_reason(reason: str) -> None:
    if not reason.strip():
        message = _("Enter a reason. It is kept with the task.")
        raise Invalid(message, [FieldError("reason", "required", message)])
    if len(reason) > LONGEST_REASON:
        message = _("Write at most %(most)s characters.") % {"most": LONGEST_REASON}
        raise Invalid(message, [FieldError("reason", "max_length", message)])
    unsafe = list(refuse_unsafe_json({"reason": reason}))
    if unsafe:
        raise Invalid(_("This text holds a character that cannot be kept."), unsafe)


def _refuse_status(task: Task) -> None:
    if task.status != TaskStatus.COMPLETED:
        words = {"status": status_word(task.status)}
        message = _("This task is %(status)s; only a completed one can be reopened.") % words
        raise Conflict(message, code="status", status=task.status)
    if task.instance.status != InstanceStatus.RUNNING:
        words = {"status": status_word(task.instance.status)}
        message = _("This case is %(status)s; its tasks can’t be reopened.") % words
        raise Conflict(message, code="status", status=task.instance.status)


def _answer_of(task: Task) -> Turn:
    """Return the turn that took a task's answer, or refuse: it must be the last, and nothing of it touched or gone."""
    turn = last_turn(task.instance)
    why = "unknown" if turn is None else _why(task, turn)
    if why:
        raise Conflict(str(WHY[why]), code="touched", why=why)
    assert turn is not None
    return turn


def _why(task: Task, turn: Turn) -> str | None:
    answers = [event for event in turn.events if isinstance(event, TaskCompleted)]
    if turn.before is None or task.token not in {event.token for event in answers} or len(turn.events) > 1:
        return "moved"
    before, definition = Snapshot.from_json(turn.before), definition_of(task.version_id)
    refused = refuse_reopening(definition, before, turn.result, task.token, database_now())
    return refused or ("touched" if _is_touched(task, turn) else None)


def _is_touched(task: Task, turn: Turn) -> bool:
    """Return whether a person has done anything with the tasks that followed the answer."""
    tokens = [wait.token for wait in turn.result.opened if wait.task]
    following = Task.objects.filter(instance_id=task.instance_id, token__in=tokens)
    ids = list(following.values_list("pk", flat=True))
    acts = TaskEvent.objects.filter(task_id__in=ids).exclude(Q(kind="created") | Q(at=F("task__created_at")))
    begun = (TaskDraft, TaskAttachment, PendingAnswer)
    return (
        acts.exists()
        or following.exclude(status=TaskStatus.OPEN).exists()
        or any(model.objects.filter(task_id__in=ids).exists() for model in begun)
    )


def _begin_again(actor: Actor, task: Task, reason: str) -> Task:
    """Copy to the new task what belonged to the answered one: its files, its ticks, and its answer as a draft."""
    again = Task.objects.select_related("instance", "version__template", "assignee").get(
        instance_id=task.instance_id, step=task.step, iteration=task.iteration, status=TaskStatus.OPEN
    )
    TaskAttachment.objects.filter(task=task).update(task=again)
    Task.objects.filter(pk=again.pk).update(ticked=task.ticked, answered_by=_others(task))
    TaskDraft.objects.create(
        tenant_id=task.tenant_id,
        task_id=again.pk,
        owner_id=task.completed_by_id if task.takes_several else None,
        values=task.answer or {},
        outcome=task.outcome or "",
        comment=task.comment,
        saved_by_name=task.completed_by_name,
        saved_at=database_now(),
    )
    old = {"task": str(task.pk), "outcome": task.outcome, "person": task.completed_by_name}
    note_act(actor, again, "reopened", database_now(), old=old, cause=reason)
    again.refresh_from_db()
    return again


def _others(task: Task) -> list[str]:
    """Return who has answered, where several people do, but for the one whose answer is taken back."""
    taken_back = {task.completed_by_name, task.completed_for_name}
    return [name for name in task.answered_by if name not in taken_back]
