"""Redis is a wake-up: emptied, stopped or refusing, it costs a look's distance and never work."""

import pytest

from benchmarks.faults.redis_away import TRIALS
from benchmarks.faults.trial import Trial


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_nothing_is_lost_whatever_redis_does(transactional: None, trial: Trial) -> None:
    outcome = trial.run(trial.short)
    assert outcome.is_green, outcome
