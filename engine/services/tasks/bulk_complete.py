"""Answer many tasks of one kind with the same outcome, each as it is: where its form brings all that it asks for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.errors import Conflict, Invalid, WorkflowError
from engine.kernel.forms import FieldError, check_answer_values
from engine.kernel.tasks.answers import brought_values, read_only_kept
from engine.models import Task
from engine.services.tasks.lifecycle import complete_task, refuse_held
from engine.services.tasks.undo import give_answer
from workflowplatform.accounts.actor import Actor


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the chosen tasks, and what keeps it from being answered with the others."""

    task: Task
    refusal: WorkflowError | None


def look_together(*, actor: Actor, task_ids: Sequence[UUID]) -> list[Candidate]:
    """Check for each chosen task that the actor sees whether it could be answered as it is; nothing is done yet."""
    seen = access.visible_tasks(actor).in_bulk(task_ids)
    tasks = [seen[task_id] for task_id in dict.fromkeys(task_ids) if task_id in seen]
    refuse_mixed(tasks)
    return [Candidate(task, _refusal(actor, task)) for task in tasks]


def refuse_mixed(tasks: Iterable[Task]) -> None:
    """Keep tasks of several kinds from one answer: the same word may mean different things there."""
    if len({(task.version.template_id, task.step) for task in tasks}) > 1:
        message = _("Choose tasks of one kind: the same step of the same workflow.")
        raise Invalid(message, [FieldError("ids", "mixed", message)])


def answer_alike(*, actor: Actor, task_id: UUID, outcome: str, comment: str, batch_id: UUID | None = None) -> Task:
    """Answer one of them. Its instance's claim is held already, so that nobody begins a draft meanwhile.

    What a page asks for together can be taken back together: `batch_id` names it.
    """
    task = access.task_of(actor, task_id)
    rejects = bool((task.outcome_named(outcome) or {}).get("reject"))
    refusal = None if task.is_over else _refusal(actor, task, rejects=rejects)
    if refusal is not None:
        raise refusal
    values = brought_values(task.form, task.payload)
    if batch_id is None:
        return complete_task(actor=actor, task_id=task_id, outcome=outcome, values=values, comment=comment).task
    given = give_answer(
        actor=actor, task_id=task_id, outcome=outcome, values=values, comment=comment, batch_id=batch_id
    )
    return given.task


def _refusal(actor: Actor, task: Task, *, rejects: bool = False) -> WorkflowError | None:
    refusal = access.refuse_act(actor, task)
    if refusal is None:
        try:
            refuse_held(task.instance)
        except Conflict as standstill:
            refusal = standstill
    return refusal or _unfit(actor, task, rejects=rejects)


def _unfit(actor: Actor, task: Task, *, rejects: bool) -> WorkflowError | None:
    """Refuse what a person must look at: an answer that was begun, or a form that asks for more than it brings."""
    if task.keeps_drafts and access.draft_of(actor, task) is not None:
        return Conflict(_("Someone began to answer it. Open it and continue from there."), code="draft")
    brought = read_only_kept(task.form, task.payload, brought_values(task.form, task.payload))
    if check_answer_values(task.form or None, brought, rejects=rejects)[1]:
        return Conflict(_("Its form asks for an answer of its own; open it."), code="own_answer")
    return None
