"""A worker that found nothing sleeps until something can be due, and never past it."""

import time
from datetime import timedelta
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch import drain as draining
from engine.dispatch import rq
from engine.dispatch.drain import FARTHEST_LOOK, NEAREST_LOOK, Drained, drain, seconds_to_next_look
from engine.dispatch.rq import make_worker
from engine.models import Signal
from tests.cast import Cast
from tests.workflows import TIMER, activated, started


@pytest.fixture
def timer(committed_cast: Cast, settings: Any) -> Signal:
    """Return the signal of a timer that nobody drains."""
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    return Signal.objects.get(instance=started(committed_cast.actor("ada"), "timer"))


def test_a_signal_that_falls_due_right_after_the_last_look_is_looked_for_at_once(timer: Signal, valkey: object) -> None:
    drained = drain()
    Signal.objects.filter(pk=timer.pk).update(due_at=database_now())
    assert seconds_to_next_look(drained.looked_at) == NEAREST_LOOK


def test_a_signal_that_was_due_before_the_last_look_is_left_to_who_holds_it(timer: Signal, valkey: object) -> None:
    """On a busy machine the answer may come too late to be trusted, and a nearer look is right; in the end it is not."""
    Signal.objects.filter(pk=timer.pk).update(due_at=database_now() - timedelta(minutes=1))
    give_up = time.monotonic() + 60
    while seconds_to_next_look(time.monotonic()) != FARTHEST_LOOK:
        assert time.monotonic() < give_up


def test_a_drain_that_had_done_enough_for_once_is_followed_by_another_at_once(
    timer: Signal, committed_cast: Cast, valkey: object, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WORKFLOW_DRAIN_BATCH = 1
    monkeypatch.setattr(draining, "MAX_SIGNALS", 1)
    started(committed_cast.actor("ada"), "timer")
    Signal.objects.update(due_at=database_now())
    worker = make_worker("enough")
    assert [(drain().has_more, Signal.objects.count()) for _ in range(3)] == [(True, 1), (True, 0), (False, 0)]
    assert worker._seconds_ahead(Drained(has_more=True)) == 0.0
    assert worker._seconds_ahead(Drained()) > 0.0


class Clock:
    """A clock that only moves when the code sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_worker_is_awake_at_the_due_moment_although_redis_lets_go_late(
    valkey: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, worker = Clock(), make_worker("punctual")
    monkeypatch.setattr(rq, "time", clock)
    monkeypatch.setattr(worker, "_seconds_ahead", lambda drained: 0.5)
    monkeypatch.setattr(worker, "_pop", lambda seconds: clock.sleep(seconds + rq.SLEEP_AHEAD if seconds else 0))
    assert worker._next_job(5, Drained()) is None
    assert clock.now == pytest.approx(0.5)


def test_a_worker_that_waits_for_a_near_moment_still_hears_a_wake_up(
    valkey: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, worker, asked = Clock(), make_worker("attentive"), []
    job = (object(), object())

    def pop(seconds: float | None) -> object:
        asked.append(seconds)
        return job if len(asked) == 4 else None

    monkeypatch.setattr(rq, "time", clock)
    monkeypatch.setattr(worker, "_seconds_ahead", lambda drained: rq.SLEEP_AHEAD)
    monkeypatch.setattr(worker, "_pop", pop)
    assert worker._next_job(5, Drained()) is job
    assert clock.now < rq.SLEEP_AHEAD / 2
