"""A worker that dies, wherever it dies, loses nothing and doubles nothing."""

import pytest

import engine.kernel.interpreter.run_to_wait  # noqa: F401  fills the table of kinds
from benchmarks.faults.kills import TRIALS
from engine.dispatch.crash_points import STEPS
from engine.kernel.machine.step_table import KINDS

pytestmark = pytest.mark.usefixtures("valkey")


def test_every_kind_of_step_has_its_boundary() -> None:
    assert set(STEPS) == set(KINDS)


def test_workers_killed_at_every_boundary_lose_and_double_nothing(transactional: None) -> None:
    """Also red when a boundary was never met: the trial's own accounting says so."""
    (trial,) = TRIALS
    outcome = trial.run(trial.short)
    assert outcome.faults == ()
    assert outcome.figures["lost"] == outcome.figures["doubled"] == outcome.figures["stuck"] == 0
