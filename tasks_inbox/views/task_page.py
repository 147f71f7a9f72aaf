"""The page of a task, drawn the same way for whoever looks and after whatever was refused."""

from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST

from engine import access
from engine.attachments import spell_size
from engine.errors import Conflict, NotFound, WorkflowError
from engine.forms.building import TaskForm, comment_rule
from engine.forms.values import facts_of
from engine.models import Task
from engine.telling import timeline
from engine.telling.outline import near, outline_of
from tasks_inbox.authored import answer_of, began_with
from tasks_inbox.guard import InboxRequest, View, inbox_page
from tasks_inbox.messages import http_status_of, notice_of
from tasks_inbox.offers import acts_for, files_of, is_put_off, moments_to_put_off, points_of
from workflowplatform.accounts.actor import Actor


def task_act(view: View) -> View:
    """Make a view an act on a task: sent by a form, and what is refused comes back as the task's page under a notice."""

    @require_POST
    @inbox_page
    @wraps(view)
    def act(request: InboxRequest, task_id: UUID, **rest: Any) -> HttpResponseBase:
        try:
            return view(request, task_id, **rest)
        except NotFound:
            raise
        except WorkflowError as refusal:
            return refused(request, task_id, refusal)

    return act


def form_of(task: Task, data: Any = None, *, actor: Actor | None = None) -> TaskForm:
    """Make a task's form: what was sent, else the draft that the actor may go on with, else what the task brings."""
    prefill = task.payload if isinstance(task.payload, dict) else {}
    draft = access.draft_of(actor, task) if actor is not None and task.keeps_drafts else None
    return TaskForm(task.form, data, prefill, comment=comment_rule(task.outcomes, task.comment_rule), draft=draft)


def refused(request: InboxRequest, task_id: UUID, refusal: WorkflowError, form: TaskForm | None = None) -> HttpResponse:
    """Show the task as it is now, under a notice; who no longer sees it gets the notice alone."""
    status, notice = http_status_of(refusal), notice_of(refusal)
    try:
        task = access.task_of(request.actor, task_id)
    except NotFound:
        if not isinstance(refusal, Conflict):
            raise
        return render(
            request, "inbox/task_gone.html", {"notice": notice, "typed": form.typed() if form else []}, status=status
        )
    return task_page(request, task, form if refusal.code != "answered" else None, status=status, notice=notice)


def task_page(
    request: InboxRequest, task: Task, form: TaskForm | None = None, *, status: int = 200, notice: Any = None
) -> HttpResponse:
    """Draw the page of a task."""
    actor = request.actor
    reasons = access.explain_task(actor, task)
    may_act = all(reason.ok for reason in reasons)
    mine = task.assignee_id == actor.person_id
    shown_form = form or form_of(task, actor=actor if may_act else None)
    may_fill = may_act and (mine or task.takes_several or form is not None)
    context = {
        "place": _place(actor, task),
        "task": task,
        "form": shown_form,
        "draft": shown_form.kept_draft,
        "typed": form.typed() if form and notice else [],
        "notice": notice,
        "reasons": reasons,
        "may_act": may_act,
        "may_fill": may_fill,
        "shows_form": may_fill and not (form and notice),
        "acts": acts_for(actor, task, may_act=may_act),
        "put_off": is_put_off(task),
        "moments": moments_to_put_off(),
        "mine": mine,
        "points": points_of(task, _just_ticked(request)),
        "facts": facts_of(task.payload, without=shown_form.keys()),
        "answer": answer_of(task),
        "answer_outcome": task.outcome_named(task.outcome or ""),
        "history": timeline.of_task(access.events_of(actor, task.pk).reverse(), task),
        "comments": access.comments_of(actor, task.pk),
        "files": [(file, spell_size(file.size)) for file in access.attachments_of(actor, task.pk)],
        "file_rules": files_of(task),
    } | _where(actor, task)
    return render(request, "inbox/task.html", context, status=status)


def _just_ticked(request: InboxRequest) -> list[str] | None:
    return request.POST.getlist("tick") if "checklist" in request.POST else None


def _place(actor: Actor, task: Task) -> str:
    """Name the list to go back to: where this task stands for the reader."""
    if task.is_over:
        return "done" if task.completed_by_id == actor.person_id else "team"
    if task.assignee_id == actor.person_id:
        return "later" if is_put_off(task) else "mine"
    return "available" if task.assignee_id is None else "team"


def _where(actor: Actor, task: Task) -> dict[str, Any]:
    """Show where the case is and what it began with, to those who see the case."""
    try:
        runs = access.step_runs_of(actor, task.instance_id)
    except NotFound:
        return {"outline": ()}
    return {"outline": near(outline_of(task.version.canonical, runs)), "began": began_with(task.instance, task.version)}
