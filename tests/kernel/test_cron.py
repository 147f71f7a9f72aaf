"""A schedule runs when its author expects it, and says why where the clock plays tricks."""

import json
import os
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.kernel.timing.calendars import Calendar
from engine.kernel.timing.cron import CronError, CronSchedule, Dst

SHARED = Path(os.environ.get("WORKFLOW_SHARED", Path(__file__).resolve().parents[3] / "shared"))
VECTORS = SHARED / "vectors" / "cron.json"
OFFICE = Calendar.from_json({"timezone": "Europe/Paris", "hours": {"mon-fri": "09:00-17:00"}, "holidays": ["12-25"]})


def vectors(kind: str) -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="WORKFLOW_SHARED has no vectors/cron.json"))]
    found = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
    return [pytest.param(vector, id=vector["id"]) for vector in found if vector["kind"] == kind]


def runs(expression: str, zone: str, start: str, n: int, **options: Any) -> list[str]:
    slots = CronSchedule.parse(expression, zone, **options).next_n(datetime.fromisoformat(start), n)
    return [slot.local.isoformat(timespec="minutes") for slot in slots]


def reasons(expression: str, zone: str, start: str, n: int, **options: Any) -> list[str]:
    schedule = CronSchedule.parse(expression, zone, **options)
    return [slot.reason for slot in schedule.next_n(datetime.fromisoformat(start), n)]


@pytest.mark.parametrize("vector", vectors("next"))
def test_vector_of_successive_runs(vector: dict[str, Any]):
    schedule = CronSchedule.parse(vector["expr"], vector["tz"])
    slots = schedule.next_n(datetime.fromisoformat(vector["from"]), len(vector["expected"]))
    assert [slot.at for slot in slots] == [datetime.fromisoformat(text) for text in vector["expected"]]


@pytest.mark.parametrize("vector", vectors("matches"))
def test_vector_of_a_moment_that_is_a_run_or_none(vector: dict[str, Any]):
    schedule = CronSchedule.parse(vector["expr"], vector["tz"])
    assert [schedule.runs_at(datetime.fromisoformat(vector["from"]))] == vector["expected"]


@pytest.mark.parametrize("vector", vectors("invalid"))
def test_vector_that_must_be_refused(vector: dict[str, Any]):
    with pytest.raises(CronError):
        CronSchedule.parse(vector["expr"], vector["tz"])


@pytest.mark.parametrize("vector", vectors("never"))
def test_vector_that_never_runs(vector: dict[str, Any]):
    with pytest.raises(CronError) as refusal:
        CronSchedule.parse(vector["expr"], vector["tz"])
    assert refusal.value.code == "cron_never"


def test_no_vector_is_of_a_kind_that_no_test_reads():
    if VECTORS.exists():
        kinds = {vector["kind"] for vector in json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]}
        assert kinds == {"next", "matches", "invalid", "never"}


def test_time_in_the_spring_gap_moves_to_the_first_minute_after_it_and_says_so():
    start = "2024-03-30T12:00:00+01:00"
    assert runs("30 2 * * *", "Europe/Paris", start, 2) == ["2024-03-31T03:00+02:00", "2024-04-01T02:30+02:00"]
    moved = "moved to 03:00: 02:30 does not exist on 31 Mar 2024"
    assert reasons("30 2 * * *", "Europe/Paris", start, 2) == [moved, ""]


def test_several_times_in_the_gap_are_one_run():
    start = "2024-03-30T12:00:00+01:00"
    assert runs("0,30 2,3 * * *", "Europe/Paris", start, 3) == [
        "2024-03-31T03:00+02:00",
        "2024-03-31T03:30+02:00",
        "2024-04-01T02:00+02:00",
    ]


def test_gap_at_midnight_stays_on_its_day_and_one_before_midnight_names_the_next():
    assert reasons("30 0 * * *", "Africa/Cairo", "2024-04-25T12:00:00+02:00", 1) == [
        "moved to 01:00: 00:30 does not exist on 26 Apr 2024"
    ]
    assert reasons("45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00:00+08:30", 1) == [
        "moved to 00:00 on 5 May 2018: 23:45 does not exist on 4 May 2018"
    ]


def test_fixed_time_in_the_autumn_overlap_runs_once_at_the_first():
    start = "2024-10-26T12:00:00+02:00"
    assert runs("30 2 * * *", "Europe/Paris", start, 2) == ["2024-10-27T02:30+02:00", "2024-10-28T02:30+01:00"]
    assert reasons("30 2 * * *", "Europe/Paris", start, 2) == ["first of two 02:30", ""]


def test_repeating_job_runs_through_both_equal_hours():
    start = "2024-10-27T01:45:00+02:00"
    assert reasons("*/30 * * * *", "Europe/Paris", start, 5) == [
        "first of two 02:00",
        "first of two 02:30",
        "second of two 02:00",
        "second of two 02:30",
        "",
    ]


@pytest.mark.parametrize("expression", ["*/15 2 * * *", "0/15 2 * * *", "0-59/15 2 * * *"])
def test_every_spelling_of_a_repeating_minute_follows_real_time(expression: str):
    assert len(set(runs(expression, "Europe/Paris", "2024-10-27T00:00:00+02:00", 8))) == 8
    assert runs(expression, "Europe/Paris", "2024-03-31T00:00:00+01:00", 1) == ["2024-04-01T02:00+02:00"]


def test_author_may_skip_the_gap_or_ask_for_every_showing():
    spring, autumn = "2024-03-30T12:00:00+01:00", "2024-10-26T12:00:00+02:00"
    assert runs("30 2 * * *", "Europe/Paris", spring, 1, dst="skip") == ["2024-04-01T02:30+02:00"]
    assert runs("30 2 * * *", "Europe/Paris", autumn, 2, dst="skip") == [
        "2024-10-27T02:30+02:00",
        "2024-10-28T02:30+01:00",
    ]
    assert runs("30 2 * * *", "Europe/Paris", spring, 1, dst="every") == ["2024-04-01T02:30+02:00"]
    assert runs("30 2 * * *", "Europe/Paris", autumn, 2, dst="every") == [
        "2024-10-27T02:30+02:00",
        "2024-10-27T02:30+01:00",
    ]


def test_day_that_never_was_has_no_run():
    start = "2011-12-29T08:00:00-10:00"
    assert runs("0 9 * * *", "Pacific/Apia", start, 2) == ["2011-12-29T09:00-10:00", "2011-12-31T09:00+14:00"]


def test_thirteenth_or_second_friday_is_either_and_star_is_both():
    start = "2024-09-01T00:00:00+00:00"
    assert runs("0 0 13 * fri#1", "UTC", start, 3) == [
        "2024-09-06T00:00+00:00",
        "2024-09-13T00:00+00:00",
        "2024-10-04T00:00+00:00",
    ]
    assert runs("0 0 */2 * fri", "UTC", start, 2) == ["2024-09-13T00:00+00:00", "2024-09-27T00:00+00:00"]


def test_last_friday_is_spelled_either_way_and_a_week_may_end_on_sunday():
    start = "2024-09-01T00:00:00+00:00"
    assert runs("0 0 * * 5L", "UTC", start, 1) == runs("0 0 * * L5", "UTC", start, 1) == ["2024-09-27T00:00+00:00"]
    assert runs("0 0 * * sat-sun", "UTC", start, 2) == ["2024-09-07T00:00+00:00", "2024-09-08T00:00+00:00"]
    assert runs("0 0 * * 6-7", "UTC", start, 2) == runs("0 0 * * sat,sun", "UTC", start, 2)


def test_range_of_one_day_is_that_day():
    assert runs("0 0 5-5 * *", "UTC", "2024-09-01T00:00:00+00:00", 2) == [
        "2024-09-05T00:00+00:00",
        "2024-10-05T00:00+00:00",
    ]


def test_leap_day_waits_for_its_year_also_over_a_century():
    assert runs("0 0 29 2 *", "UTC", "2096-03-01T00:00:00+00:00", 1) == ["2104-02-29T00:00+00:00"]


def test_nickname_and_seconds_are_read():
    assert runs("@daily", "UTC", "2024-12-31T12:00:00+00:00", 1) == ["2025-01-01T00:00+00:00"]
    slot = CronSchedule.parse("*/20 59 23 31 12 *").next_after(datetime(2024, 12, 31, 23, 59, 20, tzinfo=UTC))
    assert slot.at == datetime(2024, 12, 31, 23, 59, 40, tzinfo=UTC)


def test_calendar_leaves_out_days_on_which_nobody_works():
    schedule = CronSchedule.parse("0 7 * * *", "Europe/Paris", calendar=OFFICE)
    slots = schedule.next_n(datetime(2024, 12, 20, 12, tzinfo=UTC), 3)
    assert [slot.local.date() for slot in slots] == [date(2024, 12, 23), date(2024, 12, 24), date(2024, 12, 26)]


def test_calendar_that_leaves_no_day_is_said_and_not_searched_for_ever():
    with pytest.raises(CronError, match="meets no business day") as refusal:
        CronSchedule.parse("* * * * sun", "Europe/Paris", calendar=OFFICE).next_after(datetime(2024, 1, 1, tzinfo=UTC))
    assert refusal.value.code == "cron_never"


def test_runs_missed_in_an_outage_are_counted_from_after_to_until():
    schedule = CronSchedule.parse("0 * * * *")
    missed = schedule.slots_between(datetime(2024, 1, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 4, tzinfo=UTC))
    assert [slot.at.hour for slot in missed] == [2, 3, 4]


def test_moment_given_in_local_time_is_a_run_in_both_of_two_equal_hours():
    schedule = CronSchedule.parse("*/30 * * * *", "Europe/Paris")
    twice = [datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=fold) for fold in (0, 1)]
    assert [schedule.runs_at(moment) for moment in twice] == [True, True]
    assert [slot.reason for slot in schedule.slots_between(*twice)] == ["second of two 02:00", "second of two 02:30"]


def test_last_and_nth_weekday_are_counted_by_sevens():
    start = "2024-01-31T12:00:00+00:00"
    assert runs("0 0 * * thu#5", "UTC", start, 2) == ["2024-02-29T00:00+00:00", "2024-05-30T00:00+00:00"]
    assert runs("0 0 * * wed#1", "UTC", start, 2) == ["2024-02-07T00:00+00:00", "2024-03-06T00:00+00:00"]
    assert runs("0 0 * * sun#1", "UTC", start, 3)[2] == "2024-04-07T00:00+00:00"
    assert runs("0 0 * * wed#2", "UTC", start, 1) == ["2024-02-14T00:00+00:00"]
    assert runs("0 0 * 4 tueL", "UTC", start, 1) == ["2024-04-30T00:00+00:00"]
    assert runs("0 0 * 4 wedL", "UTC", start, 2) == ["2024-04-24T00:00+00:00", "2025-04-30T00:00+00:00"]


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("0 24 * * *", "hour 24 is outside 0–23"),
        ("60 * * * *", "minute 60 is outside 0–59"),
        ("* * 0 * *", "day 0 is outside 1–31"),
        ("* * * foo *", "'foo' is not a valid month"),
        ("* * * * fri-mon", "the range 'fri-mon' runs backwards"),
        ("*/0 * * * *", "a step is at least 1"),
        ("* * * * mon#6", "a month has each weekday at most 5 times"),
        ("* * * * mon#1,fri", "cannot be mixed with plain ones"),
        ("0 0 15W * *", "'15w' is not a valid day"),
        ("H H * * *", "'h' is not a valid minute"),
        ("R * * * *", "'r' is not a valid minute"),
        ("٣ * * * *", "'٣' is not a valid minute"),
        ("0 0 1 1 * * 2030", "has 7 fields"),
        ("", "has 0 fields"),
        ("@reboot", "has 1 fields"),
        ("0 0 30 2 *", "never runs"),
        ("0 0 * * *" + " " * 600, "at most 500 characters"),
    ],
)
def test_expression_that_nobody_can_mean_is_refused_with_a_sentence(expression: str, sentence: str):
    with pytest.raises(CronError, match=sentence):
        CronSchedule.parse(expression)


@pytest.mark.parametrize("zone", ["Europe/Pariss", "localtime", "../etc/passwd", "/etc/localtime", "Europe", "", "\0"])
def test_zone_that_is_no_place_is_refused(zone: str):
    with pytest.raises(CronError) as refusal:
        CronSchedule.parse("0 0 * * *", zone)
    assert refusal.value.code == "zone_unknown"


def test_misspelt_zone_and_policy_get_a_hint():
    with pytest.raises(CronError) as refusal:
        CronSchedule.parse("0 0 * * *", "Europe/Pariss")
    assert refusal.value.hint == "did you mean `Europe/Paris`?"
    with pytest.raises(CronError) as refusal:
        CronSchedule.parse("0 0 * * *", dst="skipp")
    assert refusal.value.hint == "did you mean `skip`?"


MOMENTS = st.integers(0, 8 * 366 * 24 * 60 * 60).map(
    lambda seconds: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
ZONES = st.sampled_from(
    ["UTC", "Europe/Paris", "America/Havana", "Australia/LHI", "Africa/Casablanca", "America/Santiago"]
)
unhurried = settings(deadline=None)
EXPRESSIONS = st.one_of(
    st.builds("{} {} * * *".format, st.integers(0, 59), st.integers(0, 23)),
    st.builds("*/{} {} * * *".format, st.integers(1, 59), st.sampled_from(["*", "*/2", "1-3", "23"])),
    st.builds(
        "{} 1,2,3 {} {} *".format, st.integers(0, 59), st.integers(1, 28), st.sampled_from(["*", "3,4,10", "*/5"])
    ),
    st.builds(
        "5 2 {} * {}".format, st.sampled_from(["*", "L", "13", "*/3"]), st.sampled_from(["*", "sun", "1-5", "fri#1"])
    ),
)


@given(EXPRESSIONS, ZONES, MOMENTS, st.sampled_from(list(Dst)))
@unhurried
def test_runs_come_strictly_one_after_the_other(expression: str, zone: str, moment: datetime, dst: Dst):
    slots = CronSchedule.parse(expression, zone, dst).next_n(moment, 5)
    moments = [moment, *(slot.at for slot in slots)]
    assert moments == sorted(set(moments))
    assert all(slot.at == slot.local.astimezone(UTC) and slot.at.tzinfo is UTC for slot in slots)
    assert all(slot.local.tzinfo == ZoneInfo(zone) for slot in slots)


@given(EXPRESSIONS, ZONES, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=40)))
@unhurried
def test_asking_later_never_gives_an_earlier_run_nor_leaves_one_out(
    expression: str, zone: str, moment: datetime, later: timedelta
):
    schedule = CronSchedule.parse(expression, zone)
    first, second = schedule.next_after(moment), schedule.next_after(moment + later)
    assert first.at <= second.at
    assert (first == second) == (moment + later < first.at)


@given(st.integers(0, 59), st.integers(0, 23), ZONES, MOMENTS)
@unhurried
def test_fixed_time_runs_once_on_every_local_day(minute: int, hour: int, zone: str, moment: datetime):
    days = [slot.local.date() for slot in CronSchedule.parse(f"{minute} {hour} * * *", zone).next_n(moment, 30)]
    assert days == [days[0] + timedelta(days=index) for index in range(30)]


@given(EXPRESSIONS, MOMENTS)
@settings(max_examples=50, deadline=None)
def test_where_the_clock_never_changes_croniter_agrees(expression: str, moment: datetime):
    assume("#" not in expression)
    theirs = croniter(expression, moment, implement_cron_bug=True)
    expected = [theirs.get_next(datetime) for _ in range(3)]
    assert [slot.at for slot in CronSchedule.parse(expression).next_n(moment, 3)] == expected


@given(st.text(alphabet="0123456789*/-,#?LWlwhr@ монjanSUN\0", max_size=40) | st.text(max_size=30))
@unhurried
def test_any_text_is_a_schedule_or_a_refusal(text: str):
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    with suppress(CronError):
        assert CronSchedule.parse(text).next_after(moment).at > moment
