"""Make the day's root of the audit beside the work of a worker: a share whenever nothing is due."""

import time
from collections.abc import Generator

import structlog
from django.conf import settings

from engine.db.host_locks import LockLost
from engine.db.transactions import is_connection_lost
from engine.services.audit.roots import begin_root, is_due

log = structlog.get_logger(__name__)

EVERY = 30.0
WHILE_MAKING = 0.05
POSTPONED = 3600.0
"""Seconds after which a root that failed is tried again."""


class RootMaker:
    """One worker's share in the roots of the audit."""

    def __init__(self) -> None:
        self._shares: Generator[None, None, None] | None = None
        self._next_look = 0.0

    @property
    def every(self) -> float:
        """Say how soon to look again."""
        return WHILE_MAKING if self._shares is not None else EVERY

    def look(self) -> None:
        """Do a share of the root that is begun, or begin one when it is time and no other process does."""
        if self._shares is None and settings.WORKFLOW_AUDIT_ROOTS and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + EVERY
            self._shares = begin_root() if is_due() else None
        if self._shares is not None:
            self._do_share(self._shares)

    def leave(self) -> None:
        """Give the lock back; another worker begins the root anew."""
        if self._shares is not None:
            self._shares.close()

    def _do_share(self, shares: Generator[None, None, None]) -> None:
        self._shares = None
        try:
            next(shares)
        except StopIteration:
            return
        except LockLost:
            log.warning("a root of the audit took too long between two shares, another worker makes it")
            return
        except Exception:  # a full disk, a folder that cannot be written, a key that cannot be read
            if is_connection_lost():
                raise
            log.exception("the root of the audit failed, trying again in an hour")
            self._next_look = time.monotonic() + POSTPONED
            return
        self._shares = shares
