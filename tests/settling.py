"""Wait until the audit cursor has passed everything committed so far: it waits for open transactions of other tests."""

import time

from django.db import connection

from engine.audit.chain import database_now
from engine.audit.cursor import settled_position
from engine.models import Instance

PATIENCE = 120.0


def settle() -> None:
    """Wait for every transaction that began before now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        now = cursor.fetchone()[0]
    until = time.monotonic() + PATIENCE
    while settled_position().xid <= now:
        assert time.monotonic() < until, "a transaction stayed open"
        time.sleep(0.05)


def wait_until_due(instance: Instance) -> None:
    """Wait until every signal of an instance is due by the database's clock."""
    due_at = max(instance.signals.values_list("due_at", flat=True))
    until = time.monotonic() + PATIENCE
    while database_now() < due_at:
        assert time.monotonic() < until, f"{due_at} did not come"
        time.sleep(0.01)
