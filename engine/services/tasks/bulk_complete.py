"""Answer many tasks of one kind with the same outcome, each as it stands: where its form brings all that it asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.errors import Conflict, Invalid, WorkflowError
from engine.kernel.forms import FieldError, check_values
from engine.kernel.task_answers import brought_values
from engine.models import Task
from engine.services.tasks.answer_checks import with_read_only
from engine.services.tasks.lifecycle import complete_task, refuse_standstill
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the chosen tasks, and what keeps it from being answered with the others."""

    task: Task
    refusal: WorkflowError | None


def look_together(*, actor: Actor, task_ids: Sequence[UUID]) -> list[Candidate]:
    """Say of each chosen task that the actor sees whether it could be answered as it stands; nothing is done yet."""
    seen = access.visible_tasks(actor).in_bulk(task_ids)
    tasks = [seen[task_id] for task_id in dict.fromkeys(task_ids) if task_id in seen]
    refuse_mixed(tasks)
    return [Candidate(task, _refusal(actor, task)) for task in tasks]


def refuse_mixed(tasks: Iterable[Task]) -> None:
    """Keep tasks of several kinds from one answer: the same word may mean different things there."""
    if len({(task.version.template_id, task.step) for task in tasks}) > 1:
        message = _("Choose tasks of one kind: the same step of the same workflow.")
        raise Invalid(message, [FieldError("ids", "mixed", message)])


def answer_alike(*, actor: Actor, task_id: UUID, outcome: str, comment: str) -> Task:
    """Answer one of them. Its instance's claim is held already, so that nobody begins a draft meanwhile."""
    task = access.task_of(actor, task_id)
    refusal = None if task.is_over else _refusal(actor, task)
    if refusal is not None:
        raise refusal
    done = complete_task(
        actor=actor, task_id=task_id, outcome=outcome, values=brought_values(task.form, task.payload), comment=comment
    )
    return done.task


def _refusal(actor: Actor, task: Task) -> WorkflowError | None:
    refusal = access.refuse_act(actor, task)
    if refusal is None:
        try:
            refuse_standstill(task.instance)
        except Conflict as standstill:
            refusal = standstill
    return refusal or _unfit(actor, task)


def _unfit(actor: Actor, task: Task) -> WorkflowError | None:
    """Refuse what somebody must look at: an answer that was begun, or a form that asks for more than it brings."""
    if task.keeps_drafts and access.draft_of(actor, task) is not None:
        return Conflict(_("Somebody began to answer it; open it and go on from there."), code="draft")
    if check_values(task.form or None, with_read_only(task, brought_values(task.form, task.payload)))[1]:
        return Conflict(_("Its form asks for an answer of its own; open it."), code="own_answer")
    return None
