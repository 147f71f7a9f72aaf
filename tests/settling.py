"""Wait until everything committed so far lies below the horizon: transactions of tests beside this one hold it back."""

import time

from django.db import connection

from engine.audit.cursor import horizon

PATIENCE = 120.0


def settle() -> None:
    """Wait for every transaction that began before now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        now = cursor.fetchone()[0]
    until = time.monotonic() + PATIENCE
    while horizon().xid <= now:
        assert time.monotonic() < until, "a transaction stayed open"
        time.sleep(0.05)
