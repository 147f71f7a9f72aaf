"""Wait for a reason to look at the audit: a message over Redis, a new listener, or the clock.

Redis may be away, or lose messages: then the clock alone decides, and events are sent up to a second later.
"""

import time
from threading import Event
from types import TracebackType

from django.conf import settings
from redis import Redis
from redis.client import PubSub

from engine.db.transactions import TOLD
from workflowplatform.circuit_breaker import REDIS_ERRORS, CircuitBreaker

LOOK_EVERY = 1.0
"""The longest time between two looks, woken or not."""
GLANCE = 0.2
"""How often wake-ups of this process are checked."""


class WakeUp:
    """Wake the reader when something was written. Use as a context manager."""

    def __init__(self) -> None:
        self._here = Event()
        self._redis: Redis | None = None
        self._channel: PubSub | None = None
        self._breaker = CircuitBreaker()

    def __enter__(self) -> "WakeUp":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._hang_up()

    def set(self) -> None:
        """Wake the reader of this process."""
        self._here.set()

    def wait(self, seconds: float = LOOK_EVERY) -> None:
        """Return at a wake-up, or after so many seconds."""
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
        except REDIS_ERRORS as error:
            self._lose(error)
            return False
        return told is not None

    def _subscribed(self) -> PubSub | None:
        if self._channel is None and self._breaker.allows():
            try:
                self._redis = Redis.from_url(settings.REDIS_URL, socket_timeout=2.0, socket_connect_timeout=2.0)
                self._channel = self._redis.pubsub()  # type: ignore[no-untyped-call]
                self._channel.subscribe(TOLD)
                self._breaker.succeeded()
            except REDIS_ERRORS as error:
                self._lose(error)
        return self._channel

    def _lose(self, error: Exception) -> None:
        self._breaker.failed(error)
        self._hang_up()

    def _hang_up(self) -> None:
        if self._redis is not None:
            self._redis.close()
        self._redis = self._channel = None
