"""Decide when a schedule runs, in the wall-clock time of its zone and over every change of the clock.

An expression means wall-clock times. A job at fixed times runs once per local day: of two equal times it takes the first,
and where the clock leaps over its time, the first minute after the gap. A job whose minute or hour field repeats (`*`,
`*/n`, `a/n`, or the whole field as a range) follows real time: it runs whenever the clock shows a matching time. `dst`
lets an author choose otherwise. A day that never was (Samoa left out 30 December 2011) has no run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from engine.kernel.findings import did_you_mean
from engine.kernel.timing.calendars import Calendar
from engine.kernel.timing.cron_fields import MONTHS, CronError, CronFields, read_fields
from engine.kernel.timing.zones import UnknownZone, comes_again, end_of_gap, find_zone, moment_of, wall_of

__all__ = ["CronError", "CronSchedule", "Dst", "Slot"]

FURTHEST = timedelta(days=366 * 30)
"""A calendar may leave no day to a schedule; after so long the search ends."""
NO_TIME = timedelta()
WHOLE_DAY = timedelta(days=1)


class Dst(StrEnum):
    """Choose what the clock's changes do to a job at fixed times."""

    ONCE = "once"
    """Once per local day: first of two, moved out of a gap."""
    SKIP = "skip"
    """At most once: first of two, not at all in a gap."""
    EVERY = "every"
    """Whenever the clock shows the time: twice, or not at all."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One time at which a schedule runs; the reason is empty on a plain day.

    Compare `at`: Python calls a local time that comes twice unequal to the same moment in another zone.
    """

    at: datetime
    local: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """The runs of an expression in a zone, on the business days of a calendar if one is given."""

    expression: str
    zone: str
    dst: Dst
    calendar: Calendar | None
    _fields: CronFields = field(repr=False)
    _zone: ZoneInfo = field(repr=False)

    @classmethod
    def parse(
        cls, expression: str, zone: str = "UTC", dst: str = Dst.ONCE, calendar: Calendar | None = None
    ) -> "CronSchedule":
        """Read the value of `schedule`, or raise CronError with a sentence."""
        if dst not in list(Dst):
            raise CronError("dst_unknown", f"dst is one of {', '.join(Dst)}, not {dst!r}", did_you_mean(dst, Dst))
        try:
            return cls(expression, zone, Dst(dst), calendar, read_fields(expression), find_zone(zone))
        except UnknownZone as error:
            raise CronError("zone_unknown", str(error), error.hint) from error

    def next_after(self, moment: datetime) -> Slot:
        """Return when it runs next, strictly after a moment."""
        follows_real_time = self._fields.repeats or self.dst is Dst.EVERY
        find = self._next_shown if follows_real_time else self._next_of_day
        slot = find(moment.astimezone(UTC))
        if slot is None:
            raise CronError("cron_never", f"{self.expression!r} meets no business day of its calendar")
        return slot

    def next_n(self, moment: datetime, n: int) -> list[Slot]:
        """Preview the next runs."""
        return list(islice(self.slots_after(moment), n))

    def slots_after(self, moment: datetime) -> Iterator[Slot]:
        """Return the runs after a moment, without end."""
        while True:
            slot = self.next_after(moment)
            yield slot
            moment = slot.at

    def slots_between(self, after: datetime, until: datetime) -> Iterator[Slot]:
        """Return the runs after one moment up to and including another: what an outage may have missed."""
        last = until.astimezone(UTC)
        return takewhile(lambda slot: slot.at <= last, self.slots_after(after))

    def runs_at(self, moment: datetime) -> bool:
        """Return whether a moment is one of the runs."""
        at = moment.astimezone(UTC)
        return self.next_after(at - timedelta(microseconds=1)).at == at

    def _next_of_day(self, moment: datetime) -> Slot | None:
        """Find the next run of a job at fixed times: settling keeps the order of wall-clock times."""
        slots = map(self._settle, self._walls_after(wall_of(self._zone, moment)))
        return next((slot for slot in slots if slot is not None and slot.at > moment), None)

    def _next_shown(self, moment: datetime) -> Slot | None:
        """Find when the clock next shows a matching time.

        While the first of two equal hours passes, that may be an earlier wall-clock time, in the second.
        """
        wall = wall_of(self._zone, moment)
        ahead = self._first_shown(wall, moment, (0, 1))
        again = comes_again(self._zone, wall)
        if again <= NO_TIME:
            return ahead
        behind = self._first_shown(wall - again, moment, (1,))
        return min((slot for slot in (ahead, behind) if slot), key=lambda slot: slot.at, default=None)

    def _first_shown(self, start: datetime, moment: datetime, folds: tuple[int, ...]) -> Slot | None:
        walls = (wall for wall in self._walls_after(start) if comes_again(self._zone, wall) >= NO_TIME)
        shown = (moment_of(self._zone, wall, fold) for wall in walls for fold in folds)
        return next((self._slot(at) for at in shown if at > moment), None)

    def _walls_after(self, start: datetime) -> Iterator[datetime]:
        """Return the matching wall-clock times; with a calendar only on its business days, and not for ever."""
        if self.calendar is None:
            return self._fields.walls_after(start)
        last_day = min(start.date(), date.max - FURTHEST) + FURTHEST
        return self._fields.walls_after(start, self.calendar.is_business_day, last_day)

    def _settle(self, wall: datetime) -> Slot | None:
        """Return the one moment of a wall-clock time."""
        again = comes_again(self._zone, wall)
        if again >= NO_TIME:
            return self._slot(moment_of(self._zone, wall))
        if self.dst is Dst.SKIP or -again >= WHOLE_DAY:
            return None
        return self._moved(wall)

    def _moved(self, wall: datetime) -> Slot:
        """Move a time that the clock leaps over to the first that it shows."""
        at = end_of_gap(self._zone, wall)
        local = at.astimezone(self._zone)
        on_day = "" if local.date() == wall.date() else f" on {_day(local)}"
        return Slot(at, local, f"moved to {_time(local)}{on_day}: {_time(wall)} does not exist on {_day(wall)}")

    def _slot(self, at: datetime) -> Slot:
        """Make the slot of a moment at which the clock shows the time asked for."""
        local = at.astimezone(self._zone)
        if not comes_again(self._zone, wall_of(self._zone, at)):
            return Slot(at, local)
        return Slot(at, local, f"{'second' if local.fold else 'first'} of two {_time(local)}")


def _time(local: datetime) -> str:
    return local.strftime("%H:%M:%S" if local.second else "%H:%M")


def _day(local: datetime) -> str:
    return f"{local.day} {MONTHS[local.month - 1].title()} {local.year}"
