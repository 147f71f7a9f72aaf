"""Serve `stream/` over ASGI: Django decides who may listen, then the stream continues without it.

A view in Django keeps a thread, and with it a database connection, for as long as its answer lasts. So the request that asks for
a stream goes through all of Django with a ticket in its scope; the view puts a listener on the ticket and answers at once, or
refuses as every view does. With a listener in hand the rest is a loop here that sends what the hub's reader leaves.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from typing import Any

from engine.streaming.hub import hub
from engine.streaming.listeners import Listener
from workflowplatform.servers.web import RETIRE

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

PATH = "/api/v1/stream/"
TICKET = "workflow.stream"
HEARTBEAT = 15.0
PATIENCE = 30.0
"""How long a client may leave what was sent to it unread."""
RETRY = 2000
"""After how many milliseconds a browser comes back."""
OWN = {b"content-type", b"content-length", b"cache-control"}
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


@dataclass(slots=True)
class Ticket:
    """What a request for a stream carries through Django."""

    listener: Listener | None = None


@dataclass(slots=True)
class Held:
    """An answer of Django's that is not sent yet."""

    messages: list[Message] = field(default_factory=list)

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return what Django says with every answer, but for what belongs to its own."""
        found = [(name, value) for name, value in self.messages[0]["headers"] if name.lower() not in OWN]
        return [*found, *HEADERS]


class Streams:
    """Serve streams, and pass everything else to Django."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._told_of_the_end = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].endswith(PATH):
            await self._app(scope, receive, send)
            return
        ticket, held = Ticket(), Held()
        try:
            await self._app({**scope, TICKET: ticket}, receive, held.send)
            if ticket.listener is not None and held.messages:
                self._hear_of_the_end()
                await _serve(ticket.listener, held, receive, send)
            else:
                for message in held.messages:
                    await send(message)
        finally:
            if ticket.listener is not None:
                hub.leave(ticket.listener)

    def _hear_of_the_end(self) -> None:
        """End open streams when the server is told to stop or to retire: it would wait for them."""
        if self._told_of_the_end or current_thread() is not main_thread():
            return
        self._told_of_the_end = True
        for asked in (signal.SIGTERM, signal.SIGINT, RETIRE):
            before = signal.getsignal(asked)
            if callable(before):
                signal.signal(asked, _closing_first(before))


def _closing_first(before: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    def told(number: int, frame: Any) -> Any:
        hub.close()
        return before(number, frame)

    return told


async def _serve(listener: Listener, held: Held, receive: Receive, send: Send) -> None:
    """Send until the client goes, stops reading, or is ended."""
    news = listener.attend()
    gone = asyncio.ensure_future(_until_gone(receive))
    gone.add_done_callback(lambda _: news.set())
    try:
        await send({"type": "http.response.start", "status": 200, "headers": held.headers})
        await _send(send, f"retry: {RETRY}\n".encode() + _next_words(listener))
        while not (listener.ended or gone.done()):
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), HEARTBEAT)
            news.clear()
            if not gone.done():
                await _send(send, _next_words(listener))
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except TimeoutError:
        pass  # it has not read for so long that nobody will
    finally:
        gone.cancel()


def _next_words(listener: Listener) -> bytes:
    """Return what waits, or a heartbeat: no event, but it tells the client how far it has heard."""
    payload, end = listener.take()
    return payload or f": \nid: {end}\n\n".encode()


async def _send(send: Send, body: bytes) -> None:
    await asyncio.wait_for(send({"type": "http.response.body", "body": body, "more_body": True}), PATIENCE)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
