"""Pages that start: the gallery of templates one may start, and the form of one."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from engine import access
from engine.errors import Conflict, Invalid
from engine.models import TemplateVersion
from engine.presentation.forms.form import SchemaForm
from engine.presentation.narrative.step_outline import outline_of
from engine.services.instances.lifecycle import start_instance
from tasks_inbox.decorators import InboxRequest, inbox_page
from tasks_inbox.idempotency import Begun, begin_once, fresh_number
from tasks_inbox.messages import notice_of
from tasks_inbox.presenters.field_labels import input_schema_of
from tasks_inbox.presenters.start_gallery import cards_for, sections_of, tags_of
from tasks_inbox.toasts import toast


@require_GET
@inbox_page
def gallery(request: InboxRequest) -> HttpResponse:
    """Show what the person may start: what they used first, then by tag."""
    cards = cards_for(request.actor)
    words, tag = request.GET.get("q", "").strip(), request.GET.get("tag", "")
    context = {
        "place": "start",
        "sections": sections_of([card for card in cards if card.fits(words, tag)]),
        "count": len(cards),
        "tags": tags_of(cards),
        "tag": tag,
        "words": words,
    }
    return render(request, "inbox/gallery.html", context)


@require_http_methods(["GET", "POST"])
@inbox_page
def form(request: InboxRequest, name: str) -> HttpResponse:
    """Show a template's start form, or start it."""
    try:
        version = access.version_to_start(request.actor, name)
    except Conflict as refusal:
        return render(request, "inbox/task_gone.html", {"place": "start", "notice": notice_of(refusal)}, status=409)
    shown = SchemaForm(input_schema_of(version), request.POST if request.method == "POST" else None)
    if request.method == "GET":
        return _page(request, version, shown)
    if shown.asks_for_rows:
        return _page(request, version, shown.begun_again())
    return _start(request, version, shown) if shown.is_valid() else _page(request, version, shown, status=400)


def _start(request: InboxRequest, version: TemplateVersion, shown: SchemaForm) -> HttpResponse:
    name, values = version.template.name, shown.values()
    try:
        begun = begin_once(
            actor=request.actor,
            template=name,
            number=request.POST.get("once", ""),
            values=values,
            begin=lambda: start_instance(actor=request.actor, template=name, input=values),
        )
    except Invalid as refusal:
        shown.take_errors(refusal.errors)
        return _page(request, version, shown, status=400)
    except Conflict as refusal:
        return _page(request, version, shown, status=409, notice=notice_of(refusal))
    return _go_on(request, begun)


def _go_on(request: InboxRequest, begun: Begun) -> HttpResponse:
    """Open the first task that is the starter's own, else the instance."""
    if begun.started is None:
        toast(request, "instance.started_before", _("This was started already. Here it is."), level=messages.INFO)
        return redirect("inbox:instance", instance_id=begun.instance_id)
    instance = begun.started.instance
    words = _("%(what)s started.") % {"what": instance.reference or instance.template}
    toast(request, "instance.started", words)
    own = [task for task in begun.started.tasks if task.assignee_id == request.actor.person_id]
    if own:
        return redirect("inbox:task", task_id=own[0].pk)
    return redirect("inbox:instance", instance_id=instance.pk)


def _page(
    request: InboxRequest, version: TemplateVersion, shown: SchemaForm, *, status: int = 200, notice: Any = None
) -> HttpResponse:
    context = {
        "place": "start",
        "version": version,
        "form": shown,
        "once": request.POST.get("once") or fresh_number(),
        "outline": outline_of(version.canonical, ()),
        "notice": notice,
    }
    return render(request, "inbox/start.html", context, status=status)
