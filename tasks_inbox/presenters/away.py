"""What the page of an absence shows before it is entered: warnings with their cure, the days, the deputy, the open tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine.services.people.absence_days import (
    Presence,
    day_back,
    days_away,
    presence_of,
    working_calendar,
)
from engine.services.people.absence_work import Barred, barred_for, deputies_who_help, open_work
from engine.services.people.absences import Notice, days_of, nobody_left, warn_of_deputy
from engine.services.people.staffing import Outlook
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import Absence, User
from workflowplatform.i18n.dates import date_format

MOST_CALENDARS = 3


@dataclass(frozen=True, slots=True)
class ShownDay:
    """A column of a calendar."""

    on: date
    weekday: str
    number: str
    words: str
    begins_week: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A person on a day."""

    day: ShownDay
    is_here: bool


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A person's line of a calendar."""

    person: User
    part: str
    """`person`, `deputy`, or nothing."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """How many are here for a task on a day."""

    day: ShownDay
    here: int
    is_short: bool


@dataclass(frozen=True, slots=True)
class ShownCalendar:
    """A calendar of working days: of one task, or of the absent person and the deputy."""

    title: str
    days: tuple[ShownDay, ...]
    rows: tuple[ShownRow, ...]
    counts: tuple[Count, ...]
    needs: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class ShownDeputy:
    """The deputy as they are while the person is away."""

    person: User
    away: tuple[str, ...]
    """The days on which they are away too."""
    words: tuple[Notice, ...]
    open: int | None
    """How many tasks they have, for a reader who sees them all."""


@dataclass(frozen=True, slots=True)
class AbsencePreview:
    """Everything that follows from an absence."""

    days: str
    deputy: ShownDeputy | None
    left: tuple[Notice, ...]
    cures: tuple[User, ...]
    calendars: tuple[ShownCalendar, ...]
    barred: tuple[Barred, ...]
    due: int


def preview_of(actor: Actor, absence: Absence) -> AbsencePreview:
    """Look ahead: what an absence brings about, entered or not."""
    outlook = Outlook(absence)
    gaps = outlook.gaps
    deputy = absence.deputy
    return AbsencePreview(
        days=_length(actor, absence),
        deputy=_deputy(actor, absence, deputy) if deputy else None,
        left=tuple(nobody_left(gap) for gap in gaps),
        cures=tuple(deputies_who_help(actor=actor, outlook=outlook, gaps=gaps)) if gaps else (),
        calendars=tuple(_calendars(outlook)),
        barred=tuple(barred_for(actor=actor, person=absence.person, deputy=deputy)) if deputy else (),
        due=open_work(actor=actor, person=absence.person, until=absence.ends_at).due,
    )


def _length(actor: Actor, absence: Absence) -> str:
    """Describe how many working days it takes, and when the person is back."""
    calendar = working_calendar(absence.tenant_id)
    count = sum(calendar.is_business_day(day) for day in days_away(absence))
    days = ngettext("%(n)d working day.", "%(n)d working days.", count) % {"n": count}
    own = absence.person_id == actor.person_id
    back = _("You’re back on %(day)s.") if own else _("Back on %(day)s.")
    return f"{days} {back % {'day': date_format(day_back(absence, calendar), 'D j M')}}"


def _deputy(actor: Actor, absence: Absence, deputy: User) -> ShownDeputy:
    words = tuple(warn_of_deputy(absence))
    away = tuple(str(one.facts["days"]) for one in words)
    sees_all = actor.level >= TO_SEE_TENANT
    return ShownDeputy(deputy, away, words, open_work(actor=actor, person=deputy).total if sees_all else None)


def _calendars(outlook: Outlook) -> list[ShownCalendar]:
    calendar = working_calendar(outlook.absence.tenant_id)
    days = [day for day in days_away(outlook.absence) if calendar.is_business_day(day)]
    found = [presence_of(outlook, days, gap) for gap in outlook.gaps[:MOST_CALENDARS]]
    return [_shown(outlook.absence, one) for one in found or [presence_of(outlook, days)] if one.days]


def _shown(absence: Absence, presence: Presence) -> ShownCalendar:
    days = _days(presence.days)
    span = days_of(absence.starts_at, absence.ends_at)
    parts = {absence.person_id: "person", absence.deputy_id: "deputy"}
    rows = [
        ShownRow(row.person, parts.get(row.person.pk, ""), tuple(map(Cell, days, row.here))) for row in presence.people
    ]
    return ShownCalendar(
        title=f"{presence.task.title}, {span}" if presence.task else span,
        days=days,
        rows=tuple(rows),
        counts=tuple(map(Count, days, presence.counts, presence.short)),
        needs=presence.task.needs if presence.task else 0,
        is_cut=presence.is_cut,
    )


def _days(days: Sequence[date]) -> tuple[ShownDay, ...]:
    weeks = [day.isocalendar()[:2] for day in days]
    return tuple(
        ShownDay(
            day,
            date_format(day, "D")[:2],
            str(day.day),
            date_format(day, "l j F"),
            bool(place) and weeks[place] != weeks[place - 1],
        )
        for place, day in enumerate(days)
    )
