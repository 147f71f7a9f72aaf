"""Enter when a person is away and who stands in; change it, end it.

The deputy may do what is the person's from the first moment to the last: engine.access.deputies decides that, at each act.
Nothing is written to tasks, so that nothing needs to be undone when the person is back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, NoReturn
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from engine.access.absences import absence_of, people_to_send_away, people_to_stand_in, visible_absences
from engine.access.task_rules import either
from engine.audit.chain import Act, database_now, record
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError
from engine.kernel.program import Definition
from engine.services.notifications.announcements import Announcement, announce
from engine.services.people.staffing import Gap, Outlook, gaps_of_definition
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, Role, User
from workflowplatform.i18n.dates import date_format

MOST_NAMED = 5
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An absence as it was asked for."""

    person: User
    deputy: User | None
    starts_at: datetime
    ends_at: datetime
    roles: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    note: str = ""
    keeps_open: bool = False


def list_absences(*, actor: Actor) -> QuerySet[Absence]:
    """Return the absences that the actor sees, the next first."""
    return visible_absences(actor).order_by("starts_at", "id")


@in_one_transaction
def enter_absence(*, actor: Actor, person: str, deputy: str | None, **words: Any) -> Absence:
    """Enter the absence of a person from one moment to another, and their deputy."""
    _take_turn(actor)
    absence = intended_absence(actor=actor, person=person, deputy=deputy, **words)
    absence.save(force_insert=True)
    record(absence.person, Act("enter_absence", new=facts_of(absence)), actor=actor)
    _announce(actor, absence, "deputy_named")
    return absence


def intended_absence(*, actor: Actor, person: str, deputy: str | None, **words: Any) -> Absence:
    """Return an absence as it would be entered, or refuse it; nothing is written."""
    wanted = _wanted(actor, person, deputy, words)
    _check(actor, wanted, database_now())
    absence = Absence(tenant_id=actor.tenant_id, entered_by=actor.name)
    _fill(absence, wanted)
    return absence


@in_one_transaction
def change_absence(*, actor: Actor, absence_id: UUID, **words: Any) -> Absence:
    """Change what is given of an absence that is not over."""
    _take_turn(actor)
    absence = absence_to_change(actor, absence_id)
    old, before = facts_of(absence), absence.deputy_id
    changed_absence(actor=actor, absence=absence, **words).save()
    record(absence.person, Act("change_absence", old=old, new=facts_of(absence)), actor=actor)
    if absence.deputy_id != before:
        _announce(actor, absence, "deputy_named")
    return absence


@in_one_transaction
def end_absence(*, actor: Actor, absence_id: UUID) -> None:
    """End an absence now, or take back one that has not begun."""
    _take_turn(actor)
    absence = absence_to_change(actor, absence_id)
    record(absence.person, Act("end_absence", old=facts_of(absence)), actor=actor)
    _announce(actor, absence, "deputy_ended")
    now = database_now()
    if absence.starts_at >= now:
        absence.delete()
    else:
        Absence.objects.filter(pk=absence.pk).update(ends_at=now)


def changed_absence(*, actor: Actor, absence: Absence, **words: Any) -> Absence:
    """Return an absence as it would be after a change, or refuse the change; nothing is written."""
    given = {name: getattr(absence, name) for name in CHANGEABLE} | words
    deputy = given.pop("deputy", absence.deputy and absence.deputy.username)
    wanted = _wanted(actor, absence.person.username, deputy, given)
    _check(actor, wanted, database_now(), but=absence)
    _fill(absence, wanted)
    return absence


CHANGEABLE = ("starts_at", "ends_at", "roles", "templates", "note", "keeps_open")


def absence_to_change(actor: Actor, absence_id: UUID) -> Absence:
    """Return an absence that the actor may change, else raise what forbids it."""
    absence = absence_of(actor, absence_id)
    if not people_to_send_away(actor).filter(pk=absence.person_id).exists():
        raise Refused(_("Only the person, their lead or an admin can change this absence."), code="refused")
    return absence


def facts_of(absence: Absence) -> dict[str, Any]:
    """Describe an absence for the audit."""
    return {
        "person": absence.person.username,
        "deputy": absence.deputy.username if absence.deputy else None,
        "from": absence.starts_at.isoformat(),
        "until": absence.ends_at.isoformat(),
        "roles": absence.roles,
        "templates": absence.templates,
    }


def _take_turn(actor: Actor) -> None:
    """Make absences of a tenant wait for each other: two at once could close a circle."""
    take_locks(lock_name("absences", actor.tenant_id))


def _wanted(actor: Actor, person: str, deputy: str | None, words: dict[str, Any]) -> Wanted:
    away = people_to_send_away(actor).filter(username=person.replace("\0", "")).first()
    if away is None:
        _refuse("person", "unknown", _("There is nobody of this name here whose absence you can enter."))
    stands_in = None
    if deputy is not None:
        stands_in = people_to_stand_in(away, ()).filter(username=deputy.replace("\0", "")).first()
        if deputy == away.username:
            _refuse("deputy", "self", _("Nobody stands in for themselves. Choose someone else."))
        if stands_in is None:
            _refuse("deputy", "unknown", _("There is nobody of this name here."))
    first, last = _moment(away, words.pop("starts_at"), 0), _moment(away, words.pop("ends_at"), 1)
    return Wanted(away, stands_in, first, last, **words)


def _moment(person: User, given: date | datetime, days: int) -> datetime:
    """Read a day as the person has it: an absence begins with its first day and ends after its last."""
    if isinstance(given, datetime):
        return given
    return datetime.combine(given + timedelta(days=days), time(), ZoneInfo(person.time_zone))


def _fill(absence: Absence, wanted: Wanted) -> None:
    absence.person, absence.deputy = wanted.person, wanted.deputy
    for name in CHANGEABLE:
        setattr(absence, name, getattr(wanted, name))


# What is refused


def _check(actor: Actor, wanted: Wanted, now: datetime, *, but: Absence | None = None) -> None:
    _refuse_times(wanted, now)
    _refuse_unknown(wanted)
    _refuse_overlap(actor, wanted, but, now)
    if wanted.deputy is not None:
        _refuse_without_role(wanted, wanted.deputy)
        _refuse_circle(actor, wanted, wanted.deputy, but, now)


def _refuse_times(wanted: Wanted, now: datetime) -> None:
    if wanted.ends_at <= wanted.starts_at:
        _refuse("until", "order", _("The last day is before the first. Choose a later one."))
    if wanted.ends_at <= now:
        _refuse("until", "past", _("This absence is over already. Enter days to come."))


def _refuse_unknown(wanted: Wanted) -> None:
    held = set(wanted.person.roles.values_list("name", flat=True))
    for name in wanted.roles:
        if name not in held:
            words = {"person": wanted.person.display_name, "role": name}
            _refuse("roles", "unknown", _("%(person)s doesn't have the role %(role)s.") % words)


def _refuse_overlap(actor: Actor, wanted: Wanted, but: Absence | None, now: datetime) -> None:
    """Refuse a time in which the person is away already; one that is over, as after an early return, does not count."""
    since = max(wanted.starts_at, now)
    others = Absence.objects.filter(person=wanted.person, starts_at__lt=wanted.ends_at, ends_at__gt=since)
    others = others.exclude(pk=but.pk) if but else others
    clash = next((one for one in others.order_by("starts_at") if not _is_share(one, wanted)), None)
    if clash is None:
        return
    words = {"days": days_of(clash.starts_at, clash.ends_at), "person": wanted.person.display_name}
    if wanted.person.pk == actor.person_id:
        _refuse("from", "overlap", _("You're already away %(days)s. Change that one?") % words)
    _refuse("from", "overlap", _("%(person)s is already away %(days)s. Change that one?") % words)


def _is_share(other: Absence, wanted: Wanted) -> bool:
    """Return whether both are shares of one absence: the same time, and a deputy each for other roles."""
    same = (other.starts_at, other.ends_at) == (wanted.starts_at, wanted.ends_at)
    return same and bool(other.roles and wanted.roles) and set(other.roles).isdisjoint(wanted.roles)


def _refuse_without_role(wanted: Wanted, deputy: User) -> None:
    needed = wanted.roles or list(wanted.person.roles.values_list("name", flat=True))
    held = set(deputy.roles.values_list("name", flat=True))
    missing = [name for name in needed if name not in held]
    if not missing:
        return
    others = [one.display_name for one in people_to_stand_in(wanted.person, needed)[:MOST_NAMED]]
    words = {
        "deputy": deputy.display_name,
        "role": str(Role.objects.get(tenant_id=deputy.tenant_id, name=missing[0])),
        "others": either(others) if others else "",
    }
    if others:
        _refuse("deputy", "role", _("%(deputy)s isn't in %(role)s. Choose %(others)s.") % words)
    _refuse("deputy", "role", _("%(deputy)s isn't in %(role)s. Choose other roles, or ask an admin.") % words)


def _refuse_circle(actor: Actor, wanted: Wanted, deputy: User, but: Absence | None, now: datetime) -> None:
    """Refuse a deputy whose own work would come back to the absent person, over however many people."""
    since = max(wanted.starts_at, now)
    rows = Absence.objects.filter(
        tenant_id=actor.tenant_id, starts_at__lt=wanted.ends_at, ends_at__gt=since, deputy__isnull=False
    )
    rows = rows.exclude(pk=but.pk) if but else rows
    deputies: dict[UUID, set[UUID]] = {}
    for person_id, deputy_id in rows.values_list("person_id", "deputy_id"):
        deputies.setdefault(person_id, set()).add(deputy_id)
    if wanted.person.pk not in _reached(deputies, deputy.pk):
        return
    words = {"deputy": deputy.display_name, "person": wanted.person.display_name}
    if wanted.person.pk == actor.person_id:
        _refuse("deputy", "circle", _("%(deputy)s's deputy is you. Choose someone else.") % words)
    _refuse("deputy", "circle", _("%(deputy)s's deputy is %(person)s. Choose someone else.") % words)


def _reached(deputies: dict[UUID, set[UUID]], first: UUID) -> set[UUID]:
    seen, waiting = {first}, [first]
    while waiting:
        found = deputies.get(waiting.pop(), set()) - seen
        seen |= found
        waiting += found
    return seen


def _refuse(name: str, code: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(name, code, message)], code=code)


# What is worth knowing


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that an absence brings about and that does not forbid it."""

    code: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)


def away_of(people: Iterable[UUID], starts_at: datetime, ends_at: datetime) -> dict[UUID, list[Absence]]:
    """Return who of these is away in a time, and when."""
    rows = Absence.objects.filter(person_id__in=list(people), starts_at__lt=ends_at, ends_at__gt=starts_at)
    found: dict[UUID, list[Absence]] = {}
    for row in rows.select_related("deputy").order_by("starts_at"):
        found.setdefault(row.person_id, []).append(row)
    return found


def warn_about(absence: Absence) -> list[Notice]:
    """Return what the absence brings about: a deputy who is away too, and tasks for which nobody is left."""
    return [*warn_of_deputy(absence), *(nobody_left(gap) for gap in Outlook(absence).gaps)]


def warn_of_deputy(absence: Absence) -> list[Notice]:
    """Return when the deputy of an absence is away too."""
    if absence.deputy is None:
        return []
    away = away_of([absence.deputy.pk], absence.starts_at, absence.ends_at).get(absence.deputy.pk, [])
    return [_deputy_away(absence.deputy, one) for one in away]


def warn_about_definition(tenant_id: UUID, definition: Definition, name: str, title: str) -> list[Notice]:
    """Return the tasks of a workflow for which nobody is left while people are away."""
    return [nobody_left(gap) for gap in gaps_of_definition(tenant_id, definition, name, title, database_now())]


def nobody_left(gap: Gap) -> Notice:
    """Describe a task for which too few people are left."""
    words = {
        "task": gap.task.title,
        "people": either(list(gap.people)),
        "days": days_of(gap.starts_at, gap.ends_at),
        "here": ", ".join(gap.here),
        "needs": gap.needs,
    }
    if not gap.here:
        message = _("“%(task)s” needs %(people)s. %(days)s nobody of them is here.") % words
    elif gap.needs > 1:
        message = _("“%(task)s” needs %(needs)s of %(people)s. %(days)s only %(here)s is here.") % words
    else:
        message = _("“%(task)s” needs someone who took no part before. %(days)s only %(here)s is here.") % words
    facts = {"template": gap.task.template, "step": gap.task.step, "from": gap.starts_at, "until": gap.ends_at}
    return Notice(
        "nobody_left", message, facts | {"people": list(gap.people), "here": list(gap.here), "needs": gap.needs}
    )


def _deputy_away(deputy: User, away: Absence) -> Notice:
    words = {"deputy": deputy.display_name, "days": days_of(away.starts_at, away.ends_at)}
    facts = {"from": away.starts_at, "until": away.ends_at, "days": words["days"]}
    if away.deputy is None:
        message = _("%(deputy)s is away %(days)s. Choose another deputy for these days.") % words
        return Notice("deputy_away", message, facts)
    words["next"] = away.deputy.display_name
    return Notice("deputy_away", _("%(deputy)s is away %(days)s. Then %(next)s stands in.") % words, facts)


def days_of(starts_at: datetime, ends_at: datetime) -> str:
    """Write a time as people say it: `10–12 Dec`."""
    first, last = timezone.localtime(starts_at), timezone.localtime(ends_at)
    last = last if last - first < MINUTE else last - MINUTE
    if first.date() == last.date():
        return date_format(first, "j M")
    same = (first.year, first.month) == (last.year, last.month)
    return f"{date_format(first, 'j' if same else 'j M')}–{date_format(last, 'j M')}"


def _announce(actor: Actor, absence: Absence, kind: str) -> None:
    if absence.deputy is not None:
        told = {"person": absence.person.username, "from": absence.starts_at, "until": absence.ends_at}
        announce(Announcement(kind, absence.deputy.pk, actor, facts=told))


def absences_now(people: Sequence[UUID], moment: datetime) -> dict[UUID, Absence]:
    """Return the absence of everybody among these who is away at a moment."""
    rows = Absence.objects.filter(person_id__in=people, starts_at__lte=moment, ends_at__gt=moment)
    return {row.person_id: row for row in rows.select_related("deputy").order_by("-ends_at")}


def standing_in(actor: Actor) -> QuerySet[Absence]:
    """Return the absences in which the actor stands in now, for the lines above the lists."""
    now = timezone.now()
    rows = Absence.objects.filter(Q(deputy_id=actor.person_id), starts_at__lte=now, ends_at__gt=now)
    return rows.select_related("person").order_by("ends_at")
