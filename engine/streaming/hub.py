"""Hold the listeners of a process, and read for them in one thread.

Every listener has a position of its own. Listeners at the same position share a read, and all that have caught up are at the same
position: so a thousand open streams of a tenant cost one read per look. A slow client is passed over until it has room; it keeps
its position in the database and takes no memory here.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from threading import Lock, Thread
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, connection

from engine.audit.cursor import Position, settled_position
from engine.conf import conf
from engine.errors import Conflict
from engine.kernel.json_text import write_json
from engine.services.stream_events import Pass, StreamEvent, heard_by, read_events, who_holds
from engine.streaming.listeners import Listener
from engine.streaming.wake_up import WakeUp
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.tenancy import acting_for, crossing

log = structlog.get_logger(__name__)

STRETCH = 200
"""How many acts are read at a time."""
BREATH = 0.05
"""The shortest pause between two looks."""
LINGER = 30.0
"""How long the reader stays, with its connection, after the last listener left."""


class TooManyStreams(Conflict):
    """A person or this process has as many open streams as allowed."""


class Hub:
    """The listeners of a process."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._wake_up = WakeUp()
        self._closed = False

    def admit(self, actor: Actor, given: Pass, position: Position) -> Listener:
        """Take in a listener, unless there are too many."""
        listener = Listener(actor, given, position)
        with self._lock:
            self._refuse_crowd(actor)
            self._listeners.add(listener)
            if self._closed:
                listener.end()
            elif self._thread is None:
                self._thread = Thread(target=self._read, name="streams", daemon=True)
                self._thread.start()
        self._wake_up.set()
        return listener

    def _refuse_crowd(self, actor: Actor) -> None:
        own = Counter(listener.actor.person_id for listener in self._listeners)[actor.person_id]
        if own >= conf.streams_per_person:
            raise TooManyStreams(f"You have {own} open streams already; close one first.", code="streams")
        if len(self._listeners) >= conf.streams:
            raise TooManyStreams("This server has too many open streams. Try again later.", code="streams")

    def leave(self, listener: Listener) -> None:
        """Remove a listener."""
        with self._lock:
            self._listeners.discard(listener)

    def close(self) -> None:
        """End every stream, now and from now on: the server stops. Called in a signal's handler, so it takes no lock."""
        self._closed = True
        for listener in tuple(self._listeners):
            listener.end()

    def _read(self) -> None:
        """Read for everybody until nobody has listened for a while."""
        empty_since = checked_at = time.monotonic()
        try:
            with self._wake_up as wake_up:
                while True:
                    listeners = self._now()
                    if listeners:
                        empty_since = time.monotonic()
                    elif time.monotonic() - empty_since > LINGER:
                        return
                    busy = self._look(listeners)
                    if time.monotonic() - checked_at > conf.stream_check_seconds:
                        checked_at = time.monotonic()
                        self._check(listeners)
                    time.sleep(BREATH)
                    if not busy:
                        wake_up.wait()
        finally:
            connection.close()
            self._give_up()

    def _give_up(self) -> None:
        """End all streams rather than leave them without a reader; clients reconnect and get a new one."""
        with self._lock:
            self._thread = None
            for listener in self._listeners:
                listener.end()

    def _now(self) -> tuple[Listener, ...]:
        with self._lock:
            return tuple(self._listeners)

    def _look(self, listeners: Sequence[Listener]) -> bool:
        """Read one stretch for every position of a listener; return whether to look again at once."""
        try:
            return listeners != () and read_for(listeners)
        except (OperationalError, InterfaceError) as error:
            log.warning("the database did not answer, streams wait", error=type(error).__name__)
            connection.close()
            return False

    def _check(self, listeners: Sequence[Listener]) -> None:
        """End the streams of those who are not any more who came in."""
        try:
            end_strangers(listeners)
        except (OperationalError, InterfaceError):
            connection.close()


def read_for(listeners: Iterable[Listener]) -> bool:
    """Read for listeners that have room; return whether any got events, so that more may have come."""
    places: dict[tuple[UUID, Position], list[Listener]] = defaultdict(list)
    for listener in listeners:
        if listener.has_room and not listener.ended:
            places[listener.actor.tenant_id, listener.position].append(listener)
    here, busy = settled_position(), False
    for (tenant_id, position), group in places.items():
        with acting_for(tenant_id):
            events, stretch = read_events(tenant_id, position, here, STRETCH)
            busy = busy or bool(events)
            _give(group, events, stretch.end)
    return busy


def _give(group: Iterable[Listener], events: Sequence[StreamEvent], end: Position) -> None:
    """Send each listener what they may see; people with several streams are asked after once."""
    written: dict[Actor, bytes] = {}
    for listener in group:
        if listener.actor not in written:
            written[listener.actor] = b"".join(map(write_event, heard_by(listener.actor, events)))
        listener.put(written[listener.actor], end)


def write_event(event: StreamEvent) -> bytes:
    """Write one event as it goes over the wire."""
    return f"id: {event.position}\ndata: {write_json(event.as_json())}\n\n".encode()


def end_strangers(listeners: Collection[Listener]) -> None:
    """End the streams whose pass is gone, or whose person has another level, other roles or another tenant by now."""
    with crossing("streams"):
        known = who_holds(
            {(each.given, each.actor.person_id) for each in listeners if each.actor.person_id is not None}
        )
    for listener in listeners:
        if known.get(listener.given) != listener.actor:
            listener.end()


hub = Hub()
"""This process's own."""
