"""The page on which people say when they are away and who stands in."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from engine.access.absences import absence_of, people_to_send_away, people_to_stand_in
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.people import absences
from engine.services.people.absence_work import assign_open_tasks, open_work, templates_of
from engine.services.tasks.colleagues import MOST_PEOPLE
from tasks_inbox.decorators import LONGEST_LINE, InboxRequest, inbox_page, toast
from tasks_inbox.presenters.away import preview_of
from tasks_inbox.presenters.standing_in import absent_people
from workflowplatform.accounts.models import Absence, Role, User

MOST_SHOWN = 50
ONLY = {"roles": ("covers", "role"), "templates": ("requests", "template")}
"""What a deputy may stand in for, by the field that says whether all or only some, and the field of those."""
ABOUT_DEPUTY = {"deputy", *ONLY}


@require_http_methods(["GET", "POST"])
@inbox_page
def away(request: InboxRequest) -> HttpResponse:
    """Show the absences that the person sees, and take a new one."""
    person = _person(request, request.POST.get("person") or request.GET.get("person"))
    if request.method == "GET":
        return _page(request, person)
    if _is_check(request):
        return _checked(request, person)
    try:
        given = _given(request.POST)
        made = absences.enter_absence(actor=request.actor, person=person.username, **given)
    except Invalid as refusal:
        return _page(request, person, refusal=refusal, sent=request.POST)
    return _saved(request, made)


@require_http_methods(["GET", "POST"])
@inbox_page
def change(request: InboxRequest, absence_id: UUID) -> HttpResponse:
    """Change an absence."""
    absence = absence_of(request.actor, absence_id)
    if request.method == "GET":
        return _page(request, absence.person, changed=absence, looked_at=absence)
    if _is_check(request):
        return _checked(request, absence.person, absence)
    try:
        given = _given(request.POST)
        absence = absences.change_absence(actor=request.actor, absence_id=absence_id, **given)
    except Invalid as refusal:
        return _page(request, absence.person, changed=absence, refusal=refusal, sent=request.POST)
    return _saved(request, absence)


@require_POST
@inbox_page
def end(request: InboxRequest, absence_id: UUID) -> HttpResponse:
    """End an absence now."""
    absences.end_absence(actor=request.actor, absence_id=absence_id)
    toast(request, "absence.ended", _("The absence has ended."))
    return redirect("inbox:away")


def _is_check(request: InboxRequest) -> bool:
    """Return whether the form only asks what would follow, with another deputy perhaps."""
    return "check" in request.POST or "instead" in request.POST


def _checked(request: InboxRequest, person: User, changed: Absence | None = None) -> HttpResponse:
    """Show what the absence would bring about; nothing is written. Days that are not complete yet are no mistake."""
    sent = request.POST.copy()
    if sent.get("instead"):
        sent["deputy"] = str(sent["instead"])
    held = set(person.roles.values_list("name", flat=True))
    sent.setlist("role", [name for name in sent.getlist("role") if name in held])
    refusal = absence = None
    if sent.get("from") and sent.get("until"):
        absence, refusal = _looked_at(request, person, changed, sent)
    return _page(request, person, changed=changed, refusal=refusal, sent=sent, looked_at=absence, status=200)


def _looked_at(
    request: InboxRequest, person: User, changed: Absence | None, sent: QueryDict
) -> tuple[Absence | None, Invalid | None]:
    """Return the absence as it is meant, and what is wrong about it; its days count where only the deputy is wrong."""
    try:
        return _meant(request, person, changed, _given(sent)), None
    except Invalid as refusal:
        if not {error.path for error in refusal.errors} <= ABOUT_DEPUTY:
            return None, refusal
        days = {"starts_at": _day(sent, "from"), "ends_at": _day(sent, "until")}
        alone: dict[str, Any] = {"deputy": None, "roles": [], "templates": [], "note": "", "keeps_open": False}
        try:
            return _meant(request, person, changed, days | alone), refusal
        except Invalid as wrong:
            return None, wrong


def _meant(request: InboxRequest, person: User, changed: Absence | None, given: dict[str, Any]) -> Absence:
    if changed is None:
        return absences.intended_absence(actor=request.actor, person=person.username, **given)
    return absences.changed_absence(actor=request.actor, absence=copy(changed), **given)


def _saved(request: InboxRequest, absence: Absence) -> HttpResponse:
    words = _("Absence saved.")
    if request.POST.get("open") == "assign" and absence.deputy is not None:
        words = f"{words} {_assigned(request, absence, absence.deputy)}"
    toast(request, "absence.saved", words)
    return redirect(f"{reverse('inbox:away')}?saved={absence.pk}")


def _assigned(request: InboxRequest, absence: Absence, deputy: User) -> str:
    """Assign the open tasks for good, and say how many went and how many stay."""
    rows = assign_open_tasks(actor=request.actor, person=absence.person, deputy=deputy, note=absence.note)
    went = sum(row.ok for row in rows)
    name = {"name": deputy.display_name}
    said = ngettext("%(n)d task assigned to %(name)s.", "%(n)d tasks assigned to %(name)s.", went) % {"n": went, **name}
    stay = len(rows) - went
    if not stay:
        return said
    return f"{said} " + ngettext("%(n)d task stays.", "%(n)d tasks stay.", stay) % {"n": stay}


def _person(request: InboxRequest, name: str | None) -> User:
    found = people_to_send_away(request.actor).filter(username=(name or "").replace("\0", "")).first()
    return found or User.objects.get(username=request.actor.name)


# What was sent


def _given(sent: QueryDict) -> dict[str, Any]:
    deputy = _line(sent, "deputy") or None
    if deputy is None and sent.get("open") == "assign":
        raise _wrong("deputy", _("Choose who gets the tasks."))
    return {
        "deputy": deputy,
        "starts_at": _day(sent, "from"),
        "ends_at": _day(sent, "until"),
        "roles": _only(sent, "roles", _("Choose at least one role, or everything.")),
        "templates": _only(sent, "templates", _("Choose at least one kind of request, or everything.")),
        "note": _line(sent, "note")[:500],
        "keeps_open": sent.get("open") == "keep",
    }


def _line(sent: QueryDict, name: str) -> str:
    return sent.get(name, "").replace("\0", "").strip()[:LONGEST_LINE]


def _day(sent: QueryDict, name: str) -> date:
    try:
        return date.fromisoformat(sent.get(name, ""))
    except ValueError:
        raise _wrong(name, _("Choose a day.")) from None


def _only(sent: QueryDict, name: str, message: str) -> list[str]:
    """Read what the deputy stands in for: an empty list means everything, which has to be said."""
    how, field = ONLY[name]
    chosen = [one.replace("\0", "") for one in sent.getlist(field)]
    if sent.get(how) == "all":
        return []
    if not chosen and sent.get(how) == "some":
        raise _wrong(name, message, "required")
    return chosen


def _wrong(field: str, message: str, code: str = "required") -> Invalid:
    return Invalid(message, [FieldError(field, code, message)])


# The page


def _page(
    request: InboxRequest,
    person: User,
    *,
    changed: Absence | None = None,
    refusal: Invalid | None = None,
    sent: Mapping[str, Any] | None = None,
    looked_at: Absence | None = None,
    status: int | None = None,
) -> HttpResponse:
    rows = list(absences.list_absences(actor=request.actor)[:MOST_SHOWN])
    saved = next((row for row in rows if str(row.pk) == request.GET.get("saved")), None)
    looked_at = looked_at or saved
    roles = list(person.roles.order_by("name"))
    work = open_work(actor=request.actor, person=person)
    context = {
        "place": "away",
        "person": person,
        "people": people_to_send_away(request.actor).order_by("username")[:MOST_PEOPLE],
        "self": person.pk == request.actor.person_id,
        "deputies": _deputies(person, [role.name for role in roles]),
        "roles": [(role, work.roles[role.name]) for role in roles],
        "has_confidential": any(role.confidential for role in roles),
        "templates": [
            (name, title, work.templates[name])
            for name, title in templates_of(actor=request.actor, person=person).items()
        ],
        "work": work,
        "typed": _typed(request, roles, changed, sent),
        "changed": changed,
        "errors": {error.path: error for error in refusal.errors} if refusal else {},
        "refused": refusal is not None and status is None,
        "clash": _clash(rows, person, refusal, sent),
        "rows": _shown(request, rows),
        "saved": saved,
        "preview": preview_of(request.actor, looked_at) if looked_at else None,
        "absent": absent_people(request.actor),
    }
    return render(request, "inbox/away.html", context, status=status or (400 if refusal else 200))


def _clash(
    rows: Sequence[Absence], person: User, refusal: Invalid | None, sent: Mapping[str, Any] | None
) -> Absence | None:
    """Return the absence of the same person in which new days fall, so that it can be changed instead."""
    if refusal is None or refusal.code != "overlap" or sent is None:
        return None
    first, last = (date.fromisoformat(sent[name]) for name in ("from", "until"))
    own = (row for row in rows if row.person_id == person.pk)
    spans = ((row, timezone.localtime(row.starts_at).date(), timezone.localtime(row.last_moment).date()) for row in own)
    return next((row for row, starts, ends in spans if starts <= last and ends >= first), None)


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


def _typed(
    request: InboxRequest, roles: Sequence[Role], changed: Absence | None, sent: Mapping[str, Any] | None
) -> dict[str, Any]:
    if sent is not None:
        assert isinstance(sent, QueryDict)
        names = ("from", "until", "deputy", "note", "open", "covers", "requests")
        chosen = {"roles": sent.getlist("role"), "templates": sent.getlist("template")}
        return {name: sent.get(name, "") for name in names} | chosen
    if changed is None:
        return _begun(request, roles)
    return {
        "from": timezone.localtime(changed.starts_at).date().isoformat(),
        "until": timezone.localtime(changed.last_moment).date().isoformat(),
        "deputy": changed.deputy.username if changed.deputy else "",
        "note": changed.note,
        "roles": changed.roles,
        "templates": changed.templates,
        "covers": "some" if changed.roles else "all",
        "requests": "some" if changed.templates else "all",
        "open": "keep" if changed.keeps_open else "",
    }


def _begun(request: InboxRequest, roles: Sequence[Role]) -> dict[str, Any]:
    """Start with everything; where a role is confidential, with the other roles."""
    confidential = any(role.confidential for role in roles)
    return {
        "from": request.GET.get("from", ""),
        "until": request.GET.get("until", ""),
        "covers": "some" if confidential else "all",
        "requests": "all",
        "roles": [role.name for role in roles if not role.confidential],
        "templates": [],
    }
