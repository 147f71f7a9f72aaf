"""Files of a task: added and taken away beside the answer, which is kept as a draft meanwhile."""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from engine import access
from engine.errors import Conflict, Invalid
from engine.models import Task
from engine.presentation.forms.form import TaskForm
from engine.services.tasks.attachments import attach_file, detach_file, open_attachment
from engine.storage.attachments import download
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.toasts import toast
from tasks_inbox.views.drafts import keep_answer
from tasks_inbox.views.task_page import form_of, task_act, task_page


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


@task_act
def add(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Add the chosen files; what was typed stays in the form."""
    task = access.task_of(request.actor, task_id)
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
    return redirect("inbox:task", task_id=task_id)


def _told(request: InboxRequest, task: Task, words: str, code: str, *, status: int) -> HttpResponse:
    """Show the form as it was sent, with what is wrong about the file on top of it."""
    form = form_of(task, request.POST)
    form.add_error(None, ValidationError(words, code=code))
    return task_page(request, task, form, status=status)


@task_act
def take_away(request: InboxRequest, task_id: UUID, attachment_id: UUID) -> HttpResponse:
    """Take a file away; what was typed stays in the form."""
    task = access.task_of(request.actor, task_id)
    detach_file(actor=request.actor, task_id=task_id, attachment_id=attachment_id)
    keep_answer(request, task)
    toast(request, "file.removed", _("File taken away."))
    return redirect("inbox:task", task_id=task_id)


@require_GET
@inbox_page
def fetch(request: InboxRequest, task_id: UUID, attachment_id: UUID) -> HttpResponseBase:
    """Hand a file over to be saved."""
    file, content = open_attachment(actor=request.actor, task_id=task_id, attachment_id=attachment_id)
    return download(file.name, content)
