"""Ask servers that the environment names whether they answer, before anything is started for them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import psycopg
import redis

from workflowplatform.servers import database_url
from workflowplatform.servers.errors import CannotStart

OLDEST_POSTGRESQL = 150000
PATIENCE_SECONDS = 5


def refuse_silent_servers(environment: Mapping[str, str]) -> None:
    """Raise one sentence when a named server does not answer; never print a password."""
    if environment.get("DATABASE_URL"):
        _refuse_silent_database(environment["DATABASE_URL"])
    if environment.get("REDIS_URL"):
        _refuse_silent_redis(environment["REDIS_URL"])


def _refuse_silent_database(url: str) -> None:
    try:
        entry = database_url.from_url(url)
        with psycopg.connect(url, connect_timeout=PATIENCE_SECONDS) as connection:
            version = connection.info.server_version
    except ValueError as error:
        raise CannotStart(str(error)) from error
    except psycopg.Error as error:
        raise CannotStart(
            f"DATABASE_URL does not answer (database {entry['NAME']} at {entry['HOST'] or 'the local socket'}: "
            f"{_first_line(error)}): "
            "start that server or correct the address, or unset DATABASE_URL to use the embedded PostgreSQL."
        ) from error
    if version < OLDEST_POSTGRESQL:
        raise CannotStart(
            f"DATABASE_URL is a PostgreSQL {version // 10000}, but 15 or newer is needed: name another server."
        )


def _first_line(error: psycopg.Error) -> str:
    """Take the server's reason without the address it repeats."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    return lines[0].rpartition("failed: ")[2].rstrip(".")


def _refuse_silent_redis(url: str) -> None:
    try:
        client = redis.Redis.from_url(url, socket_connect_timeout=PATIENCE_SECONDS, socket_timeout=PATIENCE_SECONDS)
        client.ping()
        client.close()
    except (redis.RedisError, ValueError) as error:
        raise CannotStart(
            f"REDIS_URL does not answer (host {urlsplit(url).hostname or urlsplit(url).path}): "
            "start that server or correct the address, or unset REDIS_URL to use the embedded Valkey."
        ) from error
