"""Count what acts write: rows, entries in indexes, bytes of the write-ahead log."""

from typing import Any

from django.db import connection

from benchmarks.write_ahead import Reader


def read_log() -> Reader:
    """Begin to read what is written to this database's tables, by whatever session."""
    return Reader(_run)


def _run(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()
