"""Do a long job next to the work of a worker: one share whenever nothing is due, so that signals wait for one share at most."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator

import structlog

from engine.db.host_locks import LockLost
from engine.db.transactions import is_connection_lost

log = structlog.get_logger(__name__)

Shares = Generator[None, None, None]

BETWEEN_SHARES = 0.05
"""Seconds between the shares of a worker that has nothing else to do."""
AFTER_FAILURE = 3600.0
"""Seconds after which a job that failed is tried again."""


class SharedJob(ABC):
    """One worker's part in a job that a single process at a time does under a lock."""

    name: str
    """What the log calls it."""
    seconds_between_looks: float

    def __init__(self) -> None:
        self._shares: Shares | None = None
        self._next_look = 0.0

    @abstractmethod
    def begin(self) -> Shares | None:
        """Return the job's shares where it has to be done now and no other process does it."""

    @property
    def every(self) -> float:
        """Return how soon to look again."""
        return BETWEEN_SHARES if self._shares is not None else self.seconds_between_looks

    def look(self) -> None:
        """Do a share of what is begun, or begin when it is time."""
        if self._shares is None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + self.seconds_between_looks
            self._shares = self.begin()
        if self._shares is not None:
            self._do_share(self._shares)

    def leave(self) -> None:
        """Release the lock, so that another worker can continue at once."""
        if self._shares is not None:
            self._shares.close()

    def _do_share(self, shares: Shares) -> None:
        self._shares = None
        try:
            next(shares)
        except StopIteration:
            return
        except LockLost:
            log.warning("too much time passed between two shares of a job, another worker continues", job=self.name)
            return
        except Exception:  # a full disk, a folder that cannot be written, a key that cannot be read
            if is_connection_lost():
                raise
            log.exception("a job failed, it is tried again later", job=self.name, after_seconds=AFTER_FAILURE)
            self._next_look = time.monotonic() + AFTER_FAILURE
            return
        self._shares = shares
