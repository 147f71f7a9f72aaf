"""Announce committed signals to workers, and committed acts to streams.

The rows of `wf_signals` are the queue; a dispatcher only wakes a drain and may forget. It is reached by the name in the settings,
so that nothing here knows what is above.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Protocol

from django.db import transaction

from engine.conf import conf

TOLD = "workflow:told"
"""The channel on which open streams are told that the audit has grown."""


class Dispatcher(Protocol):
    """What the outbox asks of a dispatcher."""

    def wake(self) -> None:
        """Make a drain look at the queue soon. Never raises: a lost wake-up costs seconds, not work."""

    def wake_in(self, seconds: float) -> None:
        """Make sure that a drain looks at the queue after that long."""

    def tell(self) -> None:
        """Make open streams look at the audit soon. Never raises: they look by themselves every second."""


@cache
def dispatcher(name: str) -> Dispatcher:
    """Return the dispatcher of that name: `engine.dispatch.<name>.dispatcher`."""
    found: Dispatcher = import_module(f"engine.dispatch.{name}").dispatcher
    return found


def announce_on_commit(dues: Sequence[datetime], now: datetime) -> None:
    """After the commit, wake a drain for the signals just written: at once, or when the first falls due."""
    if dues:
        ahead = (min(dues) - now).total_seconds()
        transaction.on_commit(lambda: _announce(ahead))


def tell_on_commit() -> None:
    """After the commit, tell open streams that something was written to the audit."""
    transaction.on_commit(_tell)


def _tell() -> None:
    dispatcher(conf.dispatcher).tell()


def _announce(ahead: float) -> None:
    chosen = dispatcher(conf.dispatcher)
    if ahead <= 0:
        chosen.wake()
    else:
        chosen.wake_in(ahead)
