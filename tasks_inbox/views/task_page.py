"""The page of a task, drawn the same way for whoever looks and after whatever was refused."""

from functools import wraps
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_POST

from engine import access
from engine.errors import Conflict, NotFound, WorkflowError
from engine.models import Task, TaskDraft
from engine.presentation.forms.form import TaskForm, comment_rule
from engine.presentation.forms.values import Fact, facts_of
from engine.presentation.narrative import timeline
from engine.storage.attachments import spell_size
from tasks_inbox.decorators import InboxRequest, View, inbox_page
from tasks_inbox.messages import http_status_of, notice_of, over_words
from tasks_inbox.presenters.case_context import where_of
from tasks_inbox.presenters.field_labels import answer_of, input_schema_of
from tasks_inbox.presenters.live import state_of
from tasks_inbox.presenters.prev_next import neighbours_of
from tasks_inbox.presenters.task_actions import acts_for, files_of, is_put_off, moments_to_put_off, points_of
from tasks_inbox.unsent_answers import whose
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT


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


def form_of(task: Task, data: Any = None, *, actor: Actor | None = None, draft: TaskDraft | None = None) -> TaskForm:
    """Make a task's form: what was sent, else the draft that the actor may go on with, else what the task brings."""
    prefill = task.payload if isinstance(task.payload, dict) else {}
    if actor is not None and task.keeps_drafts:
        draft = access.draft_of(actor, task)
    return TaskForm(task.form, data, prefill, comment=comment_rule(task.outcomes, task.comment_rule), draft=draft)


def refused(request: InboxRequest, task_id: UUID, refusal: WorkflowError, form: TaskForm | None = None) -> HttpResponse:
    """Show the task as it is now, under a notice; who no longer sees it gets the notice alone."""
    status = http_status_of(refusal)
    try:
        task = access.task_of(request.actor, task_id)
    except NotFound:
        if not isinstance(refusal, Conflict):
            raise
        context = {"notice": notice_of(refusal), "typed": form.typed() if form else []}
        return render(request, "inbox/task_gone.html", context, status=status)
    notice = notice_of(refusal, task)
    return task_page(request, task, form if refusal.code != "answered" else None, status=status, notice=notice)


def task_page(
    request: InboxRequest,
    task: Task,
    form: TaskForm | None = None,
    *,
    status: int = 200,
    notice: Any = None,
    theirs: TaskDraft | None = None,
) -> HttpResponse:
    """Draw the page of a task. `form` holds what was typed; `theirs` is another's draft to compare it with."""
    actor = request.actor
    reasons = access.explain_task(actor, task)
    may_act = all(reason.ok for reason in reasons)
    mine = task.assignee_id == actor.person_id
    shown_form = form or form_of(task, actor=actor if may_act else None)
    may_fill = may_act and (mine or task.takes_several or form is not None)
    usual = _place(actor, task, may_act=may_act)
    place = neighbours_of(request, task, usual)
    context = {
        "place": place.list.name if place.place else usual,
        "neighbours": place,
        "task": task,
        "form": shown_form,
        "draft": shown_form.kept_draft,
        "theirs": form_of(task, draft=theirs).preview() if theirs else [],
        "typed": form.typed() if form and notice and not may_fill else _unsent(actor, task, notice),
        "notice": notice,
        "live_state": state_of(task),
        "reasons": [reason for reason in reasons if reason.ok or not task.is_over],
        "may_act": may_act,
        "may_fill": may_fill,
        "shows_form": may_fill,
        "whose": whose(actor.person_id),
        "acts": acts_for(actor, task, may_act=may_act),
        "put_off": is_put_off(task),
        "moments": moments_to_put_off(),
        "mine": mine,
        "over": over_words(task) if task.is_over else "",
        "points": points_of(task, _just_ticked(request)),
        "facts": _facts(task, shown_form),
        "answer": answer_of(task),
        "answer_outcome": task.outcome_named(task.outcome or ""),
        "history": timeline.of_task(access.events_of(actor, task.pk).reverse(), task),
        "comments": access.comments_of(actor, task.pk),
        "files": [(file, spell_size(file.size)) for file in access.attachments_of(actor, task.pk)],
        "file_rules": files_of(task),
    } | where_of(actor, task)
    return render(request, "inbox/task.html", context, status=status)


def _facts(task: Task, form: TaskForm) -> list[Fact]:
    """Show what the author gives along, named as at the start where the start had it."""
    given = task.payload if isinstance(task.payload, dict) else {}
    asked = input_schema_of(task.version).get("properties") or {}
    return facts_of({key: value for key, value in given.items() if value is not None}, asked, without=form.keys())


def _unsent(actor: Actor, task: Task, notice: Any) -> list[Fact]:
    """Show what somebody began and never sent, where the task went away meanwhile."""
    kept = access.kept_draft_of(actor, task) if task.status != "completed" or notice else None
    return form_of(task, draft=kept).preview() if kept else []


def _just_ticked(request: InboxRequest) -> list[str] | None:
    return request.POST.getlist("tick") if "checklist" in request.POST else None


def _place(actor: Actor, task: Task, *, may_act: bool) -> str:
    """Name the list to go back to: where this task stands for the reader."""
    if task.is_over:
        return "done" if task.completed_by_id == actor.person_id else "team"
    if task.assignee_id == actor.person_id:
        return "later" if is_put_off(task) else "mine"
    return "available" if may_act or actor.level < TO_SEE_TENANT else "team"
