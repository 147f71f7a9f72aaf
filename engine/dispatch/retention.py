"""Run retention beside the work of a worker: a share whenever nothing is due, so that no signal waits for more than one."""

import time
from collections.abc import Generator

import structlog
from django.conf import settings

from engine.db.host_locks import LockLost
from engine.db.transactions import is_connection_lost
from engine.services.retention.runs import begin_shares, has_work

log = structlog.get_logger(__name__)

EVERY = 5.0
WHILE_SWEEPING = 0.05
"""Seconds between shares of a worker that has nothing else to do."""
PUT_OFF = 3600.0


class Sweeper:
    """One worker's hand for retention."""

    def __init__(self) -> None:
        self._shares: Generator[None, None, None] | None = None
        self._next_look = 0.0

    @property
    def every(self) -> float:
        """Say how soon to look again."""
        return WHILE_SWEEPING if self._shares is not None else EVERY

    def look(self) -> None:
        """Do a share of what is begun, or begin when it is time and nobody else does."""
        if self._shares is None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + EVERY
            daily = settings.WORKFLOW_RETENTION
            self._shares = begin_shares(daily=daily) if has_work(daily=daily) else None
        if self._shares is not None:
            self._do_share(self._shares)

    def leave(self) -> None:
        """Give the lock back, so that another worker continues at once."""
        if self._shares is not None:
            self._shares.close()

    def _do_share(self, shares: Generator[None, None, None]) -> None:
        self._shares = None
        try:
            next(shares)
        except StopIteration:
            return
        except LockLost:
            log.warning("retention took too long between two shares, another worker continues")
            return
        except Exception:
            if is_connection_lost():
                raise
            log.exception("retention failed, looking again in an hour")
            self._next_look = time.monotonic() + PUT_OFF
            return
        self._shares = shares
