"""What the server wrote: bytes of the write-ahead log, rows, entries in indexes."""

from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.write_ahead import Log, Reader


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

    def read_log(self, database: str) -> "Reading":
        """Begin to read what is written to a competitor's tables."""
        return Reading(self.connect(database))


class Reading:
    """What is written to the tables of one database from now on."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._reader = Reader(self._run)

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement).fetchall()

    def end(self) -> Log:
        """Return what was written, by all its sessions."""
        with self._connection:
            return self._reader.read()
