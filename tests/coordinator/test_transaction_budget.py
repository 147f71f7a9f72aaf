"""How long a slice and its transaction may take: by the thread's own processor time, and by the clock."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.runtime.environment import Allowance


@pytest.fixture
def clock(settings: Any, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Give the allowance a clock that a test sets: `used` is processor time, `now` the time on the wall."""
    settings.WORKFLOW_SLICE_SECONDS, settings.WORKFLOW_TRANSACTION_SECONDS = 0.05, 0.5
    hands = SimpleNamespace(used=1.0, now=10.0)
    fake = SimpleNamespace(thread_time=lambda: hands.used, monotonic=lambda: hands.now)
    monkeypatch.setattr("engine.runtime.environment.time", fake)
    return hands


def test_other_work_on_the_machine_does_not_cut_a_slice_short(clock: SimpleNamespace) -> None:
    has_to_end = Allowance(began_at=10.0).stop_slice()
    clock.now, clock.used = 10.4, 1.01
    assert not has_to_end()


def test_a_slice_ends_when_it_has_used_its_processor_time(clock: SimpleNamespace) -> None:
    has_to_end = Allowance(began_at=10.0).stop_slice()
    clock.now, clock.used = 10.06, 1.06
    assert has_to_end()


def test_the_clock_ends_a_slice_whose_functions_block(clock: SimpleNamespace) -> None:
    has_to_end = Allowance(began_at=10.0).stop_slice()
    clock.now = 10.51
    assert has_to_end()


def test_a_worker_that_is_asked_to_stop_ends_its_slice_and_begins_no_other(clock: SimpleNamespace) -> None:
    asked: list[bool] = []
    allowance = Allowance(began_at=10.0, is_asked_to_stop=lambda: bool(asked))
    has_to_end = allowance.stop_slice()
    assert (has_to_end(), allowance.is_left) == (False, True)
    asked.append(True)
    assert (has_to_end(), allowance.is_left) == (True, False)
