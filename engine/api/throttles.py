"""Hold back who asks too often: so many requests a minute a token, and a tenant.

Counted in Valkey, one window of a minute each, one round trip a request. Where Valkey is away everybody passes, and
nobody waits for it more than once in a few seconds: a limit protects the platform and must never be what stops it.
"""

import os
import time
from collections.abc import Iterator
from functools import cache

from django.conf import settings
from redis import Redis, RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from workflowplatform.accounts.models import Token, User

WINDOW_SECONDS = 60
PATIENCE_SECONDS = 0.5
SILENT_SECONDS = 5.0
EXPIRED_EVERY = 50
"""With which counts a window is told to end by itself: the first, and some later ones in case that one's caller died between."""


@cache
def _client(address: str) -> Redis:
    return Redis.from_url(address, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS)


class PerMinute(BaseThrottle):
    """Count a request against its token and its tenant, and refuse it when either has had enough."""

    _silent_until = 0.0

    def allow_request(self, request: Request, view: object) -> bool:
        limits = dict(_limits(request))
        if not limits or time.monotonic() < PerMinute._silent_until:
            return True
        now = time.time()
        try:
            counted = _count(list(limits), int(now // WINDOW_SECONDS))
        except (RedisError, OSError):
            PerMinute._silent_until = time.monotonic() + SILENT_SECONDS
            return True
        self._wait = WINDOW_SECONDS - now % WINDOW_SECONDS
        return all(count <= limit for count, limit in zip(counted, limits.values(), strict=True))

    def wait(self) -> float:
        """Say after how many seconds the next window begins."""
        return self._wait


def _limits(request: Request) -> Iterator[tuple[str, int]]:
    if isinstance(request.auth, Token) and settings.WORKFLOW_TOKEN_REQUESTS:
        yield f"token:{request.auth.digest[:24]}", settings.WORKFLOW_TOKEN_REQUESTS
    if isinstance(request.user, User) and settings.WORKFLOW_TENANT_REQUESTS:
        yield f"tenant:{request.user.tenant_id}", settings.WORKFLOW_TENANT_REQUESTS


def _count(names: list[str], window: int) -> list[int]:
    prefix = os.environ.get("WORKFLOW_REDIS_PREFIX", "")
    keys = [f"{prefix}wf:asked:{name}:{window}" for name in names]
    with _client(settings.REDIS_URL).pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.incr(key)
        counts = [int(count) for count in pipe.execute()]
        for key in (key for key, count in zip(keys, counts, strict=True) if count % EXPIRED_EVERY == 1):
            pipe.expire(key, 2 * WINDOW_SECONDS)
        pipe.execute()
        return counts
