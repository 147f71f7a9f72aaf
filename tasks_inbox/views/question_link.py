"""The page to which a question's message leads: the question and a field for its answer, for one person, without a sign-in.

A GET shows and never acts, so it does not count as opened either: mail scanners fetch links. One press sends.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from engine.errors import Conflict, Invalid, NotFound
from engine.presentation.narrative.people_names import name_of
from engine.services.tasks import handover
from engine.services.tasks.question_links import OpenedQuestion, open_question_link
from tasks_inbox.views.answer import State, answer_page, other_person, stopped


@csrf_exempt  # the address is the right to act, not a cookie that a browser adds by itself
@require_http_methods(["GET", "HEAD", "POST"])
@answer_page(open_question_link)
def by_link(request: HttpRequest, opened: OpenedQuestion) -> HttpResponse:
    """Show a question, or take its answer."""
    stop = other_person(request, opened) or _state_of(opened)
    if stop is not None:
        return stopped(request, opened, stop)
    return _send(request, opened) if request.method == "POST" else _page(request, opened)


def _state_of(opened: OpenedQuestion) -> State | None:
    """Return why the question needs no answer, or None."""
    question = opened.question
    if question.answered_by_name == opened.person.username:
        text = _("A link works once, so nothing was sent again.")
        return State("answered", _("You already answered this"), text, is_good=True)
    return _over() if question.ended_at is not None or question.task.is_over else None


def _over() -> State:
    text = _("No longer needed: the question was withdrawn, or the task is done.")
    return State("over", _("No longer needed"), text, 410)


def _page(request: HttpRequest, opened: OpenedQuestion, *, wrong: Invalid | None = None) -> HttpResponse:
    context = {"opened": opened, "question": opened.question, "task": opened.question.task, "wrong": wrong}
    return render(request, "answer/question.html", context, status=400 if wrong else 200)


def _send(request: HttpRequest, opened: OpenedQuestion) -> HttpResponse:
    answer = request.POST.get("answer", "")
    try:
        handover.answer_question(actor=opened.actor, question_id=opened.question.pk, answer=answer)
    except Invalid as refusal:
        return _page(request, opened, wrong=refusal)
    except (Conflict, NotFound):
        return stopped(request, opened, _over())
    text = _("Your answer went to %(name)s.") % {"name": name_of(opened.question.asked_by_name)}
    return stopped(request, opened, State("sent", _("Thank you"), text, is_good=True), sent=True)
