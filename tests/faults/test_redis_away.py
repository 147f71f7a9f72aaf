"""Redis is a wake-up: emptied, stopped, refusing or silent, it costs a look's distance and never work."""

import pytest

from benchmarks.faults.redis_away import FILLED, FLUSHED, HUNG, REFUSED, STOPPED
from benchmarks.faults.trial import Trial

LONGER = pytest.param(HUNG, marks=pytest.mark.slow)
"""A worker waits for a silent Redis for seconds before it gives it up."""


@pytest.mark.parametrize("trial", [FLUSHED, STOPPED, REFUSED, FILLED, LONGER], ids=lambda trial: trial.name)
def test_nothing_is_lost_whatever_redis_does(transactional: None, trial: Trial) -> None:
    outcome = trial.run(trial.short)
    assert outcome.is_green, outcome
