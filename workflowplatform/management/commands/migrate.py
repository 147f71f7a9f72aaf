"""Migrate one process at a time: of two hosts that start a release together, one migrates and the other waits for it.

It does so as the owner of the tables, which WORKFLOW_OWNER_DATABASE_URL names where the application's role is another, and sets
up the wall between tenants behind every run.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.core.management.commands import migrate
from django.db import connections

from engine.db.advisory_locks import TRY_LOCK, lock_name
from workflowplatform.conf import conf
from workflowplatform.database.row_security import raise_walls
from workflowplatform.servers.database_url import from_url

LOCKED = lock_name("migrate")
"""The name of the lock, in this database alone. Two releases must know the same one, so it stays."""
ASK_EVERY = 0.5


class Command(migrate.Command):
    """Django's own command under a lock."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Take the lock, then migrate."""
        alias = options["database"]
        with _as_owner(alias), connections[alias].wrap_database_errors, self._alone(alias):
            super().handle(*args, **options)
            if not (options["plan"] or options["check_unapplied"]):
                raise_walls(connections[alias], conf.application_role)

    @contextmanager
    def _alone(self, alias: str) -> Iterator[None]:
        """Hold the lock on a connection of its own.

        It is asked for again and again, never waited for: an index that is built concurrently waits for every open
        statement, so two processes would wait for each other. The lock belongs to a transaction, which a pooler
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


@contextmanager
def _as_owner(alias: str) -> Iterator[None]:
    """Connect as the owner of the tables for a while, where the settings name one."""
    connection, url = connections[alias], conf.owner_database_url
    before = dict(connection.settings_dict)
    if not url or before["USER"] != conf.application_role:
        yield
        return
    owner = from_url(url)
    connection.close()
    connection.settings_dict.update({key: owner[key] for key in ("USER", "PASSWORD", "HOST", "PORT")})
    connection.settings_dict["OPTIONS"] = {**before["OPTIONS"], **owner.get("OPTIONS", {})}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)


def _is_taken(line: psycopg.Connection[Any]) -> bool:
    line.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    row = line.execute(TRY_LOCK, [LOCKED]).fetchone()
    return bool(row and row[0])
