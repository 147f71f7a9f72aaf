"""The database's own clock is set back or jumps ahead while instances run: nothing is lost, and history stays whole."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import Instance, Schedule, ScheduleFire, Signal
from engine.services.audit.verification import verify_everything
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.model.clock import BEGINNING, Clock, standing_clock
from tests.workflows import TWO_TASKS, activated, only_task, started

SLEEPER = """
workflow: sleeper
title: Sleeper
steps:
  - {id: rest, wait: {for: PT1H}}
  - {id: note, set: {rested: true}}
"""
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def clock(transactional: None) -> Iterator[Clock]:
    with standing_clock() as clock:
        clock.set(BEGINNING)
        yield clock


def test_an_hour_back_delays_a_timer_and_nothing_else(clock: Clock, committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, SLEEPER)
    activated(gwen, TWO_TASKS)
    sleeping, working = started(ada, "sleeper"), started(gwen, "two")
    clock.advance(-HOUR)
    for _ in range(2):
        task = claim_task(actor=ada, task_id=only_task(working).pk)
        complete_task(actor=ada, task_id=task.pk, outcome="done", values={})
    working.refresh_from_db()
    assert working.status == "completed"
    clock.advance(HOUR + HOUR / 2)
    drain()
    assert Signal.objects.filter(instance=sleeping).exists()
    clock.advance(HOUR)
    drain()
    sleeping.refresh_from_db()
    assert sleeping.status == "completed"
    assert verify_everything().broken == ()


def test_five_days_ahead_and_back_settle_each_slot_once(clock: Clock, committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), SLEEPER)
    schedule = create_schedule(actor=ada, template="sleeper", cron="0 * * * *", overlap="allow", catch_up="all")
    clock.advance(5 * DAY)
    _drain_dry()
    assert ScheduleFire.objects.filter(outcome="started").count() == 120
    clock.advance(-5 * DAY)
    _drain_dry()
    clock.advance(5 * DAY + HOUR)
    _drain_dry()
    assert ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="started").count() == 121
    assert Instance.objects.count() == 121
    assert verify_everything().broken == ()


def _drain_dry() -> None:
    while drain().signals or Schedule.objects.filter(status="active", look_at__lte=database_now()).exists():
        pass
