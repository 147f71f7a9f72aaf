"""Take PostgreSQL's advisory locks by name, until the transaction ends.

A name is put together from its parts, so that two uses never share a lock by accident. Locks that are taken together are taken in
the order of their names: two transactions cannot wait for each other.
"""

from django.db import connection

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM (SELECT unnest(%s::text[]) AS name) names"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
"""Take one lock, unless another transaction holds it: for statements that need a way of their own to the database."""


def lock_name(*parts: object) -> str:
    """Return the name of a lock: its parts, which hold no line break, one per line."""
    return "\n".join(str(part) for part in parts)


def take_locks(*names: str) -> None:
    """Wait for these locks and hold them until the transaction ends."""
    if names:
        with connection.cursor() as cursor:
            cursor.execute(LOCK, [sorted(set(names))])
