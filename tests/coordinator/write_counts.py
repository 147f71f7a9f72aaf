"""Count what acts write: rows, entries in indexes, bytes of the write-ahead log."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

COUNTERS = """
SELECT sum(s.n_tup_ins), sum(s.n_tup_upd), sum(s.n_tup_hot_upd), sum((s.n_tup_ins + s.n_tup_upd - s.n_tup_hot_upd) * i.number),
  pg_current_wal_insert_lsn() - '0/0'
FROM pg_stat_user_tables s CROSS JOIN LATERAL (SELECT count(*) AS number FROM pg_index WHERE indrelid = s.relid) i
"""


@dataclass(slots=True)
class Written:
    """What was written within a block, other sessions of the same server included."""

    rows: int = 0
    updates: int = 0
    updates_in_place: int = 0
    """Updates that touch no index."""
    index_entries: int = 0
    """At most: a new version of a row counts for every index of its table, also where a condition leaves it out."""
    bytes: int = 0


@contextmanager
def written() -> Iterator[Written]:
    """Count what is written within the block."""
    found, before = Written(), _counters()
    yield found
    after = _counters()
    found.rows, found.updates, found.updates_in_place, found.index_entries, found.bytes = (
        int(now - then) for now, then in zip(after, before, strict=True)
    )


def _counters() -> tuple[int, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(COUNTERS)
        counted: tuple[int, ...] = cursor.fetchone()
        return counted
