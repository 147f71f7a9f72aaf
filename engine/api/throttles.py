"""Limit requests per minute, for each token and for each tenant.

Counted in Valkey, one window of a minute each, one round trip a request. Where Valkey is away everybody passes, and
one request in a few seconds waits for it: a limit protects the platform and must never be what stops it.
"""

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from django.conf import settings
from redis import Redis
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from engine.conf import conf
from workflowplatform.accounts.models import Token, User
from workflowplatform.circuit_breaker import REDIS_ERRORS, CircuitBreaker

WINDOW_SECONDS = 60
PATIENCE_SECONDS = 0.5
EXPIRED_EVERY = 50
"""With which counts a window is told to end by itself: the first, and some later ones in case that one's caller died between."""


@cache
def _client(address: str) -> Redis:
    return Redis.from_url(address, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS)


class PerMinute(BaseThrottle):
    """Count a request against its token and its tenant, and refuse it when either has had enough."""

    _breaker = CircuitBreaker()

    def allow_request(self, request: Request, view: object) -> bool:
        limits = dict(_limits(request))
        if not limits or not self._breaker.allows():
            return True
        now = time.time()
        try:
            counted = _count(list(limits), int(now // WINDOW_SECONDS))
        except REDIS_ERRORS as error:
            self._breaker.failed(error)
            return True
        self._breaker.succeeded()
        self._wait = WINDOW_SECONDS - now % WINDOW_SECONDS
        return all(count <= limit for count, limit in zip(counted, limits.values(), strict=True))

    def wait(self) -> float:
        """Return after how many seconds the next window begins."""
        return self._wait


def _limits(request: Request) -> Iterator[tuple[str, int]]:
    if isinstance(request.auth, Token) and conf.token_requests:
        yield f"token:{request.auth.digest[:24]}", conf.token_requests
    if isinstance(request.user, User) and conf.tenant_requests:
        yield f"tenant:{request.user.tenant_id}", conf.tenant_requests


def _count(names: list[str], window: int) -> list[int]:
    """Count up, in one round trip: the client's own pipelines cost a request more than its token does."""
    keys = [f"{conf.redis_prefix}wf:asked:{name}:{window}" for name in names]
    pool = _client(settings.REDIS_URL).connection_pool
    connection = pool.get_connection()
    try:
        counts = [int(count) for count in _told(connection, [("INCR", key) for key in keys])]
        begun = [key for key, count in zip(keys, counts, strict=True) if count % EXPIRED_EVERY == 1]
        if begun:
            _told(connection, [("EXPIRE", key, 2 * WINDOW_SECONDS) for key in begun])
        return counts
    except BaseException:
        connection.disconnect()  # type: ignore[no-untyped-call]
        raise
    finally:
        pool.release(connection)


def _told(connection: Any, commands: list[tuple[Any, ...]]) -> list[Any]:
    connection.send_packed_command(connection.pack_commands(commands))
    return [connection.read_response() for _ in commands]
