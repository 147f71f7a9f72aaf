"""Map database errors to codes that say why it could not be used, for REST, pages, health checks and worker logs.

What the server answers inside a session carries an SQLSTATE. A connection that could not be made carries only the server's
sentence (libpq hands out no code before a session exists), so those few are known by their words.
"""

from dataclasses import dataclass

import psycopg

from workflowplatform.database.pool import TooBusy

BUSY, READ_ONLY, DISK_FULL, UNAVAILABLE = "busy", "read_only", "disk_full", "unavailable"


@dataclass(frozen=True, slots=True)
class Cause:
    """What a caller is told by a code, and the log by a sentence."""

    code: str
    event: str


NO_PLACE = Cause(BUSY, "too busy: no database connection of this process was free")
NO_CONNECTION = Cause(BUSY, "too busy: the database has no connection left")
NO_LOCK = Cause(BUSY, "too busy: another transaction held a lock for too long")
NO_RESOURCES = Cause(BUSY, "too busy: the database ran out of memory or a limit")
TOO_SLOW = Cause(BUSY, "too busy: a statement took longer than it may")
ONLY_READ = Cause(READ_ONLY, "the database can only be read")
NO_ROOM = Cause(DISK_FULL, "the disk of the database is full")
AWAY = Cause(UNAVAILABLE, "the database does not answer")

BY_STATE: dict[str, Cause] = {
    "25006": ONLY_READ,
    "40001": NO_LOCK,
    "40P01": NO_LOCK,
    "53100": NO_ROOM,
    "53300": NO_CONNECTION,
    "53": NO_RESOURCES,
    "55P03": NO_LOCK,
    "57014": TOO_SLOW,
}
"""By the whole SQLSTATE, else by its class."""

BY_WORDS: dict[str, Cause] = {
    "too many clients": NO_CONNECTION,
    "too many connections": NO_CONNECTION,
    "remaining connection slots": NO_CONNECTION,
    "no more connections allowed": NO_CONNECTION,
    "query_wait_timeout": NO_CONNECTION,
    "session is read-only": ONLY_READ,
    "No space left on device": NO_ROOM,
}
"""By what PostgreSQL, PgBouncer or libpq (`target_session_attrs`) says to a connection that it refuses."""


SERVERS_OWN = ("25006", "53", "57P", "58")
"""Errors of the server and not of the statement: only to be read, no resources, a shutdown, an error of the machine."""


def is_servers_own(error: psycopg.Error) -> bool:
    """Return whether no statement is to blame, and another connection may find a server that is well."""
    return (error.sqlstate or "").startswith(SERVERS_OWN)


def cause_of(error: BaseException) -> Cause:
    """Return why: the driver's error, or Django's around it, decides."""
    driver = error if isinstance(error, psycopg.Error) else error.__cause__
    if isinstance(driver, TooBusy):
        return NO_PLACE
    state = getattr(driver, "sqlstate", None) or ""
    if state:
        return BY_STATE.get(state) or BY_STATE.get(state[:2]) or AWAY
    told = str(driver or error)
    return next((cause for words, cause in BY_WORDS.items() if words in told), AWAY)
