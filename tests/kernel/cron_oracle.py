"""Say when cron jobs run by looking at the clock on the wall every minute: slow, simple, and without croniter.

The oracle knows nothing of the kernel. It reads fields by its own few lines, walks through real time, and asks zoneinfo for
nothing but the wall-clock time of each minute. Wall-clock times seen before are an overlap, those left out a gap.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

MINUTE = timedelta(minutes=1)
WEEK = timedelta(days=7)
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@dataclass(frozen=True)
class Change:
    """A moment at which a zone's offset changes, to the minute."""

    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1)
def distinct_histories() -> dict[str, tuple[Change, ...]]:
    """Name one zone for each history of offsets from 2024 to 2030, with its changes."""
    named: dict[tuple[object, ...], str] = {}
    for zone in sorted(available_timezones() - {"localtime", "Factory"}):
        start, end = datetime(2024, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
        named.setdefault((_offset(ZoneInfo(zone), start), *_changes(ZoneInfo(zone), start, end)), zone)
    return {zone: history[1:] for history, zone in named.items()}  # type: ignore[misc]


def walk(zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Read the clock on the wall at every minute of real time; the fold is left away."""
    clock = ZoneInfo(zone)
    minutes = int((end - start) / MINUTE)
    return [(start + index * MINUTE).astimezone(clock).replace(tzinfo=None, fold=0) for index in range(minutes)]


@dataclass(frozen=True)
class Oracle:
    """Know the matching times and dates of an expression with five fields."""

    times: frozenset[int]
    fields: tuple[frozenset[int], ...]
    either: bool

    @classmethod
    def read(cls, expression: str) -> "Oracle":
        """Read numbers, ranges, steps, lists and stars; enough for the walk's dozen."""
        texts = expression.split()
        fields = tuple(_field(text, *bounds) for text, bounds in zip(texts, BOUNDS, strict=True))
        times = frozenset(60 * hour + minute for hour in fields[1] for minute in fields[0])
        return cls(times, fields, not texts[2].startswith("*") and not texts[4].startswith("*"))

    def on(self, day: date) -> bool:
        """Say whether the date matches; 40 in the day field is the last of the month."""
        days, months, weekdays = self.fields[2:]
        by_day = day.day in days or (40 in days and day.day == calendar.monthrange(day.year, day.month)[1])
        by_weekday = bool({day.isoweekday(), day.isoweekday() % 7} & weekdays)
        return day.month in months and (by_day or by_weekday if self.either else by_day and by_weekday)

    def shows(self, walls: list[datetime]) -> list[bool]:
        """Say for each minute whether the clock shows a matching time."""
        days = {day: self.on(day) for day in {wall.date() for wall in walls[::60]} | {walls[-1].date()}}
        return [60 * wall.hour + wall.minute in self.times and days[wall.date()] for wall in walls]

    def runs_in_real_time(self, walls: list[datetime]) -> list[int]:
        """Give the minutes at which a repeating job runs."""
        return [index for index, shown in enumerate(self.shows(walls)) if shown]

    def runs_once_a_day(self, walls: list[datetime], *, makes_up: bool = True) -> list[int]:
        """Give the minutes at which a job at fixed times runs: not again, and after a gap for what was left out."""
        runs, latest = [], walls[0] - MINUTE
        shows = self.shows(walls)
        for index, wall in enumerate(walls):
            if wall > latest:
                is_late = makes_up and wall - latest > MINUTE and any(self.shows(_left_out(latest, wall)))
                if shows[index] or is_late:
                    runs.append(index)
                latest = wall
        return runs


def _left_out(latest: datetime, wall: datetime) -> list[datetime]:
    return [latest + index * MINUTE for index in range(1, int((wall - latest) / MINUTE))]


def _field(text: str, low: int, high: int) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin = low if first == "*" else 40 if first == "L" else int(first)
        end = int(last) if last else high if step or first == "*" else begin
        values.update(range(begin, end + 1, int(step or 1)))
    return frozenset(values)


def _offset(clock: ZoneInfo, moment: datetime) -> timedelta:
    offset = moment.astimezone(clock).utcoffset()
    assert offset is not None
    return offset


def _changes(clock: ZoneInfo, start: datetime, end: datetime) -> Iterator[Change]:
    """Look once a week, and where the offset differs, close in on the minute."""
    before = _offset(clock, start)
    while start < end:
        after = _offset(clock, start + WEEK)
        if after != before:
            yield Change(_first_minute(clock, start, before), before, after)
        start, before = start + WEEK, after


def _first_minute(clock: ZoneInfo, start: datetime, before: timedelta) -> datetime:
    low, high = 0, int(WEEK / MINUTE)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(clock, start + middle * MINUTE) == before else (low, middle)
    return start + high * MINUTE
