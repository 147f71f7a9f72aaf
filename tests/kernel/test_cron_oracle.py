"""The schedule and a clock watched every minute agree, wherever on earth the clock changes."""

from datetime import UTC, datetime, timedelta

import pytest

from engine.kernel.cron import CronSchedule
from tests.kernel.cron_oracle import MINUTE, Change, Oracle, distinct_histories, walk

FIXED = (
    "0 0 * * *",
    "30 0 * * *",
    "59 23 * * *",
    "30 2 * * *",
    "0,15,45 1-3 * * *",
    "5 1,3,22 * * 0,6",
    "0 2 13 * 5-7",
    "10 3 L * 1",
)
REAL_TIME = (
    "0 * * * *",
    "*/20 0-3,22-23 * * *",
    "7/30 2,3 * * *",
    "15 */2 * * *",
    "0 */3 * 3,10 *",
)
TWO_DAYS = timedelta(days=2)


def runs_of(expression: str, walls: list[datetime], start: datetime) -> list[datetime]:
    oracle = Oracle.read(expression)
    runs = oracle.runs_in_real_time if expression in REAL_TIME else oracle.runs_once_a_day
    return [start + index * MINUTE for index in runs(walls)]


def slots_of(expression: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    schedule = CronSchedule.parse(expression, zone)
    return [slot.at for slot in schedule.slots_between(start - MINUTE, end - MINUTE)]


def windows() -> list[tuple[str, Change]]:
    """Name each change once, however many histories share it."""
    named = {change: zone for zone, changes in distinct_histories().items() for change in changes}
    return [(zone, change) for change, zone in named.items()]


def differences(zone: str, start: datetime, end: datetime) -> list[str]:
    walls = walk(zone, start, end)
    return [
        f"{expression} in {zone} from {start}"
        for expression in FIXED + REAL_TIME
        if slots_of(expression, zone, start, end) != runs_of(expression, walls, start)
    ]


def test_schedules_agree_with_the_clock_two_days_round_every_change_of_every_zone():
    found = [
        difference
        for zone, change in windows()
        for difference in differences(zone, change.at - TWO_DAYS, change.at + TWO_DAYS)
    ]
    assert found == []
