"""Allow one process at a time to do a hosted job, such as retention, on however many hosts.

A lock is a row with a moment of expiry by the database's clock: a holder that dies frees it by that, one that takes longer renews
it. Correctness does not depend on it; the engine itself needs no such lock. Call outside a transaction: others see a lock only
once it is committed.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from engine.errors import Conflict
from workflowplatform.ids import uuid7

ACQUIRE = """
INSERT INTO wf_host_locks AS l (name, holder, acquired_at, expires_at)
VALUES (%(name)s, %(holder)s, clock_timestamp(), clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
WHERE l.expires_at <= clock_timestamp()
"""
RENEW = """
UPDATE wf_host_locks SET expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE name = %(name)s AND holder = %(holder)s AND expires_at > clock_timestamp()
"""
RELEASE = "DELETE FROM wf_host_locks WHERE name = %(name)s AND holder = %(holder)s"
HOLDER = "SELECT holder FROM wf_host_locks WHERE name = %(name)s AND expires_at > clock_timestamp()"


class LockHeld(Conflict):
    """Another process does this job now."""

    code = "locked"


class LockLost(Conflict):
    """The lock expired before it was renewed: another process may do the job by now."""

    code = "lock_lost"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that this process holds."""

    name: str
    holder: str
    seconds: float

    def renew(self) -> None:
        """Hold it for as long again, or raise LockLost where it has expired."""
        if not _run(RENEW, self):
            raise LockLost(f"The lock {self.name} expired before it was renewed.")

    def release(self) -> None:
        """Release the lock; one that expired belongs to another process and is left alone."""
        _run(RELEASE, self)


def acquire(name: str, *, seconds: float) -> HeldLock | None:
    """Take a lock for that long, or return None where another holds it."""
    lock = HeldLock(name, f"{socket.gethostname()}/{os.getpid()}/{uuid7()}", seconds)
    return lock if _run(ACQUIRE, lock) else None


@contextmanager
def host_lock(name: str, *, seconds: float = 60) -> Iterator[HeldLock]:
    """Hold a lock while the block runs; raise LockHeld where another does."""
    lock = acquire(name, seconds=seconds)
    if lock is None:
        raise LockHeld(f"{holder_of(name) or 'Another process'} does this now.", holder=holder_of(name))
    try:
        yield lock
    finally:
        lock.release()


def holder_of(name: str) -> str | None:
    """Return who holds a lock now."""
    with connection.cursor() as cursor:
        cursor.execute(HOLDER, {"name": name})
        found = cursor.fetchone()
    return found[0] if found else None


def _run(statement: str, lock: HeldLock) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"name": lock.name, "holder": lock.holder, "seconds": lock.seconds})
        return bool(cursor.rowcount)
