"""Read a cron expression: which days it means, and which times of day.

croniter expands the fields. What it lets through and an author cannot have meant is refused here first, with a sentence:
reversed ranges, `5-5` (which it reads as "all"), characters that mean a random value, a year. It is never asked for the next
time: it neither joins `13` with `fri#2` nor keeps to one run in the autumn night.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from itertools import product
from typing import Literal

from croniter import CroniterError, croniter

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
LONGEST_EXPRESSION = 500
DayTest = Callable[[date], bool]
Nth = int | Literal["l"]


class CronError(ValueError):
    """A schedule that cannot be kept: a stable code, a sentence for the author, sometimes a hint."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Place:
    """Describe one field of an expression: its name, its bounds, the words it knows."""

    name: str
    low: int
    high: int
    words: Mapping[str, int]

    def number(self, text: str) -> int:
        """Read one value, or refuse it."""
        if text in self.words:
            return self.words[text]
        if not text.isdigit():
            raise CronError("cron_value", f"{text!r} is not a valid {self.name}")
        if not self.low <= int(text) <= self._highest:
            raise CronError("cron_value", f"{self.name} {text} is outside {self.low}–{self._highest}")
        return int(text)

    @property
    def _highest(self) -> int:
        """Return the highest value; a week may also end on Sunday: 7 is 0."""
        return 7 if self.name == "weekday" else self.high


SECOND = Place("second", 0, 59, {})
MINUTE = Place("minute", 0, 59, {})
HOUR = Place("hour", 0, 23, {})
DAY = Place("day", 1, 31, {})
MONTH = Place("month", 1, 12, {word: number for number, word in enumerate(MONTHS, 1)})
WEEKDAY = Place("weekday", 0, 6, {word: number for number, word in enumerate(WEEKDAYS)})
PLACES = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)

_RANGE = re.compile(r"(?P<low>[a-z]+|\d{1,2})(?:-(?P<high>[a-z]+|\d{1,2}))?(?:/(?P<step>\d{1,4}))?", re.ASCII)
_EVERY = re.compile(r"\*(?:/(?P<step>\d{1,4}))?", re.ASCII)
_NTH = re.compile(r"(?P<weekday>[a-z]{3}|\d)#(?P<nth>\d)", re.ASCII)
_LAST = re.compile(r"(?P<before>[a-z]{3}|\d)?l(?P<after>\d)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """Hold one element of a list in a field, in croniter's spelling."""

    text: str
    repeats: bool = False
    special: bool = False


@dataclass(frozen=True, slots=True)
class CronFields:
    """Hold what an expression means on a calendar without time zones."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    last_day: bool
    months: frozenset[int]
    weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, Nth]]
    either_day: bool
    repeats: bool

    def has_day(self, day: date) -> bool:
        """Return whether the three fields of the date hold."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = self._has_month_day(day), self._has_weekday(day)
        return by_day or by_weekday if self.either_day else by_day and by_weekday

    def walls_after(
        self, wall: datetime, is_wanted: DayTest | None = None, last_day: date = date.max
    ) -> Iterator[datetime]:
        """Return the matching wall-clock times after one, in order, on the wanted days."""
        for day in self._days_between(wall.date(), last_day):
            if is_wanted is None or is_wanted(day):
                yield from (datetime.combine(day, at) for at in self._times_of(day, wall))

    def is_possible(self) -> bool:
        """Return whether any date matches: 28 years show every kind of year with every weekday."""
        return any(True for _ in self._days_between(date(2000, 1, 1), date(2027, 12, 31)))

    def _has_month_day(self, day: date) -> bool:
        return day.day in self.days or (self.last_day and day.day == _month_length(day))

    def _has_weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if not self.nth_weekdays:
            return weekday in self.weekdays
        is_last = day.day + 7 > _month_length(day)
        return (weekday, (day.day + 6) // 7) in self.nth_weekdays or (is_last and (weekday, "l") in self.nth_weekdays)

    def _days_between(self, first: date, last: date) -> Iterator[date]:
        """Return the matching dates from one to the end of another's month, leaping over months that do not count."""
        for year, month in _months_between(first, last):
            if month in self.months:
                days = (date(year, month, number) for number in range(1, calendar.monthrange(year, month)[1] + 1))
                yield from (day for day in days if day >= first and self.has_day(day))

    def _times_of(self, day: date, after: datetime) -> Iterator[time]:
        """Return the matching times of one day after a moment."""
        if day > after.date():
            yield from (time(*parts) for parts in product(self.hours, self.minutes, self.seconds))
            return
        late_hours = [hour for hour in self.hours if hour > after.hour]
        late_minutes = [minute for minute in self.minutes if minute > after.minute]
        late_seconds = [second for second in self.seconds if second > after.second]
        if after.hour in self.hours:
            if after.minute in self.minutes:
                yield from (time(after.hour, after.minute, second) for second in late_seconds)
            yield from (time(after.hour, *parts) for parts in product(late_minutes, self.seconds))
        yield from (time(*parts) for parts in product(late_hours, self.minutes, self.seconds))


@lru_cache(maxsize=256)
def read_fields(expression: str) -> CronFields:
    """Read five fields, six (seconds first) or a nickname, or raise CronError."""
    texts = _split(expression)
    parts = [_read_field(place, text) for place, text in zip(PLACES, texts, strict=True)]
    _refuse_mixed_weekdays(parts[-1])
    fields = _assemble(texts, parts)
    if not fields.is_possible():
        raise CronError("cron_never", f"{expression!r} never runs: no year has such a day")
    return fields


def _split(expression: str) -> list[str]:
    """Cut an expression into six fields, seconds first."""
    if len(expression) > LONGEST_EXPRESSION:
        raise CronError("cron_fields", f"a cron expression has at most {LONGEST_EXPRESSION} characters")
    plain = expression.strip().lower()
    texts = NICKNAMES.get(plain, plain).split()
    if len(texts) not in (5, 6):
        raise CronError(
            "cron_fields",
            f"{expression!r} has {len(texts)} fields; cron has five, or six with seconds first",
            "minute hour day month weekday, such as `30 9 * * mon-fri`",
        )
    return texts if len(texts) == 6 else ["0", *texts]


def _read_field(place: Place, text: str) -> list[Part]:
    if text == "?" and place in (DAY, WEEKDAY):
        return [Part("*")]
    return [_read_part(place, part) for part in text.split(",")]


def _read_part(place: Place, text: str) -> Part:
    """Read one element of a list: the marks that only days know, then `*` and ranges."""
    if special := _read_special(place, text):
        return special
    if match := _EVERY.fullmatch(text):
        return Part(text if _step(place, match) > 1 else "*", repeats=True)
    if match := _RANGE.fullmatch(text):
        return _read_range(place, match)
    raise CronError(
        "cron_value", f"{text!r} is not a valid {place.name}", "a value, a range 1-5, a step */15, a list 1,15"
    )


def _read_special(place: Place, text: str) -> Part | None:
    """Read L in the day, 5L and 5#2 in the weekday."""
    if place is DAY and text == "l":
        return Part("l")
    if place is WEEKDAY and (match := _NTH.fullmatch(text)):
        if not 1 <= int(match["nth"]) <= 5:
            raise CronError("cron_value", f"{text!r}: a month has each weekday at most 5 times", "1 to 5 after #")
        return Part(f"{place.number(match['weekday']) % 7}#{match['nth']}", special=True)
    if place is WEEKDAY and (match := _LAST.fullmatch(text)) and bool(match["before"]) != bool(match["after"]):
        return Part(f"l{place.number(match['before'] or match['after']) % 7}", special=True)
    return None


def _read_range(place: Place, match: re.Match[str]) -> Part:
    """Read `a`, `a-b`, `a-b/n` and `a/n`, which continues to the end of the field."""
    low, high = _bounds(place, match)
    step = _step(place, match)
    is_open = match["high"] is None and match["step"] is not None
    repeats = is_open or (low, high) == (place.low, place.high)
    if low == high:
        return Part(str(low), repeats)
    return Part(f"{low}-{high}/{step}", repeats)


def _bounds(place: Place, match: re.Match[str]) -> tuple[int, int]:
    low = place.number(match["low"])
    if match["high"] is None:
        return (low % 7 if place is WEEKDAY else low), (place.high if match["step"] else low)
    high = place.number(match["high"])
    if place is WEEKDAY and high == 0 < low:
        high = 7
    if low > high:
        raise CronError("cron_value", f"the range {match[0]!r} runs backwards", f"write two {place.name} ranges")
    return low, high


def _step(place: Place, match: re.Match[str]) -> int:
    step = int(match["step"] or 1)
    if step == 0:
        raise CronError("cron_value", f"{match[0]!r} in the {place.name} field: a step is at least 1")
    return step


def _refuse_mixed_weekdays(parts: list[Part]) -> None:
    if len({part.special for part in parts}) > 1:
        raise CronError("cron_value", "weekdays such as 5#2 or 5L cannot be mixed with plain ones in one list")


def _assemble(texts: list[str], parts: list[list[Part]]) -> CronFields:
    """Put the fields in their places."""
    (seconds, *_), _ = _expand(parts[:1], texts)
    (minutes, hours, days, months, weekdays), nth = _expand(parts[1:], texts)
    return CronFields(
        seconds=_values(SECOND, seconds),
        minutes=_values(MINUTE, minutes),
        hours=_values(HOUR, hours),
        days=frozenset(_values(DAY, days)),
        last_day="l" in days,
        months=frozenset(_values(MONTH, months)),
        weekdays=frozenset(_values(WEEKDAY, weekdays)),
        nth_weekdays=frozenset((weekday, one) for weekday, all_of_it in nth.items() for one in all_of_it),
        either_day=not any(texts[PLACES.index(place)].startswith(("*", "?")) for place in (DAY, WEEKDAY)),
        repeats=any(part.repeats for place in (MINUTE, HOUR) for part in parts[PLACES.index(place)]),
    )


def _expand(parts: list[list[Part]], texts: list[str]) -> tuple[list[list[int | str]], dict[int, set[Nth]]]:
    """Expand five fields with croniter; seconds go separately, in the minutes' place: with six it does not know Sunday as 7."""
    plain = [",".join(part.text for part in field) for field in parts]
    try:
        expanded, nth = croniter.expand(" ".join(plain + ["*"] * (5 - len(plain))))
    except CroniterError as error:
        raise CronError("cron_value", f"{' '.join(texts)!r} is not a cron expression: {error}") from error
    return expanded, nth


def _values(place: Place, expanded: list[int | str]) -> tuple[int, ...]:
    """Write croniter's star out."""
    if "*" in expanded:
        return tuple(range(place.low, place.high + 1))
    return tuple(sorted(value for value in expanded if isinstance(value, int)))


def _months_between(first: date, last: date) -> Iterator[tuple[int, int]]:
    """Return the months from that of one day to that of another."""
    indexes = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return ((index // 12, index % 12 + 1) for index in indexes)


def _month_length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]
