"""Only the database's clock decides; what a worker's machine believes changes nothing."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from benchmarks.faults.clocks import SKEWED
from workflowplatform import ids


def test_workers_with_wrong_clocks_change_nothing(transactional: None, valkey: object) -> None:
    outcome = SKEWED.run(SKEWED.short)
    assert outcome.is_green, outcome


def test_ids_follow_the_database_where_a_clock_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_off_ns", 0)
    truth = datetime(2026, 5, 4, 12, tzinfo=UTC)
    with time_machine.travel(truth + timedelta(days=5), tick=False):
        wrong = ids.uuid7()
        ids.keep_time(truth)
        right = ids.uuid7()
        ids.keep_time(truth + timedelta(milliseconds=300))
        later = ids.uuid7()
    assert wrong.int >> 80 == int((truth + timedelta(days=5)).timestamp() * 1000)
    assert right.int >> 80 == later.int >> 80 == int(truth.timestamp() * 1000)
