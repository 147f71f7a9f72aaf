"""What one human approval writes: rows, index entries, updates in place and bytes of the log, each with a ceiling.

Nothing here depends on chance. It is read from the server's log, without what splitting and pruning pages costs; and every page
has room, so that an update touches indexes only where a column of theirs changes.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from benchmarks.workflows import W1
from benchmarks.write_ahead import Log, count, log_folder
from engine.services.instances.lifecycle import start_instance
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.coordinator.growth import owner
from tests.coordinator.write_counts import read_log
from tests.short_way import short_way_only
from tests.workflows import activated

pytestmark = [
    pytest.mark.django_db,
    short_way_only,
    pytest.mark.skipif(
        not log_folder().exists(),
        reason="the log of this server is not on this machine",
    ),
]

ROUNDS = 10
ROWS, BYTES = 12, 13 * 1024
"""Measured: 12 rows, 13,000 bytes."""
UPDATES, IN_PLACE = 5, 2
"""The claim moves its task and notes itself in the instance; the answer moves task, instance and the engine's row."""

BY_TABLE = {
    "wf_audit": 9,
    "wf_instances": 12,
    "wf_runtime_states": 1,
    "wf_signal_receipts": 2,
    "wf_task_candidates": 2,
    "wf_task_events": 3,
    "wf_tasks": 13,
    "wf_waits": 1,
}
"""How many entries one approval makes in the indexes of each table, 43 in all. Each new index of these tables changes this."""
UPDATED = ("wf_instances", "wf_runtime_states", "wf_tasks")


def _approve(cast: Cast) -> None:
    ada = cast.actor("ada")
    task_id = start_instance(actor=ada, template="w1", input={"amount": 1200}).tasks[0].pk
    claim_task(actor=ada, task_id=task_id)
    complete_task(actor=ada, task_id=task_id, outcome="approve", values={"note": "ok"})


@pytest.fixture
def room_in_every_page() -> Iterator[None]:
    """Let rows have a page each, so that every version of them fits in, and bring the tables' own shares back."""
    with owner() as own:
        found = own.execute(
            "SELECT relname, reloptions FROM pg_class WHERE relname = ANY (%s)", [list(UPDATED)]
        ).fetchall()
        for table in UPDATED:
            own.execute(f"ALTER TABLE {table} SET (fillfactor = 10)")
        yield
        for table, options in found:
            own.execute(f"ALTER TABLE {table} RESET (fillfactor)")
            if options:
                own.execute(f"ALTER TABLE {table} SET ({', '.join(options)})")  # type: ignore[arg-type]


@pytest.fixture
def approvals(committed_cast: Cast, room_in_every_page: None) -> Log:
    """Return what some approvals write, after one that warms up."""
    activated(committed_cast.actor("gwen"), W1)
    _approve(committed_cast)
    reader = read_log()
    for _ in range(ROUNDS):
        _approve(committed_cast)
    return reader.read()


def test_an_approval_writes_no_more_than_its_budget(approvals: Log, record_property: Any) -> None:
    rows, entries, size = (
        number / ROUNDS for number in (approvals.rows.total(), approvals.entries.total(), approvals.bytes)
    )
    record_property("figure", f"{rows:.1f} rows, {entries:.1f} index entries, {size:,.0f} bytes of the log")
    assert (rows <= ROWS, size <= BYTES) == (True, True), approvals


def test_each_table_has_the_index_entries_that_it_needs_and_no_more(approvals: Log) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text, indrelid::regclass::text FROM pg_index")
        table_of = dict(cursor.fetchall())
    found = Counter[str]()
    for index, number in approvals.entries.items():
        found[table_of[index]] += number
    assert dict(found) == {table: number * ROUNDS for table, number in BY_TABLE.items()}
    assert (approvals.updates, approvals.in_place) == (UPDATES * ROUNDS, IN_PLACE * ROUNDS)


KEPT = {
    "wf_audit": 3,
    "wf_instances": 1,
    "wf_runtime_states": 1,
    "wf_signal_receipts": 1,
    "wf_task_events": 3,
    "wf_tasks": 1,
}
"""The rows that stay of an approval that has ended."""
KEPT_BYTES = 4_900
"""Measured: 4,746 bytes in these rows. `bench growth` says what they take on disk, with indexes and what pages keep free."""
TABLES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relname LIKE 'wf\\_%'
"""


def _kept() -> dict[str, tuple[int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = [table for (table,) in cursor.fetchall()]
        counts = [f"SELECT '{table}', count(*), coalesce(sum(pg_column_size(t)), 0) FROM {table} t" for table in tables]
        cursor.execute(" UNION ALL ".join(counts))
        return {table: (rows, int(size)) for table, rows, size in cursor.fetchall()}


def test_an_approval_that_has_ended_keeps_few_rows(committed_cast: Cast, record_property: Any) -> None:
    activated(committed_cast.actor("gwen"), W1)
    before = _kept()
    _approve(committed_cast)
    after = _kept()
    grown = {table: (after[table][0] - rows, after[table][1] - size) for table, (rows, size) in before.items()}
    assert {table: rows for table, (rows, _) in grown.items() if rows} == KEPT
    size = sum(size for _, size in grown.values())
    record_property("figure", f"{size:,} bytes in rows of a finished approval")
    assert size <= KEPT_BYTES, grown


def test_what_a_copy_of_the_database_writes_is_not_counted() -> None:
    lines = [
        f"rmgr: Heap        len (rec/tot):     59/    59, tx:        {database}, lsn: 0/0191D5F8, prev 0/0191D5C0, "
        f"desc: INSERT off: 1, flags: 0x00, blkref #0: rel 1663/{database}/16725 blk 0"
        for database in (501, 502)
    ]
    log = count(lines, {(501, 16725): ("wf_tasks", False)})
    assert (log.rows, log.bytes) == (Counter(wf_tasks=1), 64)


def test_rows_that_change_while_they_live_leave_room_in_their_pages() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY (%s) AND reloptions::text LIKE '%%fillfactor%%'",
            [list(UPDATED)],
        )
        assert {table for (table,) in cursor.fetchall()} == {"wf_instances", "wf_runtime_states"}
