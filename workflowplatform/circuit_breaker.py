"""Keep callers away from Redis after it failed, so that they do not all wait for it.

A breaker is closed while Redis answers. A failure opens it: nobody asks Redis for a while. Then it is half-open: one caller
tries, the others stay away until the result is known. Success closes it, another failure opens it again.

Only waiting costs anything. A Redis that hangs is left alone for seconds; one that refuses is asked again almost at once, so
that it is used as soon as it is back.
"""

import time
from collections.abc import Callable
from threading import Lock

from redis import RedisError
from redis import TimeoutError as RedisTimeoutError

REDIS_ERRORS = (RedisError, OSError)
"""Everything that a Redis raises that is away, refuses or hangs."""
HUNG_SECONDS = 5.0
REFUSED_SECONDS = 0.1


class CircuitBreaker:
    """Decide whether Redis may be asked now. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._open_until: float | None = None

    @property
    def is_closed(self) -> bool:
        """Return whether Redis answered last time."""
        return self._open_until is None

    def allows(self) -> bool:
        """Return whether the caller may ask Redis now, and must then report how it went."""
        if self._open_until is None:
            return True
        with self._lock:
            if self._open_until is None:
                return True
            now = self._clock()
            if now < self._open_until:
                return False
            self._open_until = now + HUNG_SECONDS  # others stay away, also if this caller never reports
            return True

    def succeeded(self) -> None:
        """Close: Redis answered."""
        if self._open_until is not None:
            with self._lock:
                self._open_until = None

    def failed(self, error: Exception) -> None:
        """Open, for as long as this error deserves."""
        seconds = HUNG_SECONDS if isinstance(error, RedisTimeoutError | TimeoutError) else REFUSED_SECONDS
        with self._lock:
            self._open_until = self._clock() + seconds
