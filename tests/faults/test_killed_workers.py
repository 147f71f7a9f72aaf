"""A worker that dies, wherever it dies, loses nothing and doubles nothing."""

import time

import pytest

import engine.kernel.interpreter  # noqa: F401  fills the table of kinds
from benchmarks.faults.kills import TRIALS
from engine.dispatch.boundaries import STEPS
from engine.kernel.steps.table import KINDS
from engine.models import Instance
from tests.cast import Cast
from tests.workers import running
from tests.workflows import TIMER, activated, started

pytestmark = pytest.mark.usefixtures("valkey")


def test_every_kind_of_step_has_its_boundary() -> None:
    assert set(STEPS) == set(KINDS)


def test_workers_killed_at_every_boundary_lose_and_double_nothing(transactional: None) -> None:
    """Also red when a boundary was never met: the trial's own accounting says so."""
    (trial,) = TRIALS
    outcome = trial.run(trial.short)
    assert outcome.faults == ()
    assert outcome.figures["lost"] == outcome.figures["doubled"] == outcome.figures["stuck"] == 0


def _finish(instance: Instance) -> Instance:
    give_up = time.monotonic() + 60
    with running("rqworker"):
        while not instance.is_over and time.monotonic() < give_up:
            time.sleep(0.05)
            instance.refresh_from_db()
    return instance


def test_a_start_whose_wake_up_is_lost_goes_on_by_itself(committed_cast: Cast, valkey: object) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0.01S"))
    instance = started(committed_cast.actor("ada"), "timer")
    valkey.flushdb()  # type: ignore[attr-defined]
    assert _finish(instance).status == "completed"
