"""What a drain reads and locks to find its work: what is due, and a batch of it, however much is due later."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.dispatch.drain import CLAIM
from engine.models import Instance, Signal
from tests.cast import Cast
from tests.workflows import TIMER, activated, started
from workflowplatform.ids import uuid7

FUTURE = 3_000


@pytest.fixture
def timers(cast: Cast, settings: Any) -> list[Instance]:
    """Return six instances with due timers, among thousands of timers that are not due."""
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    found = [started(cast.actor("ada"), "timer") for _ in range(6)]
    Signal.objects.update(due_at=database_now() - timedelta(minutes=1))
    later = database_now() + timedelta(days=1)
    Signal.objects.bulk_create(_timer(found[0], later + timedelta(seconds=number)) for number in range(FUTURE))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE wf_signals, wf_runtime_states, wf_tenants")
    return found


def _timer(instance: Instance, due_at: Any) -> Signal:
    return Signal(
        id=uuid7(), tenant_id=instance.tenant_id, instance=instance, type="TimerDue", occurred_at=due_at, due_at=due_at
    )


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from _nodes(below)


def _explained(batch: int) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {CLAIM}", {"batch": batch, "scan": 4 * batch})
        [[answer]] = cursor.fetchall()
    plan = answer if isinstance(answer, list) else json.loads(answer)
    return list(_nodes(plan[0]["Plan"]))


def test_what_lies_in_the_future_is_not_read(timers: list[Instance]) -> None:
    read = [node for node in _explained(batch=2) if node.get("Relation Name") == "wf_signals"]
    assert read
    assert sum(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in read) <= len(timers)


def test_no_more_rows_are_locked_than_a_batch(timers: list[Instance]) -> None:
    [locking] = [node for node in _explained(batch=2) if node["Node Type"] == "LockRows"]
    assert locking["Actual Rows"] * locking["Actual Loops"] == 2
