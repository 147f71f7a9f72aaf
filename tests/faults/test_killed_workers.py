"""A worker that dies in mid-slice loses nothing and doubles nothing."""

import time
from datetime import timedelta

import pytest

from engine.audit import database_now
from engine.dispatch.boundaries import KILL_AT, Boundary
from engine.models import Instance, Signal, SignalReceipt, StepRun
from tests.cast import Cast
from tests.flaky import counter
from tests.workers import running, start
from tests.workflows import TIMER, activated, started

SLOW_CALL = """
workflow: slow
title: Slow call
steps:
  - id: ask
    call: {python: {function: test_slow, args: {seconds: 0.1}}}
  - id: keep
    set: {slept: "${result.ask.slept}"}
"""

IN_A_DRAIN = (Boundary.CLAIMED, Boundary.LOADED, Boundary.BEFORE_COMMIT)
IN_A_CALL = (Boundary.BEFORE_CALL, Boundary.AFTER_CALL)

pytestmark = pytest.mark.usefixtures("valkey")


def _die_at(boundary: Boundary) -> None:
    """Run a worker until it kills itself there."""
    process = start("rqworker", **{KILL_AT: boundary})
    assert process.wait(20) == -9, f"no worker ever reached {boundary}"


def _finish(instance: Instance) -> Instance:
    give_up = time.monotonic() + 60
    with running("rqworker"):
        while not instance.is_over and time.monotonic() < give_up:
            time.sleep(0.05)
            instance.refresh_from_db()
    return instance


@pytest.mark.parametrize("boundary", IN_A_DRAIN)
def test_a_timer_survives_a_worker_killed_in_its_slice(committed_cast: Cast, boundary: Boundary) -> None:
    activated(committed_cast.actor("gwen"), TIMER)
    instance = started(committed_cast.actor("ada"), "timer")
    _die_at(boundary)
    instance.refresh_from_db()
    assert instance.status == "running"
    assert _finish(instance).status == "completed"
    assert SignalReceipt.objects.filter(instance=instance).count() == 1
    assert StepRun.objects.filter(instance=instance).count() == 2


@pytest.mark.parametrize("boundary", IN_A_CALL)
def test_a_call_is_made_again_with_the_same_key_when_its_worker_dies(committed_cast: Cast, boundary: Boundary) -> None:
    counter("slow").unlink(missing_ok=True)
    activated(committed_cast.actor("gwen"), SLOW_CALL)
    instance = started(committed_cast.actor("ada"), "slow")
    _die_at(boundary)
    signal = Signal.objects.get(instance=instance)
    assert signal.due_at > database_now() + timedelta(seconds=30)
    Signal.objects.filter(pk=signal.pk).update(due_at=database_now())  # the call's deadline has passed
    assert _finish(instance).state == {"slept": 0.1}
    made = counter("slow").stat().st_size
    assert made == (1 if boundary is Boundary.BEFORE_CALL else 2)
    assert instance.effects.count() == 1
    assert StepRun.objects.filter(instance=instance, step="keep").count() == 1


def test_every_boundary_of_a_drain_is_tried() -> None:
    assert set(Boundary) == {*IN_A_DRAIN, *IN_A_CALL, Boundary.BEFORE_WAKE}


def test_a_start_whose_wake_up_is_lost_goes_on_by_itself(committed_cast: Cast, valkey: object) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0.01S"))
    instance = started(committed_cast.actor("ada"), "timer")
    valkey.flushdb()  # type: ignore[attr-defined]
    assert _finish(instance).status == "completed"
