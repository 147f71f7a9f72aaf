"""Drain in the process that commits: for tests, and for a shell without Redis."""

from threading import local

from engine.dispatch.drain import drain


class ImmediateDispatcher:
    """Wake by draining at once, after the commit. Timers wait for the next drain."""

    def __init__(self) -> None:
        self._here = local()

    def wake(self) -> None:
        """Drain now, unless this very drain is what announced."""
        if getattr(self._here, "draining", False):
            return
        self._here.draining = True
        try:
            drain()
        finally:
            self._here.draining = False

    def wake_in(self, seconds: float) -> None:
        """Leave it to the next drain: nobody here waits for time."""

    def wake_streams(self) -> None:
        """Leave it to the streams to look by themselves: there may be no Redis."""


dispatcher = ImmediateDispatcher()
