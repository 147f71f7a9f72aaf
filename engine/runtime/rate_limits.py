"""Limit how often a key passes in so many seconds; otherwise return when to ask again.

One row a key remembers when the next turn would be free if turns came evenly (GCRA): a burst up to the limit passes at once, then
one every `seconds / limit`. The row is locked until the slice commits, so that no two slices count the same turn.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from workflowplatform.ids import uuid7

HOLD = """
INSERT INTO wf_rates (id, tenant_id, key, free_at) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant_id, key) DO UPDATE SET key = excluded.key RETURNING free_at
"""


def take_turn(tenant_id: UUID, now: datetime, key: str, limit: int, seconds: float) -> datetime | None:
    """Take a turn of a tenant's key, or return when to ask again; the kernel asks before each attempt of a limited step."""
    turn = timedelta(seconds=seconds / limit)
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [uuid7(), tenant_id, key, now])
        taken_until: datetime = max(cursor.fetchone()[0], now) + turn
        if taken_until - now > timedelta(seconds=seconds):
            return taken_until - timedelta(seconds=seconds)
        cursor.execute(
            "UPDATE wf_rates SET free_at = %s WHERE tenant_id = %s AND key = %s", [taken_until, tenant_id, key]
        )
    return None
