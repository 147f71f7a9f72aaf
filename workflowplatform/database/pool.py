"""Keep a web process's connections: so many at once, each checked before it is lent, opened by the request that needs one.

Nothing happens in the background. A server that is away is noticed by the request that asks for it, at once and with the real
cause; the first request after its return connects. When every connection is lent, requests wait for a bounded time and are
then told exactly that, which is not the same as a missing server (docs/decisions/0035-a-pool-of-our-own.md says why).
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

Driver = psycopg.Connection[Any]

MOST_IDLE_SECONDS = 600.0
"""A connection that nobody used for this long is closed."""
MOST_AGE_SECONDS = 3600.0
"""A connection is replaced after this long, so that no server process grows for ever."""
SLOW_SECONDS, REMEMBERED_SECONDS = 1.0, 0.5
"""A connection that failed only after so long fails for everybody for a moment; one that is refused at once costs nothing."""
OPENED_AT = "_opened_at"


class TooBusy(psycopg.OperationalError):
    """All connections of this process are in use."""


class Pool:
    """Lend at most `size` connections; `connect` opens one."""

    def __init__(self, connect: Callable[[], Driver], *, size: int, patience: float) -> None:
        self._connect, self._size, self._patience = connect, size, patience
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._places = threading.BoundedSemaphore(self._size)
        self._lock = threading.Lock()
        self._idle: deque[tuple[float, Driver]] = deque()
        """When each connection came back; the last one that came back is lent first, so that surplus ones grow old."""
        self._silence: tuple[float, str] | None = None
        """When a host last kept silent and what was said of it, so that a crowd does not find out one place after the other."""
        self._closed = False

    def open(self) -> None:
        """Begin anew in a forked process: its parent's connections are not its own."""
        if self._owner != os.getpid():
            self._begin()

    def getconn(self) -> Driver:
        """Lend a connection that works; raise TooBusy if none comes back in time, or what connecting raises."""
        if not self._places.acquire(timeout=self._patience):
            raise TooBusy(f"all {self._size} database connections of this process were in use for {self._patience:g} s")
        try:
            return self._working() or self._new()
        except BaseException:
            self._places.release()
            raise

    def putconn(self, driver: Driver) -> None:
        """Take a connection back; one that is broken, old or in doubt is closed."""
        try:
            if self._closed or not _is_fit(driver):
                driver.close()
            else:
                driver.autocommit = True
                self._keep(driver)
        finally:
            self._places.release()

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        self._closed = True
        while (driver := self._last_used()) is not None:
            driver.close()

    def _working(self) -> Driver | None:
        """Find an idle connection that answers. After a restart of the server none does: all of them go, without a pause."""
        while (driver := self._last_used()) is not None:
            if _answers(driver):
                return driver
            driver.close()
        return None

    def _last_used(self) -> Driver | None:
        with self._lock:
            return self._idle.pop()[1] if self._idle else None

    def _keep(self, driver: Driver) -> None:
        """Put it with the idle ones, and close the one that is idle longest if nobody needed it for long."""
        now = time.monotonic()
        with self._lock:
            self._idle.append((now, driver))
            unused = self._idle.popleft()[1] if now - self._idle[0][0] > MOST_IDLE_SECONDS else None
        if unused is not None:
            unused.close()

    def _new(self) -> Driver:
        began = time.monotonic()
        if self._silence and began - self._silence[0] < REMEMBERED_SECONDS:
            raise psycopg.OperationalError(self._silence[1])
        try:
            driver = self._connect()
        except psycopg.OperationalError as error:
            now = time.monotonic()
            self._silence = (now, str(error)) if now - began > SLOW_SECONDS else None
            raise
        driver._pool = None  # how psycopg is told that a pool sees to the end of this connection
        vars(driver)[OPENED_AT] = time.monotonic()
        return driver


def _is_fit(driver: Driver) -> bool:
    is_settled = not driver.closed and driver.info.transaction_status == TransactionStatus.IDLE
    return is_settled and time.monotonic() - vars(driver)[OPENED_AT] < MOST_AGE_SECONDS


def _answers(driver: Driver) -> bool:
    """Ask for nothing: the cheapest round trip."""
    try:
        driver.execute("")
    except psycopg.Error:
        return False
    return True
