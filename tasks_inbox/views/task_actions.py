"""Actions on a task besides the answer: comment, assign, snooze, pause, skip, redo."""

from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from engine import access
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Task, TaskComment
from engine.presentation.narrative.people_names import said
from engine.presentation.narrative.relative_times import moment_words
from engine.services.notifications.mentions import mentions_in, people_to_mention
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.colleagues import people_to_ask
from engine.services.tasks.comments import comment_task
from engine.services.tasks.redo import redo_task
from engine.services.tasks.suspension import resume_task, skip_task, snooze_task, suspend_task
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.views.tasks import is_by_script, said_part, task_act
from workflowplatform.accounts.models import User

NEVER = 9000
"""A year that nobody means; near the last one of the calendar no zone can be applied any more."""


@task_act
def comment(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Add a comment to a task."""
    said = comment_task(actor=request.actor, task_id=task_id, text=request.POST.get("text", ""))
    toast(request, "task.commented", " ".join((_("Comment added."), *_mention_words(said))))
    return said_part(request, task_id) if is_by_script(request) else _back(task_id)


def _mention_words(said: TaskComment) -> list[str]:
    """Describe who is told of a comment, and which names mean nobody who may see it."""
    assert said.task is not None  # a comment on a case as a whole mentions nobody here
    found = mentions_in(said.task, said.text)
    words = []
    if found.people:
        names = ", ".join(person.display_name for person in found.people)
        words.append(_("%(names)s will be told.") % {"names": names})
    if found.unknown:
        names = ", ".join(f"@{name}" for name in found.unknown)
        words.append(_("Nobody who sees this is called %(names)s.") % {"names": names})
    return words


@require_GET
@inbox_page
def people(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Offer people who may be mentioned at a task, or asked about it, by the beginning of their name."""
    task = access.task_of(request.actor, task_id)
    typed = request.GET.get("typed", "").replace("\0", "")[:100]
    asks = "ask" in request.GET
    found = (
        people_to_ask(request.actor, task, typed)
        if asks
        else people_to_mention(actor=request.actor, task=task, typed=typed)
    )
    return JsonResponse({"people": [{"name": one.username, "title": one.display_name} for one in found]})


@task_act
def assign(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Assign a task to a person, or return it to the queue where none is chosen."""
    before = access.task_of(request.actor, task_id).assignee
    sent = _sent(request, "person")
    if "person" not in sent:
        raise _wrong("user", _("Choose a person."))
    task = assign_task(
        actor=request.actor, task_id=task_id, person=str(sent["person"]) or None, reason=posted_line(request, "reason")
    )
    tell_assigned(request, task, before)
    return _back(task_id)


def tell_assigned(request: InboxRequest, task: Task, before: User | None) -> None:
    """Say to whom a task was given, and offer to undo it."""
    undo = _undo("inbox:assign", task.pk, person=before.username if before else "")
    if task.assignee:
        toast(request, "task.assigned", _("Assigned to %(name)s.") % {"name": task.assignee.display_name}, undo=undo)
    else:
        toast(request, "task.offered", _("Returned to the queue."), undo=undo)


@task_act
def suspend(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Pause a task."""
    suspend_task(actor=request.actor, task_id=task_id, reason=posted_line(request, "reason"))
    toast(request, "task.suspended", _("Paused. Nobody can work on it until it is resumed."))
    return _back(task_id)


@task_act
def resume(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Resume a paused task."""
    resume_task(actor=request.actor, task_id=task_id, reason=posted_line(request, "reason"))
    toast(request, "task.resumed", _("Resumed."))
    return _back(task_id)


@task_act
def snooze(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Snooze a task until a moment, or bring it back now."""
    before = access.task_of(request.actor, task_id).follow_up_at
    sent = _sent(request, "until", "back")
    until = None if "back" in sent else _until(sent.get("until") or sent.get("moment", ""))
    snooze_task(actor=request.actor, task_id=task_id, until=until)
    if until is None:
        toast(request, "task.returned", _("It is back in your list."))
        return _back(task_id)
    undo = _undo("inbox:snooze", task_id, **({"until": before.isoformat()} if before else {"back": "1"}))
    words = _("Snoozed until %(when)s.") % {"when": moment_words(until, timezone.now())}
    toast(request, "task.snoozed", words, undo=undo)
    return redirect("inbox:mine")


def _sent(request: InboxRequest, *names: str) -> QueryDict:
    """Read what was sent by a form's fields, or by the address of an Undo."""
    in_address = any(name in request.GET for name in names) and not any(name in request.POST for name in names)
    return request.GET if in_address else request.POST


def _undo(name: str, task_id: UUID, **fields: str) -> str:
    return f"{reverse(name, args=[task_id])}?{urlencode(fields)}"


def _until(text: str) -> datetime:
    """Read a moment in the person's zone."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None or found.year >= NEVER:
        raise _wrong("until", _("Choose a date and time."))
    return found if timezone.is_aware(found) else timezone.make_aware(found)


def _wrong(field: str, message: str) -> Invalid:
    return Invalid(message, [FieldError(field, "invalid", message)])


@task_act
def skip(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Skip a task."""
    done = skip_task(actor=request.actor, task_id=task_id, reason=posted_line(request, "reason"))
    what = done.task.business_reference or said(done.task.title)
    toast(request, "task.skipped", _("%(what)s: skipped.") % {"what": what})
    following = [task for task in done.next_tasks if task.assignee_id == request.actor.person_id]
    return _back(following[0].pk) if following else redirect("inbox:mine")


@task_act
def redo(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Have an answered task done again; its page opens anew, where the person sees it."""
    done = redo_task(actor=request.actor, task_id=task_id, reason=posted_line(request, "reason"))
    toast(request, "task.redone", _("Open again, with the earlier answer filled in."))
    anew = [task for task in done.next_tasks if task.step == done.task.step]
    return _back(max(anew, key=lambda task: task.token).pk if anew else task_id)


def _back(task_id: UUID) -> HttpResponse:
    return redirect("inbox:task", task_id=task_id)
