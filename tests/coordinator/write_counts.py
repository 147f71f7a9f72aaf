"""Count what acts write: rows, entries in indexes, bytes of the write-ahead log."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.write_ahead import Log, Reader

ROWS = "SELECT coalesce(sum(n_tup_ins), 0) FROM pg_stat_user_tables"


@dataclass(slots=True)
class Written:
    """What was written within a block, by whatever session of this database."""

    rows: int = 0
    log: Log = field(default_factory=Log)


@contextmanager
def written() -> Iterator[Written]:
    """Count what is written within the block."""
    cluster = Path(os.environ["WORKFLOW_DATA"]) / "postgres"
    found, before, reader = Written(), _rows(), Reader(_run, cluster)
    yield found
    found.log, found.rows = reader.read(), _rows() - before


def _run(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def _rows() -> int:
    _run("SELECT pg_stat_force_next_flush()")
    _run("SELECT pg_stat_clear_snapshot()")
    return int(_run(ROWS)[0][0])
