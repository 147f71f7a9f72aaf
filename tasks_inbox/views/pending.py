"""Take an answer back, send it at once, or see what became of it."""

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import NotFound, WorkflowError
from engine.models import PendingAnswer, Task
from engine.services.tasks.undo import pending_answers, send_now, take_back
from tasks_inbox.decorators import InboxRequest, inbox_page, toast
from tasks_inbox.pending_answers import Kept, find, forget
from tasks_inbox.presenters.prev_next import HEADING

BY_SCRIPT = "answers"
"""What the page's own script says of itself in X-Requested-With."""


@require_POST
@inbox_page
def undo(request: InboxRequest, batch_id: UUID) -> HttpResponse:
    """Take answers back; one alone opens its task again, with what was typed."""
    try:
        tasks = take_back(actor=request.actor, batch_id=batch_id)
    except WorkflowError as refusal:
        if isinstance(refusal, NotFound) and find(request, batch_id) is None:
            raise
        return _too_late(request, batch_id)
    forget(request, batch_id)
    count = len(tasks)
    words = ngettext(
        "Taken back. Your answer is a draft now.", "%(count)d answers taken back. They are drafts now.", count
    )
    toast(request, "answer.taken_back", words % {"count": count}, level=messages.INFO)
    return redirect(reverse("inbox:task", args=[tasks[0].pk]) + HEADING if count == 1 else reverse("inbox:mine"))


def _too_late(request: InboxRequest, batch_id: UUID) -> HttpResponse:
    toast(request, "answer.sent", _("It was sent already, so it can’t be taken back."), level=messages.WARNING)
    forget(request, batch_id)
    return redirect(_where_one_was(request))


@require_POST
@inbox_page
def send(request: InboxRequest, batch_id: UUID) -> HttpResponse:
    """Send answers before their time; a script gets what became of them, others the page where they were."""
    kept = find(request, batch_id)
    try:
        sent = send_now(actor=request.actor, batch_id=batch_id)
        kept = kept or Kept(
            batch_id, "", timezone.now(), tuple(one.task.pk for one in sent)
        )  # another browser answered
    except NotFound:
        if kept is None and not pending_answers(actor=request.actor, batch_id=batch_id):
            raise
    except WorkflowError:
        pass  # what was refused is a draft again, and the row says why
    state = _state(request, batch_id, kept)
    forget(request, batch_id)
    if request.headers.get("X-Requested-With") == BY_SCRIPT:
        return JsonResponse(state)
    level = messages.SUCCESS if state["state"] == "sent" else messages.ERROR
    toast(request, f"answer.{state['state']}", state["words"], level=level)
    return redirect(_where_one_was(request))


@require_GET
@never_cache
@inbox_page
def state(request: InboxRequest, batch_id: UUID) -> HttpResponse:
    """Return what became of answers: waiting, sent or refused, in words."""
    return JsonResponse(_state(request, batch_id, find(request, batch_id)))


def _state(request: InboxRequest, batch_id: UUID, kept: Kept | None) -> dict[str, Any]:
    rows = pending_answers(actor=request.actor, batch_id=batch_id)
    if not rows and kept is None:
        raise NotFound
    refused = [row for row in rows if row.refused_at is not None]
    if refused:
        return {"state": "refused", "words": _refused_words(refused)}
    if rows:
        return {"state": "waiting", "words": _("It is sent in a moment.")}
    assert kept is not None
    done = Task.objects.filter(pk__in=kept.tasks, completed_by_id=request.actor.person_id).first()
    return {"state": "sent", "words": _sent_words(request, kept, done)}


def _sent_words(request: InboxRequest, kept: Kept, done: Task | None) -> str:
    words = (_("%(answer)s Sent.") % {"answer": kept.words}).strip()
    seen = done is not None and access.visible_instances(request.actor).filter(pk=done.instance_id).exists()
    if len(kept.tasks) > 1 or not seen or done is None:
        return conditional_escape(words)
    return format_html('{} <a href="{}">{}</a>', words, reverse("inbox:instance", args=[done.instance_id]), _("View"))


def _refused_words(refused: list[PendingAnswer]) -> str:
    first = refused[0]
    words = _("Not sent: %(why)s What you typed is kept.") % {"why": first.refusal_text}
    return format_html('{} <a href="{}">{}</a>', words, reverse("inbox:task", args=[first.task_id]), _("Open"))


def _where_one_was(request: InboxRequest) -> str:
    """Lead back to the page from which an answer was sent, if it is one of the inbox."""
    before = urlsplit(request.headers.get("Referer", ""))
    own = before.netloc == request.get_host() and before.path.startswith(reverse("inbox:mine"))
    if not own:
        return reverse("inbox:mine")
    return f"{before.path}?{before.query}" if before.query else before.path
