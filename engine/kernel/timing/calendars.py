"""Count time the way an office does: in hours that are open and days that are worked.

A calendar has weekly hours (several intervals a day), holidays and half days, each on one date (`2030-12-24`) or every year
(`12-24`), all in the wall-clock time of its zone. What an author writes as an ISO duration means, in this order:

- years, months and weeks pass as on any calendar (`P1W`: the same weekday, a week later);
- `P1D` is one business day: the same time on the next business day, never 24 hours;
- hours, minutes and seconds are working time: `PT8H` is eight open hours, however many days they take.

Moments come in any zone and are turned into UTC before they are compared or subtracted: within one zone Python compares
what the wall shows, and across zones it calls two equal moments unequal in the hour that comes twice.

Time outside the hours counts as the next opening, before counting and after: what arrives on Friday evening arrives on
Monday at nine, and `P1D` later is Tuesday at nine. Working time that is used up at closing time ends there, not the morning
after.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from engine.kernel.findings import did_you_mean
from engine.kernel.signals import Json
from engine.kernel.timing.periods import Period, parse_period
from engine.kernel.timing.zones import UnknownZone, find_zone, first_moment, wall_of

DAY_MINUTES = 24 * 60
HORIZON = timedelta(days=366 * 100)
"""How far a calendar looks ahead before it says that nothing fits."""
NO_TIME = timedelta()

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
KEYS = ("timezone", "hours", "holidays", "half_days")
MOST_DATES = 5000

_DURATION = re.compile(r"P(?P<long>(?:\d+Y)?(?:\d+M)?(?:\d+W)?)(?:(?P<days>\d+)D)?(?:T(?P<work>.+))?", re.ASCII)
_INTERVAL = re.compile(r"(\d\d):([0-5]\d)\s*[-–]\s*(\d\d):([0-5]\d)", re.ASCII)
_DATE = re.compile(r"(\d{4}-)?\d\d-\d\d", re.ASCII)


class CalendarError(ValueError):
    """A calendar or a duration that cannot be kept: one sentence for each place that is wrong."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {sentence}" if path else sentence for path, sentence in problems.items()))
        self.problems = dict(problems)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Some open time of a day, in minutes after midnight; the end is no longer open."""

    start: int
    end: int

    def __str__(self) -> str:
        """Write it the way an author does."""
        return f"{_clock(self.start)}-{_clock(self.end)}"


@dataclass(frozen=True, slots=True)
class Span:
    """Some open time between two moments."""

    start: datetime
    end: datetime


Hours = tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Duration:
    """Hold the three things that a duration means on a business calendar."""

    calendar: Period
    days: int
    work: timedelta


@dataclass(frozen=True, slots=True)
class Calendar:
    """The open hours of an office; Monday is the first of the seven weekly entries."""

    zone: ZoneInfo
    weekly: tuple[Hours, ...]
    holidays: frozenset[str] = frozenset()
    half_days: Mapping[str, Hours] = field(default_factory=dict, hash=False)

    @classmethod
    def from_json(cls, stored: Json) -> "Calendar":
        """Read a calendar as authors write it, or raise CalendarError with all that is wrong, by place."""
        problems: dict[str, str] = {}
        parts = _object("", stored, problems)
        problems.update({key: _unknown(key, KEYS) for key in parts if key not in KEYS})
        calendar = cls(
            zone=_read_zone(parts.get("timezone", "UTC"), problems),
            weekly=_read_week(parts.get("hours"), problems),
            holidays=_read_holidays(parts.get("holidays", []), problems),
            half_days=_read_half_days(parts.get("half_days", {}), problems),
        )
        problems.update(
            {f"half_days.{day}": "is a holiday, too" for day in calendar.holidays & set(calendar.half_days)}
        )
        if problems:
            raise CalendarError(problems)
        return calendar

    def as_json(self) -> dict[str, Json]:
        """Write what `from_json` reads."""
        return {
            "timezone": self.zone.key,
            "hours": {name: _texts(hours) for name, hours in zip(WEEK, self.weekly, strict=True) if hours},
            "holidays": sorted(self.holidays),
            "half_days": {day: _texts(hours) for day, hours in sorted(self.half_days.items())},
        }

    def hours_on(self, day: date) -> Hours:
        """Return the open hours of a date: its own entry first, then the yearly one, then its weekday's."""
        weekly = self.weekly[day.weekday()]
        exact, yearly = day.isoformat(), day.isoformat()[5:]
        if exact in self.half_days:
            return self.half_days[exact]
        if exact in self.holidays or yearly in self.holidays:
            return ()
        return self.half_days.get(yearly, weekly) if weekly else ()

    def is_holiday(self, day: date) -> bool:
        """Return whether a day is closed by its date, not only by its weekday."""
        return not self.holidays.isdisjoint((day.isoformat(), day.isoformat()[5:]))

    def is_business_day(self, day: date) -> bool:
        """Return whether a date is a business day."""
        return bool(self.hours_on(day))

    def is_open(self, moment: datetime) -> bool:
        """Return whether a moment is in open hours; closing time itself is not."""
        return self.next_open(moment) == moment.astimezone(UTC)

    def next_open(self, moment: datetime) -> datetime:
        """Return the moment itself while open, else the next opening."""
        return max(next(self._spans_after(moment)).start, moment.astimezone(UTC))

    def add_business_time(self, moment: datetime, duration: str) -> datetime:
        """Go an ISO duration on, in the meanings that this module's head gives."""
        parts = read_duration(duration)
        reached = self.next_open(self._pass_calendar_time(self.next_open(moment), parts.calendar))
        if parts.days:
            reached = self._same_time(reached, self.add_business_days(wall_of(self.zone, reached).date(), parts.days))
        return self.add_working_time(reached, parts.work)

    def add_working_time(self, moment: datetime, work: timedelta) -> datetime:
        """Go some working time on; none leads to the moment itself while open, else to the next opening."""
        reached = self.next_open(moment)
        return self._work(reached, work) if work else reached

    def add_business_days(self, day: date, days: int) -> date:
        """Return the date some business days after another."""
        following = (other for other in _days_from(day + timedelta(days=1)) if self.is_business_day(other))
        reached = next(islice(following, days - 1, None), None) if days else day
        if reached is None:
            raise _too_far()
        return reached

    def business_time_between(self, start: datetime, end: datetime) -> timedelta:
        """Count the working time between two moments; none if the second is not later."""
        total, start, end = NO_TIME, start.astimezone(UTC), end.astimezone(UTC)
        if end <= start:
            return total
        for span in self._spans_after(start):
            if span.start >= end:
                break
            total += min(span.end, end) - max(span.start, start)
        return total

    def _pass_calendar_time(self, moment: datetime, period: Period) -> datetime:
        """Add months and weeks by the wall clock, so that summer time does not shift the hour."""
        try:
            return first_moment(self.zone, period.after(wall_of(self.zone, moment)))
        except (OverflowError, ValueError) as error:
            raise _too_far() from error

    def _same_time(self, moment: datetime, day: date) -> datetime:
        """Go to the same time of another day, or to the next opening if that is closed then."""
        wall = datetime.combine(day, wall_of(self.zone, moment).time())
        return self.next_open(first_moment(self.zone, wall))

    def _work(self, moment: datetime, work: timedelta) -> datetime:
        """Use up working time, span by span; at closing time it may be used up to the second."""
        for span in self._spans_after(moment):
            start = max(span.start, moment)
            if work <= span.end - start:
                return start + work
            work -= span.end - start
        raise _too_far()

    def _spans_after(self, moment: datetime) -> Iterator[Span]:
        """Return the open spans that end after a moment; finding none is an error, not an empty answer."""
        for day in _days_from(wall_of(self.zone, moment).date()):
            yield from (span for span in self._spans_on(day) if span.end > moment)
        raise _too_far()

    def _spans_on(self, day: date) -> Iterator[Span]:
        """Turn a day's hours into moments; what the clock leaps over is not open."""
        midnight = datetime.combine(day, time.min)
        for interval in self.hours_on(day):
            start, end = (
                first_moment(self.zone, midnight + timedelta(minutes=minute))
                for minute in (interval.start, interval.end)
            )
            if start < end:
                yield Span(start, end)


def read_duration(text: str) -> Duration:
    """Cut an ISO duration into calendar time, business days and working time, or raise CalendarError."""
    try:
        parse_period(text)
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text[:40]!r}: on a calendar, days are whole; write hours (PT4H) for parts of one")
        calendar = parse_period(f"P{match['long']}") if match["long"] else Period(0, NO_TIME)
        work = parse_period(f"PT{match['work']}").rest if match["work"] else NO_TIME
    except ValueError as error:
        raise CalendarError({"": str(error)}) from error
    return Duration(calendar, int(match["days"] or 0), work)


def _too_far() -> CalendarError:
    return CalendarError({"": "this calendar has no such time in the next hundred years"})


def _days_from(day: date) -> Iterator[date]:
    """Return the dates from one up to the furthest that a calendar looks ahead."""
    last = min(day, date.max - HORIZON - timedelta(days=2)) + HORIZON
    return (date.fromordinal(number) for number in range(day.toordinal(), last.toordinal()))


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _texts(hours: Hours) -> list[str]:
    return [str(interval) for interval in hours]


def _unknown(key: str, known: tuple[str, ...]) -> str:
    return f"is not one of {', '.join(known)}; {did_you_mean(key, known)}".rstrip("; ")


def _object(path: str, stored: Json, problems: dict[str, str]) -> dict[str, Json]:
    if isinstance(stored, dict) and all(isinstance(key, str) for key in stored):
        return stored
    problems[path] = "is no object"
    return {}


def _read_zone(stored: Json, problems: dict[str, str]) -> ZoneInfo:
    try:
        return find_zone(stored if isinstance(stored, str) else repr(stored))
    except UnknownZone as error:
        problems["timezone"] = f"{error} {error.hint}".strip()
        return ZoneInfo("UTC")


def _read_week(stored: Json, problems: dict[str, str]) -> tuple[Hours, ...]:
    """Read `{mon-fri: [09:00-12:00, 13:00-17:00], sat: 10:00-14:00}`; a day that is not named is closed."""
    week: dict[str, Hours] = {}
    for days, hours in _object("hours", stored, problems).items():
        names = _weekdays(days)
        read = _read_hours(f"hours.{days}", hours, problems)
        if not names:
            problems[f"hours.{days}"] = _unknown(days, WEEK)
        if named_twice := [name for name in names if name in week]:
            problems[f"hours.{days}"] = f"names {', '.join(named_twice)} again"
        week.update(dict.fromkeys(names, read))
    if not any(week.values()) and not problems:
        problems["hours"] = "has no open hour"
    return tuple(week.get(name, ()) for name in WEEK)


def _weekdays(text: str) -> tuple[str, ...]:
    """Read `mon` or `mon-fri`; nothing for anything else."""
    first, _, last = text.partition("-")
    if first not in WEEK or (last or first) not in WEEK:
        return ()
    return WEEK[WEEK.index(first) : WEEK.index(last or first) + 1]


def _read_hours(path: str, stored: Json, problems: dict[str, str]) -> Hours:
    """Read one interval or a list of them, in order and apart from each other."""
    texts = stored if isinstance(stored, list) else [stored]
    intervals = [_read_interval(text) for text in texts[:DAY_MINUTES]]
    if None in intervals:
        problems[path] = "is not a list of intervals such as 09:00-17:00 (up to 24:00; past midnight, write two days)"
    hours = sorted(interval for interval in intervals if interval is not None)
    if any(one.end > other.start for one, other in pairwise(hours)):
        problems[path] = "has intervals that overlap"
    return tuple(hours)


def _read_interval(text: Json) -> Interval | None:
    match = _INTERVAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    interval = Interval(int(match[1]) * 60 + int(match[2]), int(match[3]) * 60 + int(match[4]))
    return interval if interval.start < interval.end <= DAY_MINUTES else None


def _read_holidays(stored: Json, problems: dict[str, str]) -> frozenset[str]:
    """Read a list of dates, or an object that gives each its name."""
    if not isinstance(stored, list | dict):
        problems["holidays"] = "is neither a list of dates nor an object of their names"
        return frozenset()
    return frozenset(day for day in stored if _is_date("holidays", day, len(stored), problems))


def _read_half_days(stored: Json, problems: dict[str, str]) -> dict[str, Hours]:
    days = _object("half_days", stored, problems)
    return {
        day: _read_hours(f"half_days.{day}", hours, problems)
        for day, hours in days.items()
        if _is_date("half_days", day, len(days), problems)
    }


def _is_date(path: str, text: Json, count: int, problems: dict[str, str]) -> bool:
    """Return whether a text is a date or a day of every year, 29 February included."""
    if count > MOST_DATES:
        problems[path] = f"has more than {MOST_DATES} dates"
        return False
    try:
        if isinstance(text, str) and _DATE.fullmatch(text):
            date.fromisoformat(text if len(text) == 10 else f"2000-{text}")
            return True
    except ValueError:
        pass
    problems[f"{path}.{text}"] = "is not a date (2030-12-24, or 12-24 for every year)"
    return False
