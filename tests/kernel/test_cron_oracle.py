"""The schedule and a clock watched every minute agree, wherever on earth the clock changes."""

from datetime import UTC, datetime, timedelta

import pytest

from engine.kernel.timing.cron import CronSchedule
from tests.kernel.cron_oracle import MINUTE, Change, Oracle, Walk, distinct_histories

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
DOZEN = FIXED + REAL_TIME
SELDOM = (*FIXED, "15 */2 * * *", "0 */3 * 3,10 *")
"""What the whole walk can afford: seven years of every history."""
TWO_DAYS = timedelta(days=2)


def runs_of(expression: str, walk: Walk, start: datetime) -> list[datetime]:
    oracle = Oracle.read(expression)
    runs = oracle.runs_in_real_time if expression in REAL_TIME else oracle.runs_once_a_day
    return [start + index * MINUTE for index in runs(walk)]


def slots_of(expression: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    schedule = CronSchedule.parse(expression, zone)
    return [slot.at for slot in schedule.slots_between(start - MINUTE, end - MINUTE)]


def windows() -> list[tuple[str, Change]]:
    """Name each change once, however many histories share it."""
    named = {change: zone for zone, changes in distinct_histories().items() for change in changes}
    return [(zone, change) for change, zone in named.items()]


def differences(zone: str, start: datetime, end: datetime, expressions: tuple[str, ...] = DOZEN) -> list[str]:
    walk = Walk.through(zone, start, end)
    return [
        f"{expression} in {zone} from {start}"
        for expression in expressions
        if slots_of(expression, zone, start, end) != runs_of(expression, walk, start)
    ]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_schedules_agree_with_the_clock_two_days_round_every_change_of_every_zone(every: int):
    found = [
        difference
        for zone, change in windows()[::every]
        for difference in differences(zone, change.at - TWO_DAYS, change.at + TWO_DAYS)
    ]
    assert found == []


def test_there_are_the_histories_that_the_walk_is_for():
    histories = distinct_histories()
    assert len(histories) > 60
    assert sum(bool(changes) for changes in histories.values()) > 30
    shifts = {change.after - change.before for changes in histories.values() for change in changes}
    assert {timedelta(minutes=30), timedelta(hours=1), timedelta(hours=-1), timedelta(hours=2)} <= shifts


def test_the_next_run_is_the_same_from_every_minute_of_a_night_in_which_the_clock_changes():
    for zone, day in (("Europe/Paris", "2024-10-27"), ("Europe/Paris", "2024-03-31"), ("Australia/LHI", "2024-04-06")):
        midnight = datetime.fromisoformat(f"{day}T00:00:00+00:00") - timedelta(hours=12)
        for expression in ("30 2 * * *", "45 1,2 * * *", "*/20 * * * *", "10 */2 * * *"):
            schedule = CronSchedule.parse(expression, zone)
            slots = [slot.at for slot in schedule.slots_between(midnight, midnight + TWO_DAYS)]
            for minute in range(0, 24 * 60, 7):
                moment = midnight + minute * MINUTE + timedelta(seconds=minute % 60)
                assert schedule.next_after(moment).at == next(slot for slot in slots if slot > moment)


@pytest.mark.slow
@pytest.mark.parametrize("year", range(2024, 2031))
def test_schedules_agree_with_the_clock_through_every_year_of_every_history(year: int):
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    zones = [zone for zone, changes in distinct_histories().items() if changes or year == 2024]
    assert [difference for zone in zones for difference in differences(zone, start, end, SELDOM)] == []
