"""A listener: its position in the audit, and the events that wait to be sent to it."""

import asyncio
from collections import deque
from threading import RLock

from engine.audit.cursor import Position
from engine.services.stream_events import Pass
from workflowplatform.accounts.actor import Actor

MOST_WAITING = 4
"""How many stretches may wait for a slow client. Then nothing more is read for it until it has taken some."""


class Listener:
    """One open stream. The reader's thread puts, the event loop takes; both ends hold the lock for moments only."""

    def __init__(self, actor: Actor, given: Pass, position: Position) -> None:
        self.actor, self.given = actor, given
        self.position = position
        """How far the reader has read for it; what was sent may lag behind."""
        self.ended = False
        self._waiting: deque[bytes] = deque()
        self._end = position
        self._lock = RLock()  # a signal to stop may come while this very thread holds it
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None

    def attend(self) -> asyncio.Event:
        """Begin to listen in this event loop; return what is set whenever there is something to do."""
        with self._lock:
            self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()
            if self._waiting or self.ended:
                self._news.set()
            return self._news

    @property
    def has_room(self) -> bool:
        return len(self._waiting) < MOST_WAITING

    def put(self, payload: bytes, end: Position) -> None:
        """Leave a stretch to be sent, and the position behind it; an empty one only moves the position."""
        with self._lock:
            self.position = self._end = end
            if payload:
                self._waiting.append(payload)
                self._ring()

    def take(self) -> tuple[bytes, Position]:
        """Take all that waits, and the position behind it."""
        with self._lock:
            payload = b"".join(self._waiting)
            self._waiting.clear()
            return payload, self._end

    def end(self) -> None:
        """End the stream after what was taken last."""
        with self._lock:
            self.ended = True
            self._ring()

    def _ring(self) -> None:
        if self._loop is not None and self._news is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
