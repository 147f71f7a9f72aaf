"""The page of a task, the same for every reader and after every refusal, and what one does there: claim, release, complete."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Conflict, Invalid, NotFound, WorkflowError
from engine.models import PendingAnswer, Task, TaskDraft
from engine.presentation.forms.task_form import TaskForm, comment_rule
from engine.presentation.forms.values import Fact, facts_of
from engine.presentation.narrative import timeline
from engine.presentation.narrative.people_names import said
from engine.services.notifications.mentions import known_names
from engine.services.tasks import lifecycle
from engine.services.tasks.answers import check_answer
from engine.services.tasks.attachments import attach_file
from engine.services.tasks.undo import give_answer, own_pending
from tasks_inbox.decorators import InboxRequest, View, inbox_page, toast
from tasks_inbox.messages import back_again, changed_by, http_status_of, not_sent, notice_of, over_words
from tasks_inbox.pending_answers import kept_in, remember
from tasks_inbox.presenters.case_context import case_context_of
from tasks_inbox.presenters.field_labels import answer_of, input_schema_of
from tasks_inbox.presenters.files import ShownFile, shown_files
from tasks_inbox.presenters.hand_over import HandOver, hand_over_of, opened
from tasks_inbox.presenters.live import state_of
from tasks_inbox.presenters.prev_next import (
    HEADING,
    came_from,
    following_address,
    neighbours_of,
    task_address,
)
from tasks_inbox.presenters.task_actions import (
    acts_for,
    files_of,
    is_snoozed,
    points_of,
    snooze_choices,
    waiting_context,
)
from tasks_inbox.unsent_answers import take_kept_answer, whose
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
    """Return a task's form with what was sent, else the actor's draft, else the task's own values."""
    prefill = task.payload if isinstance(task.payload, dict) else {}
    if actor is not None:
        draft = access.draft_of(actor, task)
    return TaskForm(task.form, data, prefill, comment=comment_rule(task.outcomes, task.comment_rule), draft=draft)


def add_sent_files(request: InboxRequest, task: Task) -> int:
    """Add every file that came with the form; return how many."""
    sent = request.FILES.getlist("file")
    for file in sent:
        attach_file(actor=request.actor, task_id=task.pk, name=file.name or "", content=file)
    return len(sent)


def read_answer(request: InboxRequest, task: Task) -> TaskForm:
    """Read the form as it was sent. Files that came in its fields are added first; a wrong one is told at its field."""
    form = form_of(task, request.POST)
    sent = {name: request.FILES.getlist(name) for name in form.file_names() if name in request.FILES}
    if not sent:
        return form
    data, wrong = request.POST.copy(), {}
    for name, files in sent.items():
        for file in files:
            try:
                added = attach_file(actor=request.actor, task_id=task.pk, name=file.name or "", content=file)
                data.appendlist(name, added.name)
            except Invalid as refusal:
                wrong[name] = refusal
    form = form_of(task, data)
    for name, error in wrong.items():
        form.add_error(name, ValidationError(error.message, code=error.first_code))
    return form


def refused(request: InboxRequest, task_id: UUID, refusal: WorkflowError, form: TaskForm | None = None) -> HttpResponse:
    """Show the task as it is now, under a notice; a person who no longer sees it gets the notice alone."""
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
    change: Callable[[HandOver | None], HandOver | None] = lambda shown: shown,
) -> HttpResponse:
    """Draw the page of a task. `form` holds what was typed; `theirs` is another's draft to compare it with.

    `change` puts what was sent into the dialog by which the task is handed over.
    """
    actor = request.actor
    pending = _pending(request, task)
    if notice is None and pending is not None and pending.refused_at is not None:
        notice = not_sent(pending)
    reasons = access.explain_task(actor, task)
    may_act = all(reason.ok for reason in reasons)
    mine = access.holds(actor, task)
    shown_form = form or form_of(task, actor=actor if may_act else None)
    free = may_act and not mine and not task.takes_several
    may_fill = may_act and (not free or form is not None or not access.needs_claim(actor, task))
    usual = _place(actor, task, may_act=may_act)
    place = neighbours_of(request, task, usual)
    files = files_on(actor, task)
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
        "may_claim": free and not actor.crosses,
        "shows_form": may_fill,
        "rejecting": [outcome for outcome in task.outcomes if outcome.get("reject")],
        "whose": whose(actor.person_id),
        "acts": (acts := acts_for(actor, task, may_act=may_act)),
        "hand": change(hand_over_of(actor, task, acts)),
        "snoozed": is_snoozed(task),
        "moments": snooze_choices(),
        "mine": mine,
        "absent": access.mandate_of(actor, task) if may_act else None,
        **waiting_context(task),
        "over": over_words(task) if task.is_over else "",
        "pending": pending,
        "points": points_of(task, _just_ticked(request)),
        "facts": _facts(task, shown_form),
        "answer": answer_of(task),
        "answer_outcome": task.outcome_named(task.outcome or ""),
        "files": files,
        "files_by_name": {file.name: file for file in files},
        "upload": reverse("inbox:add_file", args=[task.pk]),
        "case_files": shown_files(
            access.case_files_of_task(actor, task.pk),
            lambda file: reverse("inbox:case_file_of_task", args=[task.pk, file.pk]),
        ),
        "file_rules": files_of(task),
    }
    context |= said_of(actor, task) | case_context_of(actor, task)
    return render(request, "inbox/task.html", context, status=status)


def said_of(actor: Actor, task: Task) -> dict[str, Any]:
    """Return what was said and done at a task."""
    comments = list(access.comments_of(actor, task.pk))
    return {
        "history": timeline.of_task(access.events_of(actor, task.pk).reverse(), task),
        "comments": comments,
        "mentioned": known_names(task, [comment.text for comment in comments]),
    }


def files_on(actor: Actor, task: Task) -> list[ShownFile]:
    """Return the files of a task, each with its addresses."""
    return shown_files(
        access.attachments_of(actor, task.pk),
        lambda file: reverse("inbox:file", args=[task.pk, file.pk]),
        lambda file: reverse("inbox:remove_file", args=[task.pk, file.pk]),
    )


def is_by_script(request: HttpRequest) -> bool:
    """Return whether the page's script asks, which draws only what has changed."""
    return request.headers.get("X-Requested-With") == "said"


def said_part(request: InboxRequest, task_id: UUID, *, files: bool = False, toasts: bool = True) -> HttpResponse:
    """Draw what was said and done at a task, without the page around it."""
    task = access.task_of(request.actor, task_id)
    context = {"task": task, "with_files": files, "with_toasts": toasts} | said_of(request.actor, task)
    if files:
        context["files"] = files_on(request.actor, task)
    return render(request, "inbox/said.html", context)


def _facts(task: Task, form: TaskForm) -> list[Fact]:
    """Show what the author gives along, named as at the start where the start had it."""
    given = task.payload if isinstance(task.payload, dict) else {}
    asked = input_schema_of(task.version).get("properties") or {}
    return facts_of({key: value for key, value in given.items() if value is not None}, asked, without=form.keys())


def _pending(request: InboxRequest, task: Task) -> PendingAnswer | None:
    """Return the reader's own answer that is about to be sent, or was refused; asked for only where there may be one."""
    own = task.is_being_sent and task.answer_by_name == request.actor.name
    heard = any(task.pk in one.tasks for one in kept_in(request))
    return own_pending(actor=request.actor, task=task) if own or heard else None


def _unsent(actor: Actor, task: Task, notice: Any) -> list[Fact]:
    """Return a draft that was never sent, where the task was closed meanwhile."""
    kept = access.kept_draft_of(actor, task) if task.status != "completed" or notice else None
    return form_of(task, draft=kept).preview() if kept else []


def _just_ticked(request: InboxRequest) -> list[str] | None:
    return request.POST.getlist("tick") if "checklist" in request.POST else None


def _place(actor: Actor, task: Task, *, may_act: bool) -> str:
    """Name the list to go back to: where this task stands for the reader."""
    if task.is_over:
        return "done" if task.completed_by_id == actor.person_id else "team"
    if task.assignee_id == actor.person_id:
        return "later" if is_snoozed(task) else "mine"
    return "available" if may_act or actor.level < TO_SEE_TENANT else "team"


@require_GET
@inbox_page
def show(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Show a task to everyone who may see it, with what they sent after their session ended."""
    task = access.task_of(request.actor, task_id)
    kept = take_kept_answer(request, request.actor.person_id)
    if kept is None or task.is_over:
        return task_page(request, task, change=lambda shown: opened(shown, request.GET.get("hand_over", "")))
    return task_page(request, task, form_of(task, kept).begun_again(), notice=back_again())


@task_act
def claim(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Take a task, or say who was faster."""
    task = lifecycle.claim_task(actor=request.actor, task_id=task_id)
    toast(request, "task.claimed", _("Claimed. It’s yours now."), undo=reverse("inbox:release", args=[task.pk]))
    return redirect(task_address(task.pk, came_from(request)))


@task_act
def release(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Release a task."""
    lifecycle.release_task(actor=request.actor, task_id=task_id)
    undo = reverse("inbox:claim", args=[task_id])
    toast(request, "task.released", _("Released. Others can claim it now."), undo=undo)
    return redirect(task_address(task_id, came_from(request)))


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
        if rejects(request, task):
            form.forgive()
        if not form.is_valid() and not task.is_over:
            return _all_that_is_wrong(request, task, form)
        theirs = _changed_meanwhile(request, task)
        if theirs is not None:
            return task_page(request, task, form, status=409, notice=changed_by(theirs), theirs=theirs)
        answered = _send(request, task, form)
    except Invalid as refusal:
        form = form or form_of(task, request.POST)
        form.take_errors(refusal.errors, within="values")
        return task_page(request, task, form, status=400)
    except NotFound:
        raise
    except WorkflowError as refusal:
        if refusal.code == "sending" and refusal.facts.get("by") == request.actor.name:
            return redirect(following_address(task.pk, came_from(request)))
        return refused(request, task_id, refusal, form or form_of(task, request.POST))
    return _to_next_task(request, task, answered)


def rejects(request: HttpRequest, task: Task) -> bool:
    """Return whether the chosen outcome rejects: then it does not matter what the other fields hold."""
    return bool((task.outcome_named(request.POST.get("outcome", "")) or {}).get("reject"))


def _all_that_is_wrong(request: InboxRequest, task: Task, form: TaskForm) -> HttpResponse:
    """Show besides what could not be read all that the service would refuse, so that nobody corrects twice."""
    try:
        add_sent_files(request, task)
        check_answer(actor=request.actor, task_id=task.pk, **_sent(request, form))
    except Invalid as refusal:
        form.take_errors(refusal.errors, within="values")
    return task_page(request, task, form, status=400)


def _sent(request: InboxRequest, form: TaskForm) -> dict[str, Any]:
    return {
        "outcome": request.POST.get("outcome") or None,
        "values": form.values(),
        "comment": form.comment(),
        "ticked": request.POST.getlist("tick"),
    }


def _changed_meanwhile(request: InboxRequest, task: Task) -> TaskDraft | None:
    """Find a draft that another person saved since this page was rendered."""
    if "seen" not in request.POST or not task.keeps_drafts:
        return None
    draft = access.draft_of(request.actor, task)
    if draft is None or draft.saved_by_name == request.actor.name:
        return None
    return draft if draft.saved_at.isoformat() > request.POST["seen"] else None


def _send(request: InboxRequest, task: Task, form: TaskForm) -> lifecycle.CompletedTask | PendingAnswer:
    """Send an answer, or keep it for as long as it can be taken back."""
    add_sent_files(request, task)
    sent = _sent(request, form)
    if not task.undo_seconds(sent["outcome"]):
        return lifecycle.complete_task(actor=request.actor, task_id=task.pk, **sent)
    answered = give_answer(actor=request.actor, task_id=task.pk, **sent)
    return answered.pending or answered.completed


def _to_next_task(request: InboxRequest, task: Task, done: lifecycle.CompletedTask | PendingAnswer) -> HttpResponse:
    """Open the person's next task of the same case, else what follows in the list that they came from."""
    query = came_from(request)
    if isinstance(done, PendingAnswer):
        remember(request, [done], answer_words(task, done.outcome))
        return redirect(following_address(task.pk, query))
    toast(request, "task.completed", _done_words(request.actor, done, request.POST.get("outcome", "")))
    own = [one for one in done.next_tasks if one.assignee_id == request.actor.person_id]
    if own and not query:
        return redirect(task_address(own[0].pk, query) + HEADING)
    return redirect(following_address(task.pk, query))


def answer_words(task: Task, outcome: str) -> str:
    """Describe in short how a task was answered."""
    chosen = task.outcome_named(outcome)
    return f"{task.business_reference or said(task.title)}: {chosen['title'] if chosen else _('Done')}."


def _done_words(actor: Actor, done: lifecycle.CompletedTask, sent: str) -> str:
    words = answer_words(done.task, done.task.outcome or sent)
    if not access.visible_instances(actor).filter(pk=done.instance.pk).exists():
        return words
    return format_html('{} <a href="{}">{}</a>', words, reverse("inbox:instance", args=[done.instance.pk]), _("View"))
