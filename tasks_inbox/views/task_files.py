"""Files of a task: added and removed while the answer is kept as a draft."""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from engine import access
from engine.errors import Conflict, Invalid, Refused
from engine.models import Task
from engine.services.tasks.attachments import attach_file, detach_file, open_attachment
from engine.storage.attachments import serve
from tasks_inbox.decorators import InboxRequest, inbox_page, toast
from tasks_inbox.messages import http_status_of
from tasks_inbox.presenters.files import UPLOAD, shown_file
from tasks_inbox.views.drafts import keep_answer
from tasks_inbox.views.tasks import add_sent_files, form_of, is_by_script, said_part, task_act, task_page


@task_act
def add(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Add the chosen files; what was typed stays in the form."""
    task = access.task_of(request.actor, task_id)
    if request.headers.get("X-Requested-With") == UPLOAD:
        return _added_by_script(request, task)
    keep_answer(request, task)
    try:
        added = add_sent_files(request, task)
    except Invalid as refusal:
        return _told(request, task, refusal.message, refusal.first_code, status=400)
    except Conflict as refusal:
        if refusal.code != "limit":
            raise
        return _told(request, task, refusal.message, refusal.code, status=409)
    if not added:
        return _told(request, task, _("Choose a file first."), "required", status=400)
    toast(request, "file.added", _("File added."))
    return _after(request, task_id)


def _added_by_script(request: InboxRequest, task: Task) -> HttpResponse:
    """Add one file for the page's script, which shows it in its list."""
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse({"words": _("Choose a file first."), "code": "required"}, status=400)
    try:
        added = attach_file(actor=request.actor, task_id=task.pk, name=file.name or "", content=file)
    except (Invalid, Conflict, Refused) as refusal:
        code = refusal.first_code if isinstance(refusal, Invalid) else refusal.code
        return JsonResponse({"words": refusal.message, "code": code}, status=http_status_of(refusal))
    addresses = (reverse(f"inbox:{name}", args=[task.pk, added.pk]) for name in ("file", "remove_file"))
    return JsonResponse(shown_file(added, *addresses).as_json(), status=201)


def _told(request: InboxRequest, task: Task, words: str, code: str, *, status: int) -> HttpResponse:
    """Show the form as it was sent, with what is wrong about the file on top of it."""
    form = form_of(task, request.POST)
    form.add_error(None, ValidationError(words, code=code))
    return task_page(request, task, form, status=status)


@task_act
def remove_file(request: InboxRequest, task_id: UUID, attachment_id: UUID) -> HttpResponse:
    """Take a file away; what was typed stays in the form."""
    task = access.task_of(request.actor, task_id)
    detach_file(actor=request.actor, task_id=task_id, attachment_id=attachment_id)
    keep_answer(request, task)
    toast(request, "file.removed", _("File removed."))
    return _after(request, task_id)


def _after(request: InboxRequest, task_id: UUID) -> HttpResponse:
    return said_part(request, task_id, files=True) if is_by_script(request) else redirect("inbox:task", task_id=task_id)


@require_GET
@inbox_page
def fetch(request: InboxRequest, task_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Hand a file over to be saved."""
    file, content = open_attachment(actor=request.actor, task_id=task_id, attachment_id=attachment_id)
    return serve(file.name, file.content_type, content, show="show" in request.GET)
