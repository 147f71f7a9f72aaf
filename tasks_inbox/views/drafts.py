"""Save an unfinished answer: by a button, or automatically while the person types."""

from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _

from engine import access
from engine.models import Task, TaskDraft
from engine.services.tasks.checklists import tick_point
from engine.services.tasks.drafts import discard_task_draft, save_task_draft
from tasks_inbox.decorators import BY_ITSELF, InboxRequest, toast
from tasks_inbox.presenters.prev_next import came_from, task_address
from tasks_inbox.views.tasks import form_of, task_act
from workflowplatform.i18n.dates import date_format


def keep_answer(request: InboxRequest, task: Task) -> TaskDraft | None:
    """Keep what the form brought, where the task keeps drafts: values, comment, and the points ticked."""
    _keep_ticks(request, task)
    if not task.keeps_drafts:
        return None
    form = form_of(task, request.POST)
    form.is_valid()
    return save_task_draft(
        actor=request.actor, task_id=task.pk, values=form.draft_values(), comment=form.comment_typed()
    )


def _keep_ticks(request: InboxRequest, task: Task) -> None:
    if "checklist" not in request.POST:
        return
    sent = set(request.POST.getlist("tick"))
    for point in task.checklist:
        if (point.id in sent) != (point.id in task.ticked_ids):
            tick_point(actor=request.actor, task_id=task.pk, point=point.id, done=point.id in sent)


@task_act
def save(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Keep the answer for later; the page's script asks for a word, a form for the page."""
    draft = keep_answer(request, access.task_of(request.actor, task_id))
    if request.headers.get("X-Requested-With") == BY_ITSELF:
        return JsonResponse({"words": _saved_words(draft)})
    toast(request, "draft.saved", _("Draft saved. Nothing has been sent yet."))
    return redirect(task_address(task_id, came_from(request)))


def _saved_words(draft: TaskDraft | None) -> str:
    at = timezone.localtime(draft.saved_at if draft else None)
    return _("Draft saved %(time)s") % {"time": date_format(at, "H:i")}


@task_act
def discard(request: InboxRequest, task_id: UUID) -> HttpResponse:
    """Begin the answer anew."""
    discard_task_draft(actor=request.actor, task_id=task_id)
    toast(request, "draft.discarded", _("Draft discarded."))
    return redirect(task_address(task_id, came_from(request)))
