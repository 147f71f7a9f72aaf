"""An office counts in open hours and worked days, and its calendar does the same."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernel.timing.calendars import Calendar, CalendarError, read_duration

BERLIN = {
    "timezone": "Europe/Berlin",
    "hours": {"mon-thu": ["09:00-12:00", "13:00-18:00"], "fri": "09:00-15:00"},
    "holidays": ["12-25", "12-26", "01-01", "2030-04-19"],
    "half_days": {"12-24": ["09:00-12:00"], "2030-01-12": ["10:00-14:00"]},
}
OFFICE = Calendar.from_json(BERLIN)
ALWAYS = Calendar.from_json({"timezone": "Europe/Berlin", "hours": {"mon-sun": "00:00-24:00"}})
NIGHTS = Calendar.from_json({"timezone": "Europe/Berlin", "hours": {"mon-sun": "01:00-04:00"}})
unhurried = settings(deadline=None)


def local(text: str, zone: str = "Europe/Berlin") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def after(start: str, duration: str, calendar: Calendar = OFFICE) -> str:
    reached = calendar.add_business_time(local(start), duration)
    return reached.astimezone(calendar.zone).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2030-01-07 08:59:59", False),
        ("2030-01-07 09:00", True),
        ("2030-01-07 12:00", False),
        ("2030-01-07 13:00", True),
        ("2030-01-07 18:00", False),
        ("2030-01-11 16:00", False),
        ("2030-01-13 10:00", False),
        ("2030-12-25 10:00", False),
        ("2030-04-19 10:00", False),
        ("2030-12-24 10:00", True),
        ("2030-12-24 14:00", False),
    ],
)
def test_office_is_open_in_its_hours_only(moment: str, is_open: bool):
    assert OFFICE.is_open(local(moment)) is is_open


def test_hours_are_those_of_the_calendars_zone():
    assert OFFICE.is_open(datetime(2030, 1, 7, 8, 0, tzinfo=UTC))
    assert not OFFICE.is_open(datetime(2030, 1, 7, 17, 0, tzinfo=UTC))
    assert OFFICE.is_open(datetime(2030, 7, 1, 7, 0, tzinfo=UTC))


@pytest.mark.parametrize(
    ("start", "opening"),
    [
        ("2030-01-07 10:00", "2030-01-07 10:00"),
        ("2030-01-07 12:30", "2030-01-07 13:00"),
        ("2030-01-07 18:00", "2030-01-08 09:00"),
        ("2030-12-24 12:00", "2030-12-27 09:00"),
        ("2029-12-31 20:00", "2030-01-02 09:00"),
        ("2030-01-11 20:00", "2030-01-12 10:00"),
    ],
)
def test_next_opening_skips_nights_lunch_weekends_and_holidays(start: str, opening: str):
    assert OFFICE.next_open(local(start)) == local(opening)


def test_yearly_half_day_on_a_sunday_does_not_open_the_office_but_a_dated_one_does():
    assert not OFFICE.is_business_day(date(2028, 12, 24))
    assert OFFICE.is_business_day(date(2030, 1, 12))


def test_dated_half_day_overrides_a_yearly_holiday():
    calendar = Calendar.from_json({**BERLIN, "half_days": {"2030-12-26": "10:00-12:00"}})
    assert calendar.is_open(local("2030-12-26 10:00"))
    assert not calendar.is_business_day(date(2031, 12, 26))


@pytest.mark.parametrize(
    ("start", "duration", "reached"),
    [
        ("2030-01-07 10:30", "P1D", "2030-01-08 10:30"),
        ("2030-01-17 14:00", "P1D", "2030-01-18 14:00"),
        ("2030-01-18 14:00", "P1D", "2030-01-21 14:00"),
        ("2030-01-18 20:00", "P1D", "2030-01-22 09:00"),
        ("2030-01-19 11:00", "P1D", "2030-01-22 09:00"),
        ("2030-12-23 15:00", "P1D", "2030-12-27 09:00"),
        ("2030-01-17 16:00", "P1D", "2030-01-21 09:00"),
        ("2029-12-28 10:00", "P2D", "2030-01-02 10:00"),
        ("2028-02-28 10:00", "P1D", "2028-02-29 10:00"),
        ("2030-01-07 10:30", "P0D", "2030-01-07 10:30"),
    ],
)
def test_business_day_is_the_same_time_on_the_next_business_day(start: str, duration: str, reached: str):
    assert after(start, duration) == reached


@pytest.mark.parametrize(
    ("start", "duration", "reached"),
    [
        ("2030-01-07 09:00", "PT8H", "2030-01-07 18:00"),
        ("2030-01-07 11:00", "PT2H", "2030-01-07 14:00"),
        ("2030-01-07 17:00", "PT24H", "2030-01-10 17:00"),
        ("2030-01-18 14:30", "PT1H", "2030-01-21 09:30"),
        ("2030-12-24 11:00", "PT90M", "2030-12-27 09:30"),
        ("2030-01-05 12:00", "PT0.5H", "2030-01-07 09:30"),
        ("2030-01-07 18:00", "PT0S", "2030-01-08 09:00"),
    ],
)
def test_hours_are_open_hours(start: str, duration: str, reached: str):
    assert after(start, duration) == reached


@pytest.mark.parametrize(
    ("start", "duration", "reached"),
    [
        ("2030-01-07 10:30", "P1W", "2030-01-14 10:30"),
        ("2030-12-18 10:30", "P1W", "2030-12-27 09:00"),
        ("2030-01-19 11:00", "P1M", "2030-02-21 09:00"),
        ("2030-01-31 10:30", "P1M", "2030-02-28 10:30"),
        ("2028-02-29 10:30", "P1Y", "2029-02-28 10:30"),
        ("2030-01-07 10:30", "P1W1DT1H", "2030-01-15 11:30"),
    ],
)
def test_weeks_months_and_years_pass_as_on_any_calendar(start: str, duration: str, reached: str):
    assert after(start, duration) == reached


def test_same_time_stays_the_same_on_the_wall_when_summer_time_begins_and_ends():
    assert after("2030-03-29 10:00", "P1D") == "2030-04-01 10:00"
    assert after("2030-10-25 10:00", "P1D") == "2030-10-28 10:00"


def test_open_hours_are_real_hours_in_the_nights_in_which_the_clock_changes():
    assert after("2030-03-30 12:00", "PT24H", ALWAYS) == "2030-03-31 13:00"
    assert after("2030-10-26 12:00", "PT24H", ALWAYS) == "2030-10-27 11:00"
    assert after("2030-03-31 01:00", "PT2H", NIGHTS) == "2030-03-31 04:00"
    assert NIGHTS.business_time_between(local("2030-10-27 00:00"), local("2030-10-27 12:00")) == timedelta(hours=4)


def test_moments_in_local_time_are_counted_as_moments():
    start, end = local("2030-10-27 01:30"), local("2030-10-27 03:30")
    assert NIGHTS.business_time_between(start, end) == timedelta(hours=3)
    first, second = local("2030-10-27 02:30"), local("2030-10-27 02:30").replace(fold=1)
    assert NIGHTS.business_time_between(first, second) == timedelta(hours=1)
    assert NIGHTS.is_open(first)
    assert NIGHTS.is_open(second)


def test_time_in_the_gap_is_the_first_minute_after_it():
    assert after("2030-03-30 02:30", "P1D", NIGHTS) == "2030-03-31 03:00"


def test_interval_that_the_clock_leaps_over_is_closed_that_day():
    calendar = Calendar.from_json({"timezone": "Europe/Berlin", "hours": {"sun": "02:00-03:00"}})
    assert calendar.next_open(local("2030-03-30 12:00")) == local("2030-04-07 02:00")


def test_working_time_between_two_moments_leaves_out_what_is_closed():
    assert OFFICE.business_time_between(local("2030-01-07 11:00"), local("2030-01-08 10:00")) == timedelta(hours=7)
    assert OFFICE.business_time_between(local("2030-01-08 10:00"), local("2030-01-07 11:00")) == timedelta()


@pytest.mark.parametrize("duration", ["P0.5D", "P1.5W", "", "P", "1D", "P1DT", "P300Y", "-P1D", "PT1H1D"])
def test_duration_that_means_nothing_on_a_calendar_is_refused(duration: str):
    with pytest.raises(CalendarError):
        read_duration(duration)


@pytest.mark.parametrize("duration", ["P199Y", "P70000D", "PT1000000H"])
def test_time_beyond_the_horizon_is_refused_and_not_searched_for_ever(duration: str):
    yearly = {"hours": {"mon": "09:00-10:00"}}
    with pytest.raises(CalendarError, match="hundred years"):
        Calendar.from_json(yearly).add_business_time(datetime(9900, 1, 1, tzinfo=UTC), duration)


def test_calendar_that_is_always_on_holiday_says_so():
    days = [(date(2028, 1, 1) + timedelta(days=index)).isoformat()[5:] for index in range(366)]
    calendar = Calendar.from_json({"hours": {"mon": "09:00-10:00"}, "holidays": days})
    with pytest.raises(CalendarError, match="hundred years"):
        calendar.next_open(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("change", "place", "sentence"),
    [
        ({"timezone": "Europe/Berln"}, "timezone", "did you mean `Europe/Berlin`"),
        ({"timezone": 7}, "timezone", "is not an IANA time zone"),
        ({"hours": None}, "hours", "is no object"),
        ({"hours": {}}, "hours", "has no open hour"),
        ({"hours": {"mon": []}}, "hours", "has no open hour"),
        ({"hours": {"monday": "09:00-10:00"}}, "hours.monday", "did you mean `mon`"),
        ({"hours": {"fri-mon": "09:00-10:00"}}, "hours.fri-mon", "is not one of"),
        ({"hours": {"mon-fri": "09:00-10:00", "tue": "09:00-10:00"}}, "hours.tue", "names tue again"),
        ({"hours": {"mon": "9-17"}}, "hours.mon", "is not a list of intervals"),
        ({"hours": {"mon": "22:00-06:00"}}, "hours.mon", "past midnight, write two days"),
        ({"hours": {"mon": "09:00-24:01"}}, "hours.mon", "up to 24:00"),
        ({"hours": {"mon": ["09:00-12:00", "11:00-13:00"]}}, "hours.mon", "overlap"),
        ({"hours": {"mon": [None]}}, "hours.mon", "is not a list of intervals"),
        ({"holidays": "12-25"}, "holidays", "is neither a list"),
        ({"holidays": ["2030-02-29"]}, "holidays.2030-02-29", "is not a date"),
        ({"holidays": [["12-25"]]}, "holidays.['12-25']", "is not a date"),
        ({"holidays": ["12-25"] * 5001}, "holidays", "more than 5000"),
        ({"half_days": ["12-24"]}, "half_days", "is no object"),
        ({"half_days": {"12-24": "noon"}}, "half_days.12-24", "is not a list of intervals"),
        ({"half_days": {"12-25": "09:00-12:00"}}, "half_days.12-25", "is a holiday, too"),
        ({"holliday": []}, "holliday", "did you mean `holidays`"),
    ],
)
def test_calendar_that_cannot_be_kept_is_refused_at_the_place(change: dict[str, Any], place: str, sentence: str):
    with pytest.raises(CalendarError) as refusal:
        Calendar.from_json({**BERLIN, **change})
    assert list(refusal.value.problems) == [place]
    assert sentence in refusal.value.problems[place]


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(CalendarError) as refusal:
        Calendar.from_json({"timezone": "Mars", "hours": {"mon": "x"}, "holidays": ["y"]})
    assert set(refusal.value.problems) == {"timezone", "hours.mon", "holidays.y"}


def test_calendar_is_written_as_it_is_read():
    assert Calendar.from_json(OFFICE.as_json()) == OFFICE
    assert hash(Calendar.from_json(OFFICE.as_json())) == hash(OFFICE)


def test_holidays_may_have_names():
    named = Calendar.from_json({**BERLIN, "holidays": {"12-25": "Christmas"}})
    assert named.holidays == {"12-25"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["mon", "09:00-10:00", "12-25"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
KEYS = st.sampled_from(["timezone", "hours", "holidays", "half_days", "other"])


@given(JSON | st.dictionaries(KEYS, JSON))
@unhurried
def test_any_json_is_a_calendar_or_a_refusal(stored: Any):
    try:
        calendar = Calendar.from_json(stored)
    except CalendarError as error:
        problems = error.problems
    else:
        problems = {"": calendar.zone.key}
    assert problems


START = datetime(2028, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 3 * 366 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes))
CALENDARS = st.sampled_from([OFFICE, ALWAYS, NIGHTS])
DAYS = st.integers(0, 30)
MINUTES = st.integers(1, 100 * 60)


@given(CALENDARS, MOMENTS, st.integers(0, 60 * 24 * 10), DAYS, MINUTES)
@unhurried
def test_later_start_never_ends_earlier(calendar: Calendar, moment: datetime, later: int, days: int, minutes: int):
    duration = f"P{days}DT{minutes}M"
    other = moment + timedelta(minutes=later)
    assert calendar.add_business_time(moment, duration) <= calendar.add_business_time(other, duration)


@given(CALENDARS, MOMENTS, st.sampled_from(["P1M", "P1W", "P2D", "PT5H", "P0D", "P1Y1M1DT1S"]))
@unhurried
def test_time_never_runs_backwards(calendar: Calendar, moment: datetime, duration: str):
    assert calendar.add_business_time(moment, duration) >= moment


@given(CALENDARS, MOMENTS, MINUTES, MINUTES)
@unhurried
def test_working_time_adds_up(calendar: Calendar, moment: datetime, first: int, second: int):
    at_once = calendar.add_business_time(moment, f"PT{first + second}M")
    halfway = calendar.add_business_time(moment, f"PT{first}M")
    assert calendar.add_business_time(halfway, f"PT{second}M") == at_once


@given(CALENDARS, MOMENTS, MINUTES)
@unhurried
def test_working_time_between_is_the_inverse_of_adding(calendar: Calendar, moment: datetime, minutes: int):
    reached = calendar.add_business_time(moment, f"PT{minutes}M")
    assert calendar.business_time_between(moment, reached) == timedelta(minutes=minutes)


@given(CALENDARS, MOMENTS)
@unhurried
def test_next_opening_is_open_and_nothing_before_it_is(calendar: Calendar, moment: datetime):
    opening = calendar.next_open(moment)
    assert calendar.is_open(opening)
    assert opening >= moment
    assert calendar.business_time_between(moment, opening) == timedelta()


@given(MOMENTS, DAYS)
@unhurried
def test_business_days_are_counted_as_on_fingers(moment: datetime, days: int):
    day = moment.date()
    reached = OFFICE.add_business_days(day, days)
    counted = [day + timedelta(days=index) for index in range(1, (reached - day).days + 1)]
    assert sum(map(OFFICE.is_business_day, counted)) == days
