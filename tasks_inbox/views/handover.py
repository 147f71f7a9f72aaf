"""Hand a task over from its page, and answer questions that one was asked."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine.errors import Invalid
from engine.services.tasks import handover
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.views.tasks import task_act


@task_act
def delegate(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Ask another person to fill a task in for one's final word."""
    note = posted_line(request, "note")
    task = handover.delegate_task(actor=request.actor, task_id=task_id, user=posted_line(request, "person"), note=note)
    assert task.assignee
    words = _("Delegated to %(name)s. It comes back to you.") % {"name": task.assignee.display_name}
    toast(request, "task.delegated", words)
    return redirect("inbox:mine")


@task_act
def ask(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Ask a person about a task."""
    task = handover.ask_about_task(
        actor=request.actor,
        task_id=task_id,
        user=posted_line(request, "person"),
        question=request.POST.get("question", ""),
    )
    toast(request, "task.asked", _("%(name)s was asked.") % {"name": task.waiting_for_name.capitalize()})
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
