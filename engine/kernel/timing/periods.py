"""Read ISO 8601 durations and RFC 3339 moments: the two spellings of time that the language has."""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

_PERIOD = re.compile(
    r"P(?=.)(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_PARTS = ("weeks", "days", "hours", "minutes", "seconds")
LONGEST = timedelta(days=366 * 200)


@dataclass(frozen=True, slots=True)
class Period:
    """A length of time: calendar months and an exact rest, because a month has no fixed length."""

    months: int
    rest: timedelta

    def after(self, moment: datetime) -> datetime:
        """Return the moment this far after another."""
        return add_months(moment, self.months) + self.rest

    def before(self, moment: datetime) -> datetime:
        """Return the moment this far before another."""
        return add_months(moment, -self.months) - self.rest

    def times(self, count: int) -> "Period":
        """Return the period that is so many times as long; every month counts from the first day, not from the last."""
        return self if count == 1 else Period(self.months * count, self.rest * count)

    @property
    def length(self) -> timedelta:
        """Return a plain length, a month as 30 days: for sizes, never for dates."""
        return timedelta(days=30 * self.months) + self.rest


def parse_period(text: str) -> Period:
    """Read an ISO duration such as P2D or PT0.2S, or raise ValueError with a sentence."""
    match = _PERIOD.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not an ISO 8601 duration (P2D, PT30M, P1DT12H …)")
    parts = {name: float(value) for name, value in match.groupdict().items() if value is not None}
    months = int(parts.pop("years", 0)) * 12 + int(parts.pop("months", 0))
    return _bounded(text, months, {name: parts[name] for name in _PARTS if name in parts})


def _bounded(text: str, months: int, parts: dict[str, float]) -> Period:
    """Refuse what no calendar can add."""
    try:
        period = Period(months, timedelta(**parts))
        too_long = period.length > LONGEST
    except OverflowError:
        too_long = True
    if too_long:
        raise ValueError(f"{text[:40]!r} is longer than 200 years")
    return period


def is_period(text: str) -> bool:
    """Return whether a text spells a duration."""
    return _PERIOD.fullmatch(text) is not None


def add_months(moment: datetime, months: int) -> datetime:
    """Go some months on, staying inside the month reached."""
    if not months:
        return moment
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)


def parse_moment(text: str) -> datetime:
    """Read an RFC 3339 moment or a plain date (midnight UTC), or raise ValueError with a sentence."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a date or moment (2030-01-07T09:00:00Z)") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@lru_cache(maxsize=1024)
def spell_moment(moment: datetime) -> str:
    """Write a moment the one way the platform writes it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
