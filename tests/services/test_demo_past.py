"""The demo's clock: services, audit and timers act as of a past moment, and nobody else notices."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.management.demo.clock import shifted_clock
from engine.management.demo.past import DAYS, past_stories
from engine.management.demo.stories import acme_stories, globex_stories, last_acme_stories, mark_story
from engine.models import Audit
from engine.runtime.commit import run_hot
from engine.services.tasks.lifecycle import complete_task
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

NOW = datetime(2030, 3, 6, 14, 30, tzinfo=UTC)
MONTH = timedelta(days=30)
NEAR = timedelta(minutes=1)
ASK = "{workflow: ask, steps: [{id: look, task: {roles: [finance]}}]}"


def made_at(identifier: object) -> datetime:
    """Read the moment from an id."""
    return datetime.fromtimestamp((int(identifier) >> 80) / 1000, UTC)  # type: ignore[call-overload]


def is_about(moment: datetime, wanted: datetime) -> bool:
    return abs(moment - wanted) < NEAR


@pytest.mark.django_db
def test_a_case_is_started_and_answered_in_the_past(gwen: Actor, ada: Actor) -> None:
    activated(gwen, ASK)
    now = database_now()
    with shifted_clock() as clock:
        clock.set(now - MONTH)
        case = started(gwen, "ask")
        clock.set(now - MONTH + timedelta(hours=5))
        complete_task(actor=ada, task_id=only_task(case).pk, outcome=None, values={})
    case.refresh_from_db()
    task = case.tasks.get()
    assert is_about(case.started_at, now - MONTH)
    assert is_about(made_at(case.pk), now - MONTH)
    assert is_about(task.created_at, now - MONTH)
    assert is_about(task.completed_at, now - MONTH + timedelta(hours=5))
    assert is_about(case.ended_at, now - MONTH + timedelta(hours=5))
    acts = list(Audit.objects.filter(subject_id=case.pk).order_by("seq"))
    assert acts
    assert [act.at for act in acts] == sorted(act.at for act in acts)
    assert is_about(acts[0].at, now - MONTH)


@pytest.mark.django_db
def test_afterwards_the_present_is_back_for_rows_and_ids() -> None:
    now = database_now()
    with shifted_clock() as clock:
        clock.set(now - MONTH)
        assert is_about(database_now(), now - MONTH)
        assert is_about(made_at(uuid7()), now - MONTH)
    assert is_about(database_now(), now)
    assert is_about(made_at(uuid7()), now)


@pytest.mark.django_db
def test_hot_statements_see_the_past_too() -> None:
    """Code that wraps the statements of a connection sees all of them."""
    now = database_now()
    with shifted_clock() as clock:
        clock.set(now - MONTH)
        assert is_about(run_hot("SELECT clock_timestamp()", [])[0][0], now - MONTH)
    assert is_about(run_hot("SELECT clock_timestamp()", [])[0][0], now)


@pytest.mark.django_db
def test_other_connections_stay_in_the_present() -> None:
    now = database_now()
    found: list[datetime] = []

    def look() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            found.append(cursor.fetchone()[0])
        connection.close()

    with shifted_clock() as clock:
        clock.set(now - MONTH)
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert is_about(found[0], now)


def test_the_past_is_the_same_each_time_it_is_told() -> None:
    assert past_stories(NOW) == past_stories(NOW)


@pytest.mark.parametrize("days", range(7))
def test_the_past_lies_in_the_last_thirty_days(days: int) -> None:
    now = NOW + timedelta(days=days)
    stories = past_stories(now)
    begins = [story.began for story in stories if story.began]
    assert len(begins) == len(stories) > 100
    assert begins == sorted(begins)
    assert now - timedelta(days=DAYS + 1) < begins[0]
    for story in stories:
        moments = [story.began, *(deed.at for deed in story.deeds)]
        assert all(moment is not None and moment < now for moment in moments), story.reference
        assert moments == sorted(moments, key=lambda moment: moment or now), story.reference


@pytest.mark.parametrize("days", range(7))
def test_no_reference_is_told_twice(days: int) -> None:
    told = [*past_stories(NOW + timedelta(days=days)), *acme_stories(), *last_acme_stories(), mark_story()]
    assert [name for name, times in Counter(story.reference for story in told).items() if times > 1] == []
    assert globex_stories()
