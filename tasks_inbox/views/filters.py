"""Keep a list's filter under a name, take it away, bring it back."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from engine.errors import Invalid
from engine.models import SavedFilter
from engine.services.tasks.saved_filters import delete_filter, restore_filter, save_filter
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import list_named


def list_url_of(saved: SavedFilter) -> str:
    """Give the address of a saved filter's list: the filter itself."""
    return f"{reverse('inbox:mine')}?{saved.query}"


@require_POST
@inbox_page
def save(request: InboxRequest) -> HttpResponse:
    """Keep what the list was asked for; only what a list understands is kept."""
    asked = QueryDict(request.POST.get("query", ""))
    query = Filter.read(list_named(asked.get("view", "mine"), request.actor).name, asked).address()
    try:
        saved = save_filter(
            actor=request.actor,
            name=posted_line(request, "name"),
            query=query,
            shared=request.POST.get("shared") == "yes",
        )
    except Invalid as refusal:
        toast(request, refusal.first_code, refusal.message, level=messages.ERROR)
        return redirect(f"{reverse('inbox:mine')}?{query}")
    toast(request, "filter.saved", _("Filter “%(name)s” saved.") % {"name": saved.name})
    return redirect(list_url_of(saved))


@require_POST
@inbox_page
def remove(request: InboxRequest, filter_id: UUID) -> HttpResponse:
    """Take a saved filter away; the toast brings it back."""
    saved = delete_filter(actor=request.actor, filter_id=filter_id)
    text = _("Filter “%(name)s” deleted.") % {"name": saved.name}
    toast(request, "filter.deleted", text, undo=reverse("inbox:restore_filter", args=[saved.pk]))
    return redirect(list_url_of(saved))


@require_POST
@inbox_page
def restore(request: InboxRequest, filter_id: UUID) -> HttpResponse:
    """Bring a deleted filter back."""
    saved = restore_filter(actor=request.actor, filter_id=filter_id)
    toast(request, "filter.restored", _("Filter “%(name)s” is back.") % {"name": saved.name})
    return redirect(list_url_of(saved))
