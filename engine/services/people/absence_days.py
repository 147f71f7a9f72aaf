"""The days of an absence: which of them are working days, and who is here for a task on each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from engine.kernel.timing.calendars import Calendar, CalendarError
from engine.models import BusinessCalendar
from engine.services.people.staffing import Asked, Gap, Outlook
from workflowplatform.accounts.models import Absence, User

DAY = timedelta(days=1)
MOST_DAYS = 60
MOST_PEOPLE = 8
USUAL_WEEK = {"timezone": "UTC", "hours": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}}


@dataclass(frozen=True, slots=True)
class PersonDays:
    """A person, and on which of the days they are here."""

    person: User
    here: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """The people who are here on each working day of an absence; for a task also how many can do it, and if that is too few."""

    days: tuple[date, ...]
    people: tuple[PersonDays, ...]
    task: Asked | None = None
    counts: tuple[int, ...] = ()
    short: tuple[bool, ...] = ()
    is_cut: bool = False
    """Whether the absence has more days, or the task more people, than are listed."""


def working_calendar(tenant_id: UUID) -> Calendar:
    """Return the tenant's calendar where it has exactly one, else Monday to Friday."""
    contents = BusinessCalendar.objects.filter(tenant_id=tenant_id).values_list("content", flat=True)[:2]
    return Calendar.from_json(contents[0] if len(contents) == 1 else USUAL_WEEK)


def zone_of(absence: Absence) -> ZoneInfo:
    """Return the zone in which an absence has its days: the person's."""
    return ZoneInfo(absence.person.time_zone)


def days_away(absence: Absence) -> Iterator[date]:
    """Yield the days of an absence as the person has them."""
    day = absence.starts_at.astimezone(zone_of(absence)).date()
    last = absence.last_moment.astimezone(zone_of(absence)).date()
    while day <= last:
        yield day
        day += DAY


def day_back(absence: Absence, calendar: Calendar) -> date:
    """Return the first working day after an absence."""
    last = absence.last_moment.astimezone(zone_of(absence)).date()
    try:
        return calendar.add_business_days(last, 1)
    except CalendarError:  # a calendar without any working day
        return last + DAY


def presence_of(outlook: Outlook, days: Sequence[date], gap: Gap | None = None) -> Presence:
    """Return who is here: for a task everybody who may do it, else the absent person and the deputy."""
    absence, task = outlook.absence, gap.task if gap else None
    spans = [(_start(day, absence), _start(day + DAY, absence)) for day in days[:MOST_DAYS]]
    people = _people(outlook, task)
    rows = [
        PersonDays(person, tuple(not _is_away(outlook, person, *span) for span in spans))
        for person in people[:MOST_PEOPLE]
    ]
    looked = [_look(outlook, task, *span) for span in spans] if task else []
    return Presence(
        days=tuple(days[:MOST_DAYS]),
        people=tuple(rows),
        task=task,
        counts=tuple(count for count, _ in looked),
        short=tuple(short for _, short in looked),
        is_cut=len(days) > MOST_DAYS or len(people) > MOST_PEOPLE,
    )


def _start(day: date, absence: Absence) -> datetime:
    return datetime.combine(day, time(), zone_of(absence))


def _people(outlook: Outlook, task: Asked | None) -> list[User]:
    """Put the absent person first, then the deputy, then who is away at some time, then the others."""
    absence, known = outlook.absence, outlook.staff.people
    first = [absence.person] + ([absence.deputy] if absence.deputy else [])
    leading = {person.pk for person in first}
    pool = outlook.staff.pool(task) - leading if task else set()
    away = {one.person_id for one in outlook.staff.absences}
    return first + sorted((known[key] for key in pool), key=lambda one: (one.pk not in away, one.display_name))


def _is_away(outlook: Outlook, person: User, start: datetime, end: datetime) -> bool:
    return any(
        one.person_id == person.pk and one.starts_at < end and one.ends_at > start for one in outlook.staff.absences
    )


def _look(outlook: Outlook, task: Asked, start: datetime, end: datetime) -> tuple[int, bool]:
    """Return how many can do a task at the worst moment of a day, and whether that is too few."""
    changes = (at for one in outlook.staff.absences for at in (one.starts_at, one.ends_at))
    absence = outlook.absence
    moments = [max(start, absence.starts_at), *(at for at in changes if start < at < min(end, absence.ends_at))]
    counts = [len(outlook.staff.here(task, at)) for at in moments]
    return min(counts), any(outlook.too_few(task, at) for at in moments)
