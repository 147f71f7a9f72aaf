"""The page of a task, and the three things one does with it: claim, release, complete."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Conflict, Invalid, NotFound, WorkflowError
from engine.models import Task
from engine.services import tasks as services
from tasks_inbox import timeline
from tasks_inbox.authored import answer_of, began_with
from tasks_inbox.forms import CommentRule, TaskForm
from tasks_inbox.guard import InboxRequest, inbox_page
from tasks_inbox.messages import http_status_of, notice_of
from tasks_inbox.outline import near, outline_of
from tasks_inbox.values import facts_of
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE


@require_GET
@inbox_page
def show(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Show a task to whoever may see it."""
    return _page(request, access.task_of(request.actor, task_id))


@require_POST
@inbox_page
def claim(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Take a task, or say who was faster."""
    try:
        task = services.claim_task(actor=request.actor, task_id=task_id)
    except NotFound:
        raise
    except WorkflowError as refusal:
        return _refused(request, task_id, refusal)
    messages.success(request, _("Claimed. It is yours now."))
    return redirect("inbox:task", task_id=task.pk)


@require_POST
@inbox_page
def release(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Give a task back."""
    try:
        services.release_task(actor=request.actor, task_id=task_id)
    except NotFound:
        raise
    except WorkflowError as refusal:
        return _refused(request, task_id, refusal)
    messages.success(request, _("Released. Others may take it now."))
    return redirect("inbox:task", task_id=task_id)


@require_POST
@inbox_page
def complete(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Send an answer; what cannot be taken comes back with everything typed."""
    task = access.task_of(request.actor, task_id)
    form = _form(task, request.POST)
    if not form.is_valid() and not task.is_over:
        return _page(request, task, form, status=400)
    try:
        done = _send(request, task, form)
    except Invalid as refusal:
        form.take_errors(refusal.errors, within="values")
        return _page(request, task, form, status=400)
    except NotFound:
        raise
    except WorkflowError as refusal:
        return _refused(request, task_id, refusal, form)
    return _go_on(request, done)


def _send(request: InboxRequest, task: Task, form: TaskForm) -> services.CompletedTask:
    return services.complete_task(
        actor=request.actor,
        task_id=task.pk,
        outcome=request.POST.get("outcome") or None,
        values=form.values(),
        comment=form.comment(),
    )


def _go_on(request: InboxRequest, done: services.CompletedTask) -> HttpResponse:
    """Open the next task of the same instance that is the person's own, else the list."""
    messages.success(request, _done_words(request.actor, done))
    following = [task for task in done.next_tasks if task.assignee_id == request.actor.person_id]
    return redirect("inbox:task", task_id=following[0].pk) if following else redirect("inbox:mine")


def _done_words(actor: Actor, done: services.CompletedTask) -> str:
    chosen = done.task.outcome_named(done.task.outcome or "")
    words = f"{done.task.business_reference or done.task.title}: {chosen['title'] if chosen else _('Done')}."
    if not access.visible_instances(actor).filter(pk=done.instance.pk).exists():
        return words
    return format_html('{} <a href="{}">{}</a>', words, reverse("inbox:instance", args=[done.instance.pk]), _("View"))


def _refused(
    request: InboxRequest, task_id: UUID, refusal: WorkflowError, form: TaskForm | None = None
) -> HttpResponse:
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
    return _page(request, task, form if refusal.code != "answered" else None, status=status, notice=notice)


def _form(task: Task, data: Any = None) -> TaskForm:
    prefill = task.payload if isinstance(task.payload, dict) else {}
    return TaskForm(task.form, data, prefill, comment=_comment_rule(task))


def _comment_rule(task: Task) -> CommentRule:
    """Say which outcomes need a comment: the task's rule, or the outcome's own."""
    rules = [(outcome, outcome.get("comment") or task.comment_rule) for outcome in task.outcomes]
    needed = [
        outcome["title"]
        for outcome, rule in rules
        if rule == "always" or (rule == "on_reject" and outcome.get("reject"))
    ]
    return CommentRule(
        asked=any(rule != "never" for _outcome, rule in rules),
        needed_for=tuple(needed),
        always=len(needed) == len(rules),
    )


def _page(
    request: InboxRequest, task: Task, form: TaskForm | None = None, *, status: int = 200, notice: Any = None
) -> HttpResponse:
    actor = request.actor
    reasons = access.explain_task(actor, task)
    may_act = all(reason.ok for reason in reasons)
    mine = task.assignee_id == actor.person_id
    shown_form = form or _form(task)
    context = {
        "place": _place(actor, task),
        "task": task,
        "form": shown_form,
        "typed": form.typed() if form and notice else [],
        "notice": notice,
        "reasons": reasons,
        "may_act": may_act,
        "may_fill": may_act and (mine or form is not None),
        "may_release": task.status == "claimed" and (mine or actor.level >= TO_OPERATE),
        "mine": mine,
        "facts": facts_of(task.payload, without=shown_form.keys()),
        "answer": answer_of(task),
        "answer_outcome": task.outcome_named(task.outcome or ""),
        "history": timeline.of_task(access.events_of(actor, task.pk).reverse(), task),
    } | _where(actor, task)
    return render(request, "inbox/task.html", context, status=status)


def _place(actor: Actor, task: Task) -> str:
    """Name the list to go back to: where this task stands for the reader."""
    if task.is_over:
        return "done" if task.completed_by_id == actor.person_id else "team"
    if task.assignee_id == actor.person_id:
        return "mine"
    return "available" if task.assignee_id is None else "team"


def _where(actor: Actor, task: Task) -> dict[str, Any]:
    """Show where the case is and what it began with, to those who see the case."""
    try:
        runs = access.step_runs_of(actor, task.instance_id)
    except NotFound:
        return {"outline": ()}
    return {"outline": near(outline_of(task.version.canonical, runs)), "began": began_with(task.instance, task.version)}
