"""Wait for a reason to look at the audit: a ring over Redis, somebody new, or the clock.

Redis may be away, or forget: then the clock alone decides, and what happens is told a second later.
"""

import time
from threading import Event
from types import TracebackType

from django.conf import settings
from redis import Redis, RedisError
from redis.client import PubSub

from engine.db.outbox import TOLD

LOST = (RedisError, OSError)
LOOK_EVERY = 1.0
"""How long a stream goes without looking, rung for or not."""
GLANCE = 0.2
"""How often the local bell is listened for."""
AGAIN = 5.0
"""How long Redis is left alone after it failed."""


class Bell:
    """Rings when something was written. Use as a context."""

    def __init__(self) -> None:
        self._here = Event()
        self._redis: Redis | None = None
        self._channel: PubSub | None = None
        self._silent_until = 0.0

    def __enter__(self) -> "Bell":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._hang_up()

    def ring(self) -> None:
        """Ring in this process."""
        self._here.set()

    def wait(self, seconds: float = LOOK_EVERY) -> None:
        """Return at a ring, or after so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._here.is_set():
            if self._heard(min(left, GLANCE)):
                break
        self._here.clear()

    def _heard(self, seconds: float) -> bool:
        channel = self._subscribed()
        if channel is None:
            return self._here.wait(seconds)
        try:
            told = channel.get_message(ignore_subscribe_messages=True, timeout=seconds)
            while told is not None and channel.get_message(ignore_subscribe_messages=True, timeout=0) is not None:
                continue
        except LOST:
            self._hang_up()
            return False
        return told is not None

    def _subscribed(self) -> PubSub | None:
        if self._channel is None and time.monotonic() >= self._silent_until:
            try:
                self._redis = Redis.from_url(settings.REDIS_URL, socket_timeout=2.0, socket_connect_timeout=2.0)
                self._channel = self._redis.pubsub()
                self._channel.subscribe(TOLD)
            except LOST:
                self._hang_up()
        return self._channel

    def _hang_up(self) -> None:
        self._silent_until = time.monotonic() + AGAIN
        if self._redis is not None:
            self._redis.close()
        self._redis = self._channel = None
