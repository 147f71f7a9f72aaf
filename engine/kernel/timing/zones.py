"""Turn wall-clock times into moments, over every change of the clock.

A wall-clock time is usually one moment, two where the clock goes back, none where it leaps. Python tells its two readings
apart by `fold`; their distance says which it is: zero on a plain day, later in an overlap, earlier in a gap.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from engine.kernel.findings import did_you_mean

_NOT_PLACES = frozenset({"localtime", "Factory"})
_SECOND = timedelta(seconds=1)


class UnknownZone(ValueError):
    """A name that the IANA database lacks, with the name that looks most like it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name[:60]!r} is not an IANA time zone (such as Europe/Berlin)")
        self.hint = did_you_mean(name[:60], zone_names())


def find_zone(name: str) -> ZoneInfo:
    """Find a zone by its name; paths, names that only this machine knows and typos are refused."""
    if name not in zone_names():
        raise UnknownZone(name)
    return ZoneInfo(name)


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """List the zones that an author may name."""
    return frozenset(available_timezones()) - _NOT_PLACES


def wall_of(zone: ZoneInfo, moment: datetime) -> datetime:
    """Read the clock on the wall at a moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def moment_of(zone: ZoneInfo, wall: datetime, fold: int = 0) -> datetime:
    """Take one of the two readings of a wall-clock time."""
    return wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def comes_again(zone: ZoneInfo, wall: datetime) -> timedelta:
    """Return how much later a wall-clock time comes again: zero for once, negative for never."""
    return moment_of(zone, wall, 1) - moment_of(zone, wall, 0)


def first_moment(zone: ZoneInfo, wall: datetime) -> datetime:
    """Return one moment of a wall-clock time: the first of two, the end of the gap for none. Order is kept."""
    return end_of_gap(zone, wall) if comes_again(zone, wall) < timedelta() else moment_of(zone, wall)


def end_of_gap(zone: ZoneInfo, wall: datetime) -> datetime:
    """Find the first moment after a gap, halving the time between the readings of a wall-clock time inside it."""
    early, late = moment_of(zone, wall, 1).replace(microsecond=0), moment_of(zone, wall, 0).replace(microsecond=0)
    before = early.astimezone(zone).utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late
