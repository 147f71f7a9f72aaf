"""Migrate one process at a time: of two hosts that start a release together, one migrates and the other waits for it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.core.management.commands import migrate
from django.db import connections

LOCK = 0x776F726B666C6F77
"""The number of the lock in PostgreSQL, of this database alone: the letters of `workflow`."""
ASK_EVERY = 0.5


class Command(migrate.Command):
    """Django's own command under a lock."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the lock, then migrate."""
        with connections[options["database"]].wrap_database_errors, self._alone(options["database"]):
            super().handle(*args, **options)

    @contextmanager
    def _alone(self, alias: str) -> Iterator[None]:
        """Hold the lock on a connection of its own.

        It is asked for again and again, never waited for: an index that is built concurrently waits for every open
        statement, so that who waits inside one would wait for each other. It belongs to a transaction, which a pooler
        leaves alone, and that one may idle for as long as migrations take.
        """
        with psycopg.connect(**connections[alias].get_connection_params()) as line:
            waits = False
            while not _is_taken(line):
                line.rollback()
                if not waits:
                    self.stderr.write("Another process migrates this database. Waiting until it is done.")
                waits = True
                time.sleep(ASK_EVERY)
            yield


def _is_taken(line: psycopg.Connection[Any]) -> bool:
    line.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    row = line.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK]).fetchone()
    return bool(row and row[0])
