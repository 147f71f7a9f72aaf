"""A start form that is being filled in: its draft, kept as one types, and its files."""

from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from engine import access
from engine.errors import Conflict, Invalid, NotFound
from engine.runtime.claims import version_to_start
from engine.services.instances.start_drafts import (
    add_start_file,
    discard_start_draft,
    open_case_file,
    remove_start_file,
    save_start_draft,
)
from engine.storage.attachments import serve
from tasks_inbox.decorators import BY_ITSELF, InboxRequest, inbox_page, toast
from tasks_inbox.messages import http_status_of
from tasks_inbox.presenters.files import shown_file
from tasks_inbox.views.start import once_of, read_start, start_form
from workflowplatform.i18n.dates import date_format


@require_POST
@inbox_page
def save(request: InboxRequest, name: str) -> HttpResponse:
    """Keep what was typed; the page's script asks for a word, a form for the page."""
    version = version_to_start(request.actor, name).version
    by_itself = request.headers.get("X-Requested-With") == BY_ITSELF
    shown = start_form(version, request.POST) if by_itself else read_start(request, version)
    shown.is_valid()
    try:
        draft = save_start_draft(
            actor=request.actor, version=version, number=once_of(request), values=shown.draft_values()
        )
    except (Invalid, Conflict) as refusal:
        return HttpResponse(refusal.message, status=http_status_of(refusal), content_type="text/plain")
    at = date_format(timezone.localtime(draft.saved_at), "H:i")
    if by_itself:
        return JsonResponse({"words": _("Draft saved %(time)s") % {"time": at}})
    toast(request, "draft.saved", _("Draft saved. Nothing has been sent yet."))
    return redirect(reverse("inbox:start_form", args=[name]) + f"?draft={draft.number}")


@require_POST
@inbox_page
def discard(request: InboxRequest, name: str) -> HttpResponse:
    """Throw a draft away and begin anew."""
    version = version_to_start(request.actor, name).version
    discard_start_draft(actor=request.actor, version=version, number=once_of(request))
    toast(request, "draft.discarded", _("Draft discarded."))
    return redirect("inbox:start_form", name=name)


@require_POST
@inbox_page
def add_file(request: InboxRequest, name: str) -> HttpResponse:
    """Add one file for the page's script, which shows it in its list."""
    version, file = version_to_start(request.actor, name).version, request.FILES.get("file")
    if file is None:
        return JsonResponse({"words": _("Choose a file first."), "code": "required"}, status=400)
    try:
        added = add_start_file(
            actor=request.actor, version=version, number=once_of(request), name=file.name or "", content=file
        )
    except (Invalid, Conflict) as refusal:
        code = refusal.first_code if isinstance(refusal, Invalid) else refusal.code
        return JsonResponse({"words": refusal.message, "code": code}, status=http_status_of(refusal))
    address = reverse("inbox:start_file", args=[name, added.pk])
    remove = reverse("inbox:remove_start_file", args=[name, added.pk])
    return JsonResponse(shown_file(added, address, remove).as_json(), status=201)


@require_GET
@inbox_page
def file(request: InboxRequest, name: str, draft_file_id: UUID) -> HttpResponseBase:
    """Hand over a file of one's own draft."""
    version = version_to_start(request.actor, name).version
    found = access.files_of_own_drafts(request.actor, version).filter(pk=draft_file_id).first()
    if found is None:
        raise NotFound
    return serve(found.name, found.content_type, open_case_file(found), show="show" in request.GET)


@require_POST
@inbox_page
def remove_file(request: InboxRequest, name: str, draft_file_id: UUID) -> HttpResponse:
    """Take a file of a draft away."""
    version = version_to_start(request.actor, name).version
    remove_start_file(actor=request.actor, version=version, file_id=draft_file_id)
    return HttpResponse(status=204)


@require_GET
@inbox_page
def file_of_instance(request: InboxRequest, instance_id: UUID, file_id: UUID) -> HttpResponseBase:
    """Hand over a file that came with a request."""
    found = access.case_files(request.actor, instance_id).filter(pk=file_id).first()
    if found is None:
        raise NotFound
    return serve(found.name, found.content_type, open_case_file(found), show="show" in request.GET)


@require_GET
@inbox_page
def file_of_task(request: InboxRequest, task_id: UUID, file_id: UUID) -> HttpResponseBase:
    """Hand over a file that came with a request, to those who see one of its tasks."""
    found = next((one for one in access.case_files_of_task(request.actor, task_id) if one.pk == file_id), None)
    if found is None:
        raise NotFound
    return serve(found.name, found.content_type, open_case_file(found), show="show" in request.GET)
