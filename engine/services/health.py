"""Check what the platform depends on, and the work that waits."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from engine.conf import conf
from workflowplatform.database.error_causes import BUSY, DISK_FULL, READ_ONLY, cause_of
from workflowplatform.database.pool import in_reserve
from workflowplatform.database.tenancy import crossing
from workflowplatform.ids import uuid7

log = structlog.get_logger(__name__)

SERVING, DEGRADED, DOWN = "ok", "degraded", "down"
FINE, SILENT = "ok", "does not answer"
WORDS = {BUSY: "too busy", READ_ONLY: "cannot be written", DISK_FULL: "cannot be written"}
"""What the health says of a cause; of all others that the database does not answer."""

QUEUE_FACTS = """
SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(due_at)), 0)::float8
FROM wf_signals WHERE due_at <= (SELECT clock_timestamp())
"""

LEFT = """
SELECT EXISTS (SELECT FROM wf_signals WHERE due_at < (SELECT clock_timestamp() - make_interval(secs => %s)))
"""

WRITE = """
INSERT INTO wf_host_locks (name, holder, acquired_at, expires_at)
VALUES (%s, 'health', clock_timestamp(), clock_timestamp())
"""

LIMBO = """
SELECT count(*) FROM wf_instances i
WHERE i.status = 'running'
  AND NOT EXISTS (SELECT FROM wf_waits w WHERE w.instance_id = i.id AND NOT w.side)
  AND NOT EXISTS (SELECT FROM wf_signals s WHERE s.instance_id = i.id)
"""

UNAVAILABLE = "SELECT count(*) FROM wf_template_versions WHERE status = 'active' AND unavailable <> ''"

PATIENCE_SECONDS = 2
WRITE_EVERY = 1.0
"""Seconds between two tries to write: everybody may ask for the health, and a write costs the database a transaction."""

RECENT = 2.0
"""Seconds for which an act that found the disk full counts: the health's own small row may still find room in a page."""

_written_at = -WRITE_EVERY
_found_full_at = -RECENT
_fits = False
"""Whether the database was found to have every migration of this release; it does not lose them while a process runs."""


def note_full_disk() -> None:
    """Remember that an action was refused because the disk is full."""
    global _found_full_at
    _found_full_at = time.monotonic()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether requests can be served and work is done; the rest is for operators."""

    status: str
    database: str
    redis: str
    work: str
    schema: str

    @property
    def serves(self) -> bool:
        return self.status != DOWN

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Name the parts for which it is down, with what is wrong."""
        parts = (("database", self.database), ("schema", self.schema), ("workers", self.work))
        return [(part, words) for part, words in parts if words != FINE]


@crossing("health")
def look_at_services() -> Health:
    """Ask PostgreSQL, Valkey and the queue.

    The platform is down if it cannot write, if the database lacks migrations of this release, or if work is due and no worker
    looks for it. Without Valkey work is slower, and nobody knows how many workers there are: they look by the clock.
    """
    database, valkey = _ask_database(), _ask_redis()
    work = _ask_work() if (database, valkey) == (FINE, FINE) else FINE
    schema = _ask_schema() if database == FINE else FINE
    fine = (database, work, schema) == (FINE, FINE, FINE)
    return Health((SERVING if valkey == FINE else DEGRADED) if fine else DOWN, database, valkey, work, schema)


@crossing("health")
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
        with in_reserve():
            _row("SELECT 1 FROM wf_signals LIMIT 1")
        _try_to_write()
    except DatabaseError as error:
        cause = cause_of(error)
        log.warning(cause.event, code=cause.code, cause=str(error.__cause__ or error).strip())
        return WORDS.get(cause.code, SILENT)
    return WORDS[DISK_FULL] if time.monotonic() - _found_full_at < RECENT else FINE


def _try_to_write() -> None:
    """Write a row and take it back: a standby, a read-only database and a full disk refuse it."""
    global _written_at
    now = time.monotonic()
    if now - _written_at < WRITE_EVERY:
        return
    with transaction.atomic():
        _execute(WRITE, [f"health {uuid7()}"])
        transaction.set_rollback(True)
    _written_at = now


def _ask_schema() -> str:
    """Check whether every migration of this release was applied. Later ones may be there: an older release runs on them."""
    global _fits
    if not _fits:
        known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
        try:
            _fits = not known.keys() - MigrationRecorder(connection).applied_migrations().keys()
        except DatabaseError:
            return FINE
    return FINE if _fits else "lacks migrations"


def _ask_work() -> str:
    """Check whether due work is waiting because no worker runs; a long queue alone is no problem."""
    if conf.dispatcher != "rq" or count_workers():
        return FINE
    try:
        is_left = _row(LEFT, [conf.late_seconds])[0]
    except DatabaseError:
        return FINE
    return "no worker is running" if is_left else FINE


def _ask_redis() -> str:
    try:
        with _valkey() as client:
            client.ping()
    except redis.RedisError:
        return SILENT
    return FINE


def _valkey() -> redis.Redis:
    address = settings.REDIS_URL
    patience = {"socket_connect_timeout": PATIENCE_SECONDS, "socket_timeout": PATIENCE_SECONDS}
    return redis.Redis.from_url(address, **patience)


def _row(sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row: tuple[Any, ...] = cursor.fetchone() or ()
    return row


def _execute(sql: str, values: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
