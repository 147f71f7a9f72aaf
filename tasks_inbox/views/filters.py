"""Keep a list's filter under a name, share it, change it, take it away, bring it back."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from engine import access
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import SavedFilter, Template
from engine.services.tasks.saved_filters import (
    Sharing,
    change_filter,
    delete_filter,
    restore_filter,
    save_filter,
)
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.presenters.filters import Filter
from tasks_inbox.presenters.lists import ORDER_WORDS, list_named
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT

EVERYONE, OF_ROLE = "everyone", "role:"
"""What the choice of whom to share with says."""


def list_url_of(saved: SavedFilter) -> str:
    """Return the address of a saved filter's list: the filter itself."""
    return f"{reverse('inbox:mine')}?{saved.query}"


@require_http_methods(["GET", "POST"])
@inbox_page
def filters(request: InboxRequest) -> HttpResponse:
    """Show all saved filters; keep what a list was asked for, under a new name or in place of another filter."""
    return _save(request) if request.method == "POST" else _all(request)


def _save(request: InboxRequest) -> HttpResponse:
    query = _understood(request.actor, request.POST.get("query", ""))
    try:
        saved = _kept(request, query)
    except Invalid as refusal:
        toast(request, refusal.first_code, refusal.message, level=messages.ERROR)
        return redirect(f"{reverse('inbox:mine')}?{query}")
    toast(request, "filter.saved", _("Filter “%(name)s” saved.") % {"name": saved.name})
    return redirect(list_url_of(saved))


def _kept(request: InboxRequest, query: str) -> SavedFilter:
    if replaced := request.POST.get("replace"):
        return change_filter(actor=request.actor, filter_id=_id(replaced), query=query)
    name = posted_line(request, "name")
    return save_filter(actor=request.actor, name=name, query=query, sharing=_sharing(request))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        message = _("Choose one of your filters.")
        raise Invalid(message, [FieldError("replace", "invalid", message)]) from error


def _understood(actor: Actor, text: str) -> str:
    """Keep of an address only what a list understands, in its one written form."""
    asked = QueryDict(text)
    return Filter.read(list_named(asked.get("view", "mine"), actor).name, asked).address()


def _sharing(request: InboxRequest) -> Sharing:
    share = EVERYONE if request.POST.get("shared") == "yes" else posted_line(request, "share")
    editable = request.POST.get("editable") == "yes"
    return Sharing(share == EVERYONE, share.removeprefix(OF_ROLE) if share.startswith(OF_ROLE) else "", editable)


def _all(request: InboxRequest) -> HttpResponse:
    actor = request.actor
    settings = access.list_settings_of(actor).first()
    kept = list(access.filters_to_look_after(actor))
    titles = _titles(actor)
    rows = [
        {
            "saved": saved,
            "list": list_named(asked.view, actor),
            "chips": asked.chips(titles),
            "words": asked.words,
            "order": ORDER_WORDS.get(asked.sort, ""),
            "may_change": access.may_change_filter(actor, saved),
            "owns": access.owns_filter(actor, saved),
            "is_start": settings is not None and settings.start_filter_id == saved.pk,
        }
        for saved, asked in ((one, _asked(actor, one)) for one in kept)
    ]
    return render(request, "inbox/filters.html", {"place": "filters", "rows": rows})


def _asked(actor: Actor, saved: SavedFilter) -> Filter:
    asked = QueryDict(saved.query)
    return Filter.read(list_named(asked.get("view", ""), actor).name, asked)


def _titles(actor: Actor) -> dict[str, str]:
    named = Template.objects.filter(tenant_id=actor.tenant_id).values_list("name", "title")
    return {name: title or name for name, title in named}


@require_http_methods(["GET", "POST"])
@inbox_page
def change(request: InboxRequest, filter_id: UUID) -> HttpResponse:
    """Rename a filter and say whom it is shared with."""
    saved = access.filter_of(request.actor, filter_id)
    if request.method == "GET":
        return _form(request, saved, saved.name, Sharing.of(saved))
    name, sharing = posted_line(request, "name"), None
    if access.owns_filter(request.actor, saved):
        sharing = _sharing(request)
    try:
        changed = change_filter(actor=request.actor, filter_id=filter_id, name=name, sharing=sharing)
    except Invalid as refusal:
        return _form(request, saved, name, sharing or Sharing.of(saved), refusal.errors)
    toast(request, "filter.changed", _("Filter “%(name)s” changed.") % {"name": changed.name})
    return redirect("inbox:filters")


def _form(
    request: InboxRequest, saved: SavedFilter, name: str, sharing: Sharing, errors: Sequence[FieldError] = ()
) -> HttpResponse:
    actor = request.actor
    asked = _asked(actor, saved)
    context: dict[str, Any] = {
        "place": "filters",
        "saved": saved,
        "name": name,
        "share": EVERYONE if sharing.everyone else f"{OF_ROLE}{sharing.role}" if sharing.role else "",
        "editable": sharing.editable,
        "errors": errors,
        "list": list_named(asked.view, actor),
        "chips": asked.chips(_titles(actor)),
        "words": asked.words,
        "may_change": access.may_change_filter(actor, saved),
        "owns": access.owns_filter(actor, saved),
        "may_share": actor.level >= TO_SEE_TENANT,
        "sharing_roles": list(access.visible_roles(actor).order_by("name")),
    }
    return render(request, "inbox/filter.html", context, status=400 if errors else 200)


@require_POST
@inbox_page
def remove(request: InboxRequest, filter_id: UUID) -> HttpResponse:
    """Take a saved filter away; the toast brings it back."""
    saved = delete_filter(actor=request.actor, filter_id=filter_id)
    text = _("Filter “%(name)s” deleted.") % {"name": saved.name}
    toast(request, "filter.deleted", text, undo=reverse("inbox:restore_filter", args=[saved.pk]))
    return redirect(reverse("inbox:filters") if request.POST.get("then") == "filters" else list_url_of(saved))


@require_POST
@inbox_page
def restore(request: InboxRequest, filter_id: UUID) -> HttpResponse:
    """Bring a deleted filter back."""
    saved = restore_filter(actor=request.actor, filter_id=filter_id)
    toast(request, "filter.restored", _("Filter “%(name)s” is back.") % {"name": saved.name})
    return redirect(list_url_of(saved))
