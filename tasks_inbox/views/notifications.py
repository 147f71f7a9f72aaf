"""The settings of what one is told: saved as soon as something changes, with an Undo; without JavaScript by a button."""

from datetime import time
from typing import Any
from urllib.parse import urlencode

from django.conf import settings as django_settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_time
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods, require_POST

from engine.diagram.step_names import label_of
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError
from engine.models.notification import KINDS
from engine.services.notifications.preferences import (
    Preferences,
    change_preferences,
    own_preferences,
    reset_preferences,
)
from engine.services.notifications.push import browsers_of, endpoint_mark
from engine.services.notifications.reports import mails_lately, use_address_again
from engine.transports.web_push import public_key
from tasks_inbox.decorators import InboxRequest, inbox_page, toast
from tasks_inbox.notices.words import KIND_WORDS
from workflowplatform.accounts.models import Role, User

BY_SCRIPT = "settings"
"""What the page's own script says of itself in X-Requested-With."""
WAY_WORDS = {"off": gettext_lazy("Off"), "once": gettext_lazy("At once"), "daily": gettext_lazy("Daily")}
ICONS = {
    "assigned": "user-check", "offered": "inbox", "mentioned": "at", "asked": "help-circle", "answered": "message",
    "due_soon": "clock", "late": "clock-exclamation", "decided": "route", "handed_over": "beach",
    "not_sent": "alert-triangle",
}  # fmt: skip
TIMES = ("quiet_from", "quiet_until", "digest_at")
SWITCHES = ("quiet", "quiet_weekend")


@require_http_methods(["GET", "POST"])
@inbox_page
def settings(request: InboxRequest) -> HttpResponse:
    """Show what one is told, and save what was changed."""
    if request.method == "GET":
        return _page(request, own_preferences(request.actor))
    sent = request.POST if "kinds" in request.POST else request.GET
    before = own_preferences(request.actor)
    try:
        chosen = _chosen(sent)
    except Invalid as refusal:
        return _page(request, before, refusal.errors)
    undo = f"{reverse('inbox:notifications')}?{_as_sent(before, _own(request))}"
    after = change_preferences(actor=request.actor, **chosen)
    _choose_language(request, sent)
    with override(_own(request).language or None):
        toast(request, "notifications.saved", _saved_words(before, after), undo=undo)
    if request.headers.get("X-Requested-With") == BY_SCRIPT:
        return render(request, "parts/toasts.html")
    return redirect("inbox:notifications")


@require_POST
@inbox_page
def defaults(request: InboxRequest) -> HttpResponse:
    """Go back to the defaults."""
    undo = f"{reverse('inbox:notifications')}?{_as_sent(own_preferences(request.actor), _own(request))}"
    reset_preferences(actor=request.actor)
    toast(request, "notifications.reset", _("These are the defaults again."), undo=undo)
    return redirect("inbox:notifications")


@require_POST
@inbox_page
def use_address(request: InboxRequest) -> HttpResponse:
    """Send mail to the own address again, though one came back."""
    try:
        use_address_again(actor=request.actor, person=_own(request))
    except Conflict as refusal:
        toast(request, f"notifications.{refusal.code}", refusal.message, level=messages.WARNING)
    else:
        toast(request, "notifications.address", _("E-mail is sent to your address again."))
    return redirect("inbox:notifications")


def _own(request: InboxRequest) -> User:
    assert isinstance(request.user, User)
    return User.objects.get(pk=request.user.pk)


def _page(request: InboxRequest, wishes: Preferences, errors: Any = ()) -> HttpResponse:
    person = _own(request)
    browsers = browsers_of(person.pk)
    rows = [
        {
            "kind": kind,
            "title": KIND_WORDS[kind],
            "icon": ICONS[kind],
            "below": _below(kind, request),
            "ways": [(way, words, wishes.mail[kind] == way) for way, words in WAY_WORDS.items()],
            "push": kind in wishes.push,
        }
        for kind in KINDS
    ]
    context = {
        "place": "settings",
        "rows": rows,
        "wishes": wishes,
        "person": person,
        "wrong": {error.path: error for error in errors},
        "languages": [("", _("Same as my browser")), *django_settings.LANGUAGES],
        "push_key": public_key(),
        "browsers": browsers,
        "endpoints": [endpoint_mark(one.endpoint) for one in browsers],
        "mails": mails_lately(request.actor),
        "came_back": wishes.bounced_at if wishes.bounced_address and wishes.bounced_address == person.email else None,
    }
    return render(request, "inbox/notifications.html", context, status=400 if errors else 200)


def _below(kind: str, request: InboxRequest) -> str:
    if kind == "due_soon":
        return _("4 hours before")
    if kind == "mentioned":
        return _("Or writes to everyone on a case of mine")
    if kind == "offered":
        held = Role.objects.filter(pk__in=request.actor.roles).order_by("name")
        return ", ".join(label_of(role.name, {"title": role.title}) for role in held)
    return ""


def _chosen(sent: QueryDict) -> dict[str, Any]:
    """Read the form: every kind, the push boxes, the times and switches."""
    found = {name: _moment(sent.get(name, ""), name) for name in TIMES}
    if wrong := [name for name, value in found.items() if value is None]:
        message = _("Enter a time, such as 18:30.")
        raise Invalid(message, [FieldError(name, "invalid", message) for name in wrong])
    mail = {kind: sent[f"mail_{kind}"] for kind in KINDS if f"mail_{kind}" in sent}
    return {
        **found,
        **{name: name in sent for name in SWITCHES},
        "mail": mail,
        "push": sent.getlist("push"),
    }


def _moment(text: str, name: str) -> time | None:
    try:
        return parse_time(text.replace("\0", ""))
    except ValueError:
        return None


def _as_sent(wishes: Preferences, person: User) -> str:
    """Write settings as the form would send them: the address of an Undo."""
    fields: list[tuple[str, str]] = [("kinds", "1"), ("language", person.language)]
    fields += [(f"mail_{kind}", way) for kind, way in wishes.mail.items()]
    fields += [("push", kind) for kind in sorted(wishes.push)]
    fields += [(name, f"{getattr(wishes, name):%H:%M}") for name in TIMES]
    fields += [(name, "1") for name in SWITCHES if getattr(wishes, name)]
    return urlencode(fields)


def _choose_language(request: InboxRequest, sent: QueryDict) -> None:
    language = sent.get("language")
    if language is not None and language in ("", *dict(django_settings.LANGUAGES)):
        User.objects.filter(pk=_own(request).pk).update(language=language)


def _saved_words(before: Preferences, after: Preferences) -> str:
    changed = [kind for kind in KINDS if before.mail[kind] != after.mail[kind]]
    if len(changed) != 1:
        return _("Saved.")
    words = {"kind": KIND_WORDS[changed[0]], "way": WAY_WORDS[after.mail[changed[0]]]}
    return _("Saved. %(kind)s: %(way)s.") % words
