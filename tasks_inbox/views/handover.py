"""Hand a task over from its page, and answer questions that one was asked."""

from dataclasses import replace
from functools import partial
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Invalid, NotFound, WorkflowError
from engine.kernel.forms import FieldError
from engine.presentation.narrative.people_names import name_of
from engine.services.tasks import handover
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.colleagues import person_called
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.presenters.hand_over import ASK, ASSIGN, DELEGATE, HandOver, opened
from tasks_inbox.views.task_actions import tell_assigned
from tasks_inbox.views.tasks import refused, task_act, task_page


@require_POST
@inbox_page
def hand_over(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Do what was chosen in the dialog; what is wrong is told in it, with everything typed."""
    try:
        return CHOICES[request.POST.get("choice", "")](request, task_id)
    except KeyError:
        raise NotFound from None
    except NotFound:
        raise
    except Invalid as refusal:
        task = access.task_of(request.actor, task_id)
        return task_page(request, task, status=400, change=partial(_as_sent, request, refusal))
    except WorkflowError as refusal:
        return refused(request, task_id, refusal)


def _as_sent(request: InboxRequest, refusal: Invalid, shown: HandOver | None) -> HandOver | None:
    """Return the dialog with what was sent, and what is wrong with it."""
    typed = {name: request.POST.get(name, "") for name in ("person", "asked", "note", "question")}
    wrong = {error.path: (error.code, error.message) for error in refusal.errors}
    found = opened(shown, request.POST["choice"])
    return replace(found, typed=typed, wrong=wrong) if found else None


def _assign(request: InboxRequest, task_id: UUID) -> HttpResponse:
    before = access.task_of(request.actor, task_id).assignee
    task = assign_task(
        actor=request.actor, task_id=task_id, person=_chosen(request), reason=posted_line(request, "note")
    )
    tell_assigned(request, task, before)
    return redirect("inbox:task", task_id=task_id)


def _delegate(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Ask another person to fill a task in for one's final word."""
    note = posted_line(request, "note")
    task = handover.delegate_task(actor=request.actor, task_id=task_id, user=_chosen(request), note=note)
    assert task.assignee
    words = _("Delegated to %(name)s. It comes back to you.") % {"name": task.assignee.display_name}
    toast(request, "task.delegated", words)
    return redirect("inbox:mine")


def _chosen(request: InboxRequest) -> str:
    name = posted_line(request, "person")
    if not name:
        message = _("Choose a person.")
        raise Invalid(message, [FieldError("user", "required", message)])
    return name


def _ask(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Ask a person about a task; where it waits for an answer already, instead of that question."""
    task = access.task_of(request.actor, task_id)
    task = handover.ask_about_task(
        actor=request.actor,
        task_id=task_id,
        user=person_called(request.actor, task, posted_line(request, "asked")),
        question=request.POST.get("question", ""),
        instead="instead" in request.POST,
    )
    toast(request, "task.asked", _("%(name)s was asked.") % {"name": name_of(task.waiting_for_name)})
    return redirect("inbox:task", task_id=task_id)


CHOICES = {ASSIGN: _assign, DELEGATE: _delegate, ASK: _ask}
"""What the dialog does, by the choice made in it."""


@task_act
def remind(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Remind the person whom a task waits for."""
    question = handover.remind_asked(actor=request.actor, task_id=task_id)
    toast(request, "task.reminded", _("%(name)s was reminded.") % {"name": name_of(question.asked_of_name)})
    return redirect("inbox:task", task_id=task_id)


@task_act
def unask(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Withdraw a question."""
    handover.withdraw_question(actor=request.actor, task_id=task_id)
    toast(request, "task.unasked", _("The question was withdrawn."))
    return redirect("inbox:task", task_id=task_id)


@task_act
def give_back(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Return a task that was delegated."""
    handover.return_task(actor=request.actor, task_id=task_id, note=posted_line(request, "note"))
    toast(request, "task.returned", _("Returned."))
    return redirect("inbox:mine")


@require_GET
@inbox_page
def questions(request: InboxRequest) -> HttpResponse:
    """Show the questions that wait for the person's answer."""
    return _questions(request)


@require_POST
@inbox_page
def answer(request: InboxRequest, question_id: UUID) -> HttpResponse:
    """Answer a question."""
    text = request.POST.get("answer", "")
    try:
        handover.answer_question(actor=request.actor, question_id=question_id, answer=text)
    except Invalid as refusal:
        return _questions(request, wrong=question_id, message=refusal.message, typed=text, status=400)
    toast(request, "question.answered", _("Answer sent."))
    return redirect("inbox:questions")


def _questions(
    request: InboxRequest, *, wrong: UUID | None = None, message: str = "", typed: str = "", status: int = 200
) -> HttpResponse:
    rows = list(handover.questions_for(request.actor)[:100])
    for row in rows:
        if row.opened_at is None:
            handover.open_question(actor=request.actor, question_id=row.pk)
    context = {"place": "questions", "rows": rows, "wrong": wrong, "message": message, "typed": typed}
    return render(request, "inbox/questions.html", context, status=status)
