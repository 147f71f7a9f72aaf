"""Keep a web process's connections: so many at once, each checked before it is lent, opened by the request that needs one.

Nothing happens in the background. A server that is away is noticed by the request that asks for it, at once and with the real
cause; the first request after its return connects. When every connection is lent, requests wait for a bounded time and are
then told exactly that, which is not the same as a missing server (docs/decisions/0035-a-pool-of-our-own.md says why).

A request that would not be served in that time anyway is refused at once, and no more than a bounded number waits: each of them
holds a thread and its memory. The health has a connection in reserve, so that a busy server does not look like a dead one
(docs/decisions/0044-pressure-is-told-apart.md).
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
OPENED_AT, PLACE = "_opened_at", "_place"
LINE = 100
"""How many requests wait at most where nobody says otherwise."""
RESERVE_SECONDS = 1.0
"""How long the health waits for the connection in reserve; several may ask at the same moment."""
NEWEST_COUNTS = 0.2
"""How much the latest loan counts in the usual length of one."""

_in_reserve: ContextVar[bool] = ContextVar("in_reserve", default=False)


@contextmanager
def in_reserve() -> Iterator[None]:
    """Use the connection in reserve where no other is free: for the health only."""
    before = _in_reserve.set(True)
    try:
        yield
    finally:
        _in_reserve.reset(before)


class TooBusy(psycopg.OperationalError):
    """All connections of this process are in use."""


class Pool:
    """A pool of at most `size` connections; `connect` opens one."""

    def __init__(self, connect: Callable[[], Driver], *, size: int, patience: float, line: int = LINE) -> None:
        self._connect, self._size, self._patience, self._most_waiting = connect, size, patience, line
        self._begin()

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._places = threading.BoundedSemaphore(self._size)
        self._reserve = threading.BoundedSemaphore(1)
        self._lock = threading.Lock()
        self._waiting = 0
        self._usual_loan = 0.0
        """For how many seconds a connection is lent, lately."""
        self._lent_at: dict[int, float] = {}
        """Since when each connection is lent that is not back yet."""
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
        """Return a connection that works; raise TooBusy if none comes back in time, or what connecting raises."""
        place = self._take_place()
        try:
            driver = self._working() or self._new()
        except BaseException:
            place.release()
            raise
        vars(driver)[PLACE] = place
        with self._lock:
            self._lent_at[id(driver)] = time.monotonic()
        return driver

    def putconn(self, driver: Driver) -> None:
        """Take a connection back; one that is broken, old or in doubt is closed."""
        place: threading.BoundedSemaphore = vars(driver).pop(PLACE)
        self._note_loan(driver)
        try:
            if self._closed or not _is_fit(driver):
                driver.close()
            else:
                driver.autocommit = True
                self._keep(driver)
        finally:
            place.release()

    def _take_place(self) -> threading.BoundedSemaphore:
        """Take a place that is free, wait in line for one, or refuse at once; nobody overtakes those in line."""
        if not self._waiting and self._places.acquire(blocking=False):
            return self._places
        if _in_reserve.get():
            return self._take_reserve()
        self._join_line()
        try:
            if self._places.acquire(timeout=self._patience):
                return self._places
        finally:
            with self._lock:
                self._waiting -= 1
        raise TooBusy(f"all {self._size} database connections of this process were in use for {self._patience:g} s")

    def _take_reserve(self) -> threading.BoundedSemaphore:
        if not self._reserve.acquire(timeout=RESERVE_SECONDS):
            raise TooBusy(f"all {self._size} database connections of this process and its reserve were in use")
        return self._reserve

    def _join_line(self) -> None:
        with self._lock:
            expected = (self._waiting + 1) * self._loan() / self._size
            if self._waiting >= self._most_waiting or expected > self._patience:
                raise TooBusy(
                    f"all {self._size} database connections of this process were in use, {self._waiting} requests "
                    f"waited for them already, and the next would have waited {expected:.1f} s"
                )
            self._waiting += 1

    def _loan(self) -> float:
        """Return how long a loan lasts: as lately, or as long as those last that are under way."""
        now = time.monotonic()
        ages = [now - since for since in self._lent_at.values()]
        return max(self._usual_loan, sum(ages) / len(ages) if ages else 0.0)

    def _note_loan(self, driver: Driver) -> None:
        with self._lock:
            lasted = time.monotonic() - self._lent_at.pop(id(driver))
            self._usual_loan += NEWEST_COUNTS * (lasted - self._usual_loan)

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
    """Return whether the server is there: of a line on which nothing came meanwhile it is; else ask for nothing.

    A server that ends or is ended closes its lines, which comes as news. One that vanished without a word would keep a
    question waiting as well.
    """
    line = select.poll()
    line.register(driver.fileno(), select.POLLIN)
    if not line.poll(0):
        return True
    try:
        driver.execute("")
    except psycopg.Error:
        return False
    return True
