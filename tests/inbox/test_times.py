"""Moments in words."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from engine.presentation.narrative.relative_times import due_words, moment_words, span_words

pytestmark = pytest.mark.wording

NOW = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("after", "words", "tone"),
    [
        (timedelta(hours=-2), "2 h overdue", "late"),
        (timedelta(days=-1), "1 d overdue", "late"),
        (timedelta(minutes=40), "in 40 min", "soon"),
        (timedelta(hours=7), "today 17:00", "calm"),
        (timedelta(days=1), "tomorrow", "calm"),
        (timedelta(days=2), "Wed", "calm"),
        (timedelta(days=14), "30 Nov", "calm"),
        (timedelta(days=60), "15 Jan 2027", "calm"),
    ],
)
def test_due_says_how_pressing(after: timedelta, words: str, tone: str) -> None:
    said = due_words(NOW + after, NOW)
    assert (said.words, said.tone) == (words, tone)


def test_due_counts_days_in_the_persons_zone() -> None:
    with timezone.override("Pacific/Auckland"):
        assert due_words(datetime(2026, 11, 16, 15, 0, tzinfo=UTC), NOW).words == "tomorrow"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (timedelta(hours=-1), "today 09:00"),
        (timedelta(days=-1), "yesterday 10:00"),
        (timedelta(days=1), "tomorrow 10:00"),
        (timedelta(days=-3), "Fri 10:00"),
        (timedelta(days=-30), "17 Oct 10:00"),
        (timedelta(days=-400), "12 Oct 2025 10:00"),
    ],
)
def test_moment_says_day_and_time(after: timedelta, words: str) -> None:
    assert moment_words(NOW + after, NOW) == words


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(), "1 second"),
        (timedelta(seconds=42), "42 seconds"),
        (timedelta(minutes=61), "1 h 1 min"),
        (timedelta(days=3, hours=2), "3 d 2 h"),
        (timedelta(days=3, minutes=5), "3 d"),
    ],
)
def test_span_has_two_units_at_most(length: timedelta, words: str) -> None:
    assert span_words(length) == words
