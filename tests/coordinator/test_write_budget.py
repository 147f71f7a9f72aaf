"""What one human approval writes: rows and index entries, each with a ceiling."""

from typing import Any

from benchmarks.workflows import W1
from engine.services.instances.lifecycle import start_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.coordinator.write_counts import Written, written
from tests.short_way import short_way_only
from tests.workflows import activated

pytestmark = short_way_only

ROUNDS = 10
ROWS, INDEX_ENTRIES = 13, 90
"""Measured: 12 rows, 78 to 83 entries, 16 KB. How many depends on whether a row's page has room for its next version.

The bytes are only told: every database of the server adds to them.
"""


def _approve(cast: Cast) -> None:
    ada = cast.actor("ada")
    task_id = start_instance(actor=ada, template="w1", input={"amount": 1200}).tasks[0].pk
    claim_task(actor=ada, task_id=task_id)
    complete_task(actor=ada, task_id=task_id, outcome="approve", values={"note": "ok"})


def _count(cast: Cast) -> Written:
    with written() as found:
        for _ in range(ROUNDS):
            _approve(cast)
    return found


def test_an_approval_writes_no_more_than_its_budget(committed_cast: Cast, record_property: Any) -> None:
    activated(committed_cast.actor("gwen"), W1)
    _approve(committed_cast)
    found = _count(committed_cast)
    rows, entries, kilobytes = found.rows / ROUNDS, found.index_entries / ROUNDS, found.bytes / ROUNDS / 1024
    in_place = found.updates_in_place / found.updates
    record_property(
        "figure", f"{rows:.1f} rows, {entries:.1f} index entries, {kilobytes:.1f} KB, {in_place:.0%} in place"
    )
    assert (rows <= ROWS, entries <= INDEX_ENTRIES) == (True, True), found
