"""The page of a task, and the three things one does with it: claim, release, complete."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Invalid, NotFound, WorkflowError
from engine.models import Task, TaskDraft
from engine.presentation.forms.form import TaskForm
from engine.services.tasks import lifecycle as services
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.messages import back_again, changed_by
from tasks_inbox.toasts import toast
from tasks_inbox.unsent_answers import take_kept
from tasks_inbox.views.task_files import add_sent_files, read_answer
from tasks_inbox.views.task_page import form_of, refused, task_act, task_page
from workflowplatform.accounts.actor import Actor


@require_GET
@inbox_page
def show(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Show a task to whoever may see it; with what they sent after they had been signed out."""
    task = access.task_of(request.actor, task_id)
    kept = take_kept(request, request.actor.person_id)
    if kept is None or task.is_over:
        return task_page(request, task)
    return task_page(request, task, form_of(task, kept).begun_again(), notice=back_again())


@task_act
def claim(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Take a task, or say who was faster."""
    task = services.claim_task(actor=request.actor, task_id=task_id)
    toast(request, "task.claimed", _("Claimed. It is yours now."), undo=reverse("inbox:release", args=[task.pk]))
    return redirect("inbox:task", task_id=task.pk)


@task_act
def release(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Give a task back."""
    services.release_task(actor=request.actor, task_id=task_id)
    undo = reverse("inbox:claim", args=[task_id])
    toast(request, "task.released", _("Released. Others may take it now."), undo=undo)
    return redirect("inbox:task", task_id=task_id)


@require_POST
@inbox_page
def complete(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Send an answer; what cannot be taken comes back with everything typed."""
    task = access.task_of(request.actor, task_id)
    form = None
    try:
        form = read_answer(request, task)
        if form.asks_for_rows and not task.is_over:
            return task_page(request, task, form.begun_again())
        if not form.is_valid() and not task.is_over:
            return task_page(request, task, form, status=400)
        theirs = _changed_meanwhile(request, task)
        if theirs is not None:
            return task_page(request, task, form, status=409, notice=changed_by(theirs), theirs=theirs)
        done = _send(request, task, form)
    except Invalid as refusal:
        form = form or form_of(task, request.POST)
        form.take_errors(refusal.errors, within="values")
        return task_page(request, task, form, status=400)
    except NotFound:
        raise
    except WorkflowError as refusal:
        return refused(request, task_id, refusal, form or form_of(task, request.POST))
    return _go_on(request, done)


def _changed_meanwhile(request: InboxRequest, task: Task) -> TaskDraft | None:
    """Find a draft that somebody else saved since this page was drawn."""
    if "seen" not in request.POST or not task.keeps_drafts:
        return None
    draft = access.draft_of(request.actor, task)
    if draft is None or draft.saved_by_name == request.actor.name:
        return None
    return draft if draft.saved_at.isoformat() > request.POST["seen"] else None


def _send(request: InboxRequest, task: Task, form: TaskForm) -> services.CompletedTask:
    add_sent_files(request, task)
    return services.complete_task(
        actor=request.actor,
        task_id=task.pk,
        outcome=request.POST.get("outcome") or None,
        values=form.values(),
        comment=form.comment(),
        ticked=request.POST.getlist("tick"),
    )


def _go_on(request: InboxRequest, done: services.CompletedTask) -> HttpResponse:
    """Open the next task of the same instance that is the person's own, else the list."""
    toast(request, "task.completed", _done_words(request.actor, done, request.POST.get("outcome", "")))
    following = [task for task in done.next_tasks if task.assignee_id == request.actor.person_id]
    return redirect("inbox:task", task_id=following[0].pk) if following else redirect("inbox:mine")


def _done_words(actor: Actor, done: services.CompletedTask, sent: str) -> str:
    chosen = done.task.outcome_named(done.task.outcome or sent)
    words = f"{done.task.business_reference or done.task.title}: {chosen['title'] if chosen else _('Done')}."
    if not access.visible_instances(actor).filter(pk=done.instance.pk).exists():
        return words
    return format_html('{} <a href="{}">{}</a>', words, reverse("inbox:instance", args=[done.instance.pk]), _("View"))
