"""The page on which people say when they are away and who stands in."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from engine.access.absences import absence_of, people_to_send_away, people_to_stand_in
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.people import absences
from tasks_inbox.decorators import InboxRequest, inbox_page, posted_line, toast
from tasks_inbox.presenters.standing_in import absent_people
from tasks_inbox.presenters.task_actions import MOST_PEOPLE
from workflowplatform.accounts.models import Absence, User

MOST_SHOWN = 50


@require_http_methods(["GET", "POST"])
@inbox_page
def away(request: InboxRequest) -> HttpResponse:
    """Show the absences that the person sees, and take a new one."""
    person = _person(request, request.POST.get("person") or request.GET.get("person"))
    if request.method == "GET":
        return _page(request, person)
    try:
        made = absences.enter_absence(actor=request.actor, person=person.username, **_sent(request))
    except Invalid as refusal:
        return _page(request, person, refusal=refusal, sent=request.POST)
    toast(request, "absence.saved", _("Absence saved."))
    return redirect(f"{reverse('inbox:away')}?saved={made.pk}")


@require_http_methods(["GET", "POST"])
@inbox_page
def change(request: InboxRequest, absence_id: UUID) -> HttpResponse:
    """Change an absence."""
    absence = absence_of(request.actor, absence_id)
    if request.method == "GET":
        return _page(request, absence.person, changed=absence)
    try:
        absences.change_absence(actor=request.actor, absence_id=absence_id, **_sent(request))
    except Invalid as refusal:
        return _page(request, absence.person, changed=absence, refusal=refusal, sent=request.POST)
    toast(request, "absence.saved", _("Absence saved."))
    return redirect(f"{reverse('inbox:away')}?saved={absence_id}")


@require_POST
@inbox_page
def end(request: InboxRequest, absence_id: UUID) -> HttpResponse:
    """End an absence now."""
    absences.end_absence(actor=request.actor, absence_id=absence_id)
    toast(request, "absence.ended", _("The absence has ended."))
    return redirect("inbox:away")


def _person(request: InboxRequest, name: str | None) -> User:
    found = people_to_send_away(request.actor).filter(username=(name or "").replace("\0", "")).first()
    return found or User.objects.get(username=request.actor.name)


def _sent(request: InboxRequest) -> dict[str, Any]:
    return {
        "deputy": posted_line(request, "deputy") or None,
        "starts_at": _day(request, "from"),
        "ends_at": _day(request, "until"),
        "roles": request.POST.getlist("role"),
        "note": posted_line(request, "note")[:500],
        "keeps_open": request.POST.get("open") == "keep",
    }


def _day(request: InboxRequest, name: str) -> date:
    try:
        return date.fromisoformat(request.POST.get(name, ""))
    except ValueError:
        message = _("Choose a day.")
        raise Invalid(message, [FieldError(name, "required", message)]) from None


def _page(
    request: InboxRequest,
    person: User,
    *,
    changed: Absence | None = None,
    refusal: Invalid | None = None,
    sent: Any = None,
) -> HttpResponse:
    rows = list(absences.list_absences(actor=request.actor)[:MOST_SHOWN])
    saved = next((row for row in rows if str(row.pk) == request.GET.get("saved")), None)
    warned = saved or changed
    roles = list(person.roles.order_by("name"))
    context = {
        "place": "away",
        "person": person,
        "people": people_to_send_away(request.actor).order_by("username")[:MOST_PEOPLE],
        "self": person.pk == request.actor.person_id,
        "deputies": _deputies(person, [role.name for role in roles]),
        "roles": roles,
        "typed": _typed(changed, sent),
        "changed": changed,
        "refusal": refusal,
        "errors": refusal.errors if refusal else (),
        "rows": _shown(request, rows),
        "saved": saved,
        "warnings": absences.warn_about(warned) if warned else [],
        "absent": absent_people(request.actor),
    }
    return render(request, "inbox/away.html", context, status=400 if refusal else 200)


@dataclass(frozen=True, slots=True)
class ShownAbsence:
    """An absence in the list: its days, and whether the reader may change it."""

    row: Absence
    days: str
    may_change: bool


def _shown(request: InboxRequest, rows: list[Absence]) -> list[ShownAbsence]:
    people = people_to_send_away(request.actor).filter(pk__in=[row.person_id for row in rows])
    own = set(people.values_list("pk", flat=True))
    return [ShownAbsence(row, absences.days_of(row.starts_at, row.ends_at), row.person_id in own) for row in rows]


def _deputies(person: User, roles: list[str]) -> list[User]:
    people = people_to_stand_in(person, ())
    if roles:
        people = people.filter(memberships__role__name__in=roles).distinct()
    return list(people[:MOST_PEOPLE])


def _typed(changed: Absence | None, sent: Any) -> dict[str, Any]:
    if sent is not None:
        names = ("from", "until", "deputy", "note", "open")
        return {name: sent.get(name, "") for name in names} | {"roles": sent.getlist("role")}
    if changed is None:
        return {"roles": []}
    return {
        "from": timezone.localtime(changed.starts_at).date().isoformat(),
        "until": timezone.localtime(changed.last_moment).date().isoformat(),
        "deputy": changed.deputy.username if changed.deputy else "",
        "note": changed.note,
        "roles": changed.roles,
        "open": "keep" if changed.keeps_open else "",
    }
