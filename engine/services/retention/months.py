"""Keep a partition ready for each month to come, and give back the disk of past ones.

The audit of a case is in the partition of the month in which the case began, an event in that of the month in which its task
was opened: ids say it. Retention deletes chain by chain, because each template has its own windows, and leaves anchors; a month
that is over and of which nothing is left is then dropped as a whole. Rows for whose month there is no partition are kept in one
for all others, and move when there is.
"""

from collections.abc import Iterator

from django.db import connection

from engine.db.host_locks import HeldLock

AHEAD = 3
"""How many months have their partitions before they begin; the migrations make as many."""


def sweep_months(lock: HeldLock | None = None) -> Iterator[str]:
    """Make the partitions that are missing, then drop those that are over and empty; yield the name of each that went.

    Each goes in a transaction of its own, which locks its table for a moment. One that is in use stays until the next run.
    """
    make_months()
    while name := drop_month():
        if lock is not None:
            lock.renew()
        yield name


def make_months(ahead: int = AHEAD) -> int:
    """Make the partitions that are missing for this month and those after it; return how many."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT wf_make_months(%s)", [ahead])
        return int(cursor.fetchone()[0])


def drop_month() -> str | None:
    """Drop one partition that is over and empty; return its name, or None where there is none, or all of them are in use."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT wf_drop_month()")
        name: str | None = cursor.fetchone()[0]
        return name
