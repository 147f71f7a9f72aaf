"""How a person's lists look, with which one the inbox opens, and a list as a file."""

from uuid import UUID

from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from engine.errors import NotFound
from engine.services.tasks.list_exports import note_export
from engine.services.tasks.list_settings import choose_columns, choose_start
from tasks_inbox.decorators import InboxRequest, inbox_page, toast
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.list_csv import ListFile
from tasks_inbox.presenters.lists import declared_columns, list_named, rows_of
from tasks_inbox.presenters.prev_next import list_address


@require_POST
@inbox_page
def columns(request: InboxRequest) -> HttpResponse:
    """Show other columns in a list from now on, or the usual ones again."""
    query = request.POST.get("back", "")
    chosen = list_named(QueryDict(query).get("view", "mine"), request.actor)
    usual = "usual" in request.POST
    choose_columns(actor=request.actor, view=chosen.view, names=None if usual else request.POST.getlist("column"))
    toast(request, "columns.saved", _("Usual columns restored.") if usual else _("Columns saved."))
    return redirect(list_address(QueryDict(query).urlencode()))


@require_POST
@inbox_page
def first(request: InboxRequest) -> HttpResponse:
    """Open the inbox with a list or a saved filter from now on, or as usual again."""
    query = QueryDict(request.POST.get("back", "")).urlencode()
    if saved := request.POST.get("filter", ""):
        settings = choose_start(actor=request.actor, filter_id=_id(saved))
    else:
        settings = choose_start(actor=request.actor, view=request.POST.get("view", ""))
    is_usual = not settings.start_view and settings.start_filter_id is None
    words = _("The inbox opens with Mine again.") if is_usual else _("The inbox opens with this list from now on.")
    toast(request, "first.saved", words)
    return redirect(reverse("inbox:filters") if request.POST.get("then") == "filters" else list_address(query))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise NotFound from error


@require_POST
@inbox_page
def export(request: InboxRequest) -> HttpResponseBase:
    """Hand out a list as CSV, with all its pages."""
    asked = QueryDict(request.POST.get("query", ""))
    chosen = list_named(asked.get("view", "mine"), request.actor)
    wanted = Filter.read(chosen.name, asked)
    note_export(actor=request.actor, query=wanted.address())
    root = request.build_absolute_uri(reverse("inbox:mine"))
    file = ListFile(
        rows_of(request.actor, chosen, wanted),
        declared_columns(request.actor, wanted),
        lambda task_id: f"{root}tasks/{task_id}/",
    )
    day = timezone.localtime().date().isoformat()
    headers = {"Content-Disposition": f'attachment; filename="{chosen.name}-{day}.csv"'}
    return StreamingHttpResponse(file.chunks(), content_type="text/csv; charset=utf-8", headers=headers)
