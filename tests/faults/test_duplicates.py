"""Signals may come twice, too late or in another order; an instance may be everybody's at once."""

import pytest

from benchmarks.faults import crowding, duplicates
from benchmarks.faults.trial import Trial


@pytest.mark.parametrize("trial", [*duplicates.TRIALS, *crowding.TRIALS], ids=lambda trial: trial.name)
def test_nothing_is_done_twice_and_nothing_too_often(transactional: None, valkey: object, trial: Trial) -> None:
    outcome = trial.run(trial.short)
    assert outcome.is_green, outcome
