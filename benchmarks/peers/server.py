"""What the server says it wrote: bytes of the write-ahead log, rows, entries in indexes."""

import time
from dataclasses import dataclass
from typing import Any

import psycopg

COUNTERS = """
SELECT coalesce(sum(s.n_tup_ins), 0), coalesce(sum((s.n_tup_ins + s.n_tup_upd - s.n_tup_hot_upd) * i.number), 0)
FROM pg_stat_user_tables s CROSS JOIN LATERAL (SELECT count(*) AS number FROM pg_index WHERE indrelid = s.relid) i
"""
"""At most: a new version of a row counts for every index of its table, also where a condition leaves it out."""


@dataclass(frozen=True, slots=True)
class Server:
    """The PostgreSQL that all competitors share."""

    host: str
    user: str
    database: str

    def connect(self, database: str = "") -> psycopg.Connection[Any]:
        """Open a connection as the owner."""
        return psycopg.connect(host=self.host, user=self.user, dbname=database or self.database, autocommit=True)

    def create(self, database: str) -> None:
        """Create a competitor's own database, if it is not there."""
        with self.connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone():
                connection.execute(f'CREATE DATABASE "{database}"')

    def log_position(self, connection: psycopg.Connection[Any]) -> int:
        """Return how many bytes of the write-ahead log were ever written."""
        row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
        assert row is not None
        return int(row[0])

    def written(self, database: str) -> tuple[int, int]:
        """Return how many rows and index entries were written by sessions that are over; wait for those that just ended."""
        with self.connect(database) as connection:
            self._await_ends(connection, database)
            row = connection.execute(COUNTERS).fetchone()
            assert row is not None
            return int(row[0]), int(row[1])

    def _await_ends(self, connection: psycopg.Connection[Any], database: str) -> None:
        others = (
            "SELECT 1 FROM pg_stat_activity "
            "WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        until = time.monotonic() + 20
        while connection.execute(others, [database]).fetchone() and time.monotonic() < until:
            time.sleep(0.05)
