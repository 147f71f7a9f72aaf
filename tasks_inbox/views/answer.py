"""The page to which a message leads: the facts, the form and the answers of one task, for one person, without a sign-in.

A GET shows and never acts, however often it is fetched; one press sends. The page makes no session and reads one only to tell
whose link this is. Its address is its right, so it is stored by nobody and named to no other site.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, TypeVar

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from engine import access
from engine.errors import Conflict, Invalid, NotFound, Refused, WorkflowError
from engine.models import Task
from engine.presentation.forms.task_form import TaskForm
from engine.presentation.narrative import people_names
from engine.presentation.narrative.relative_times import clock_words
from engine.services.tasks import mail_links
from engine.services.tasks.answers import check_answer
from engine.services.tasks.mail_links import OpenedLink, allows_link, form_hash
from tasks_inbox.messages import Notice, http_status_of, notice_of, over_words
from tasks_inbox.notices.facts import task_facts
from tasks_inbox.notices.reader import as_reader
from tasks_inbox.presenters.field_labels import answer_of
from tasks_inbox.presenters.task_actions import points_of
from tasks_inbox.unsent_answers import keep_for, whose
from tasks_inbox.views.tasks import form_of, rejects
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User


@dataclass(frozen=True, slots=True)
class State:
    """Why the form is not shown: a code, a heading, what happened."""

    code: str
    title: str
    text: str
    status: int = 200
    is_good: bool = False


class Opened(Protocol):
    """What is behind a link: whose it is, and as whom they act."""

    @property
    def person(self) -> User: ...

    @property
    def actor(self) -> Actor: ...


Kind = TypeVar("Kind", bound=Opened)
Page = Callable[[HttpRequest, Kind], HttpResponse]


def answer_page(open_link: Callable[[str], Kind]) -> Callable[[Page[Kind]], Callable[[HttpRequest, str], HttpResponse]]:
    """Open the link of an address, and answer in its person's tenant, language and zone; nothing of it is kept."""

    def page(view: Page[Kind]) -> Callable[[HttpRequest, str], HttpResponse]:
        @wraps(view)
        def shown(request: HttpRequest, token: str) -> HttpResponse:
            try:
                link = open_link(token)
            except NotFound:
                return _private(stopped(request, None, _dead()))
            with as_reader(link.person, language=translation.get_language()):
                return _private(view(request, link))

        return shown

    return page


def _private(answer: HttpResponse) -> HttpResponse:
    """Keep the address from other sites and from every cache."""
    answer["Referrer-Policy"] = "no-referrer"
    answer["Cache-Control"] = "no-store"
    answer["X-Robots-Tag"] = "noindex, nofollow"
    return answer


@csrf_exempt  # the address is the right to act, not a cookie that a browser adds by itself
@require_http_methods(["GET", "HEAD", "POST"])
@answer_page(mail_links.open_link)
def by_link(request: HttpRequest, opened: OpenedLink) -> HttpResponse:
    """Show the task of a link, or take its answer."""
    other = other_person(request, opened)
    if other is not None:
        return stopped(request, opened, other)
    try:
        task = mail_links.task_behind(opened)
    except NotFound:
        return stopped(request, opened, _gone())
    stop = _state_of(opened, task)
    if stop is not None:
        return stopped(request, opened, stop, task)
    return _send(request, opened, task) if request.method == "POST" else _form_page(request, opened, task)


def _dead() -> State:
    text = _("It was never given out, or its person left. Sign in to see your tasks.")
    return State("dead_link", _("This link doesn’t work"), text, 404)


def _gone() -> State:
    return State("gone", _("No longer needed"), _("This task isn’t yours to do any more. Nothing was sent."), 410)


def other_person(request: HttpRequest, opened: Opened) -> State | None:
    """Refuse a browser in which someone else is signed in: links are forwarded, rights are not."""
    signed_in = request.user
    if not isinstance(signed_in, User) or signed_in.pk == opened.person.pk:
        return None
    name = opened.person.display_name.split(" ")[0]
    text = _("Sign in as %(name)s, or ask for your own.") % {"name": name}
    return State("other_person", _("This link is for %(name)s.") % {"name": name}, text, 403)


def _state_of(opened: OpenedLink, task: Task) -> State | None:
    """Return why the task cannot be answered by this link now, or None."""
    if opened.link.used_at is not None and task.completed_by_id in (opened.person.pk, None):
        return _used(opened, task)
    if task.is_over:
        if task.completed_by_id == opened.person.pk:
            return _used(opened, task)
        return State("over", _("No longer needed"), over_words(task), 410)
    refusal = access.refuse_act(opened.actor, task)
    if refusal is not None:
        notice = notice_of(refusal, task)
        return State(notice.code, notice.title, notice.text, http_status_of(refusal))
    if not allows_link(task):
        return State("sign_in", _("This task needs a sign-in"), _("Its author wants to be sure who answers."), 403)
    return None


def _used(opened: OpenedLink, task: Task) -> State:
    """Describe what was answered: a link works once."""
    chosen = task.outcome_named(task.outcome or "")
    at = clock_words(opened.link.used_at or task.completed_at or task.created_at)
    facts = {"answer": chosen["title"] if chosen else _("Done"), "title": people_names.said(task.title), "at": at}
    words = _("You answered “%(answer)s” to “%(title)s” at %(at)s.") % facts
    if opened.link.used_at is not None:
        words += " " + _("A link works once, so nothing was sent again.")
    return State("answered", _("You already answered this"), words, 200, is_good=True)


def stopped(
    request: HttpRequest, opened: Opened | None, state: State, task: Task | None = None, *, sent: bool = False
) -> HttpResponse:
    """Show why there is nothing to do, or what was just done."""
    context: dict[str, Any] = {"state": state, "opened": opened, "task": task, "sent": sent, "sign_in": _sign_in(task)}
    if task is not None and opened is not None:
        context["answer"] = answer_of(task) if task.completed_by_id == opened.person.pk else []
        context["others"] = access.tasks_mine(opened.actor).exclude(pk=task.pk).count()
    return render(request, "answer/stopped.html", context, status=state.status)


def _sign_in(task: Task | None) -> str:
    page = reverse("inbox:task", args=[task.pk]) if task else reverse("inbox:mine")
    return f"{reverse('accounts:login')}?next={page}"


def _form_page(
    request: HttpRequest,
    opened: OpenedLink,
    task: Task,
    form: TaskForm | None = None,
    *,
    notice: Notice | None = None,
    status: int = 200,
) -> HttpResponse:
    shown = task_facts(task)
    if notice is None and request.method != "POST" and opened.link.form_hash != form_hash(task):
        notice = _form_changed()
    context = {
        "opened": opened,
        "task": task,
        "form": form or form_of(task),
        "facts": shown.facts,
        "left_out": shown.left_out,
        "said": access.comments_of(opened.actor, task.pk).reverse().first(),
        "points": points_of(task, request.POST.getlist("tick") if request.method == "POST" else None),
        "form_hash": form_hash(task),
        "notice": notice,
        "starter": task.instance.started_by_name,
    }
    return render(request, "answer/form.html", context, status=status)


def _form_changed() -> Notice:
    return Notice(
        _("The form changed since the e-mail"),
        _("Check it, then answer."),
        "accent",
        "info-circle",
        code="form_changed",
    )


def _send(request: HttpRequest, opened: OpenedLink, task: Task) -> HttpResponse:
    """Take one answer; what cannot be taken comes back with everything typed."""
    form = form_of(task, request.POST)
    if form.asks_for_rows:
        return _form_page(request, opened, task, form.begun_again())
    if request.POST.get("form") != form_hash(task):
        return _form_page(request, opened, task, form.begun_again(), notice=_form_changed(), status=409)
    if rejects(request, task):
        form.forgive()
    try:
        if not form.is_valid():
            check_answer(actor=opened.actor, task_id=task.pk, **_sent(request, form))
            return _form_page(request, opened, task, form, status=400)
        done = mail_links.answer_by_link(opened=opened, **_sent(request, form))
    except Invalid as refusal:
        form.take_errors(refusal.errors, within="values")
        return _form_page(request, opened, task, form, status=400)
    except NotFound:
        return stopped(request, opened, _gone())
    except WorkflowError as refusal:
        return _refused(request, opened, task, refusal)
    return stopped(request, opened, _done(done.task), done.task, sent=True)


def _sent(request: HttpRequest, form: TaskForm) -> dict[str, Any]:
    return {
        "outcome": request.POST.get("outcome") or None,
        "values": form.values(),
        "comment": form.comment(),
        "ticked": request.POST.getlist("tick"),
    }


def _done(task: Task) -> State:
    chosen = task.outcome_named(task.outcome or "")
    facts = {"title": people_names.said(task.title), "answer": chosen["title"] if chosen else _("Done")}
    return State("sent", _("Thank you"), _("“%(title)s”: %(answer)s. It was sent.") % facts, is_good=True)


def _refused(request: HttpRequest, opened: OpenedLink, task: Task, refusal: WorkflowError) -> HttpResponse:
    """Describe why an answer was not taken; one that needs a sign-in is kept until then."""
    if isinstance(refusal, Refused) and refusal.code == "sign_in":
        page = reverse("inbox:task", args=[task.pk])
        return redirect_to_login(keep_for(request, page, whose(opened.person.pk)))
    if isinstance(refusal, Conflict) and refusal.code == "answered":
        return stopped(request, opened, _used(opened, mail_links.task_behind(opened)), task)
    notice = notice_of(refusal, task)
    state = State(notice.code, notice.title, notice.text, http_status_of(refusal))
    return stopped(request, opened, state, task)
