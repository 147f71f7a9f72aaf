"""Find out when cron jobs run by looking at the clock on the wall every minute: slow, simple, and without croniter.

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


@dataclass(frozen=True)
class Walk:
    """The clock on the wall at every minute of a stretch of real time.

    Two moments in one zone are compared and subtracted by what the wall shows: that is what is wanted here.
    """

    shown: dict[int, list[int]]
    days: list[date]
    again: frozenset[int]
    left_out: dict[int, list[datetime]]

    @classmethod
    def through(cls, zone: str, start: datetime, end: datetime) -> "Walk":
        """Walk, remembering the latest time that the clock has shown."""
        clock = ZoneInfo(zone)
        walls = [(start + index * MINUTE).astimezone(clock) for index in range(int((end - start) / MINUTE))]
        again, left_out, latest = set(), {}, walls[0] - MINUTE
        for index, wall in enumerate(walls):
            if wall <= latest:
                again.add(index)
                continue
            if wall - latest > MINUTE:
                left_out[index] = [latest + late * MINUTE for late in range(1, int((wall - latest) / MINUTE))]
            latest = wall
        return cls(_by_minute(walls), [wall.date() for wall in walls], frozenset(again), left_out)


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
        """Return whether the date matches; 40 in the day field is the last of the month."""
        days, months, weekdays = self.fields[2:]
        by_day = day.day in days or (40 in days and day.day == calendar.monthrange(day.year, day.month)[1])
        by_weekday = bool({day.isoweekday(), day.isoweekday() % 7} & weekdays)
        return day.month in months and (by_day or by_weekday if self.either else by_day and by_weekday)

    def runs_in_real_time(self, walk: Walk) -> list[int]:
        """Return the minutes at which the clock shows a matching time."""
        shown = (index for minute in self.times for index in walk.shown.get(minute, ()))
        return sorted(index for index in shown if self.on(walk.days[index]))

    def runs_once_a_day(self, walk: Walk) -> list[int]:
        """Return the minutes at which a job at fixed times runs: never again, and after a gap for what was left out."""
        late = {index for index, walls in walk.left_out.items() if any(map(self._matches, walls))}
        return sorted((set(self.runs_in_real_time(walk)) - walk.again) | late)

    def _matches(self, wall: datetime) -> bool:
        return 60 * wall.hour + wall.minute in self.times and self.on(wall.date())


def _by_minute(walls: list[datetime]) -> dict[int, list[int]]:
    """Note at which places of the walk each minute of the day was shown."""
    shown: dict[int, list[int]] = {}
    for index, wall in enumerate(walls):
        shown.setdefault(60 * wall.hour + wall.minute, []).append(index)
    return shown


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
