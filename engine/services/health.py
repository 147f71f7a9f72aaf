"""Look at what the platform stands on, and at the work that waits."""

from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection

SERVING, DEGRADED, DOWN = "ok", "degraded", "down"

QUEUE_FACTS = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8
FROM wf_signals WHERE due_at <= (SELECT clock_timestamp())
"""

LIMBO = """
SELECT count(*) FROM wf_instances i
WHERE i.status = 'running'
  AND NOT EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = i.id AND NOT w.side)
  AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id)
"""

UNAVAILABLE = "SELECT count(*) FROM wf_template_versions WHERE status = 'active' AND unavailable <> ''"

PATIENCE_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Health:
    """Whether requests can be served; the rest is for operators."""

    status: str
    database: str
    redis: str

    @property
    def serves(self) -> bool:
        return self.status != DOWN


def look() -> Health:
    """Ask PostgreSQL and Valkey. Without the first nothing can be served; without the second work is only slower."""
    database, valkey = _ask_database(), _ask_redis()
    status = SERVING if (database, valkey) == ("ok", "ok") else DEGRADED if database == "ok" else DOWN
    return Health(status, database, valkey)


def queue_facts() -> dict[str, Any]:
    """Count what is due, what nobody could apply, what is stuck (never, says the database), and who works."""
    pending, oldest = _row(QUEUE_FACTS)
    return {
        "pending_signals": pending,
        "oldest_due_seconds": round(oldest, 3),
        "limbo": _row(LIMBO)[0],
        "dead_letters": _row("SELECT count(*) FROM wf_dead_letters")[0],
        "unavailable": _row(UNAVAILABLE)[0],
        "workers": count_workers(),
    }


def count_workers() -> int:
    """Count the workers that are alive: those whose registration has not lapsed."""
    try:
        with _valkey() as client:
            names = client.smembers("rq:workers")
            return client.exists(*names) if names else 0
    except redis.RedisError:
        return 0


def _ask_database() -> str:
    try:
        _row("SELECT 1 FROM wf_signals LIMIT 1")
    except DatabaseError:
        return "does not answer"
    return "ok"


def _ask_redis() -> str:
    try:
        with _valkey() as client:
            client.ping()
    except redis.RedisError:
        return "does not answer"
    return "ok"


def _valkey() -> redis.Redis:
    address = settings.REDIS_URL
    patience = {"socket_connect_timeout": PATIENCE_SECONDS, "socket_timeout": PATIENCE_SECONDS}
    return redis.Redis.from_url(address, **patience)


def _row(sql: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        row: tuple[Any, ...] = cursor.fetchone() or ()
    return row
