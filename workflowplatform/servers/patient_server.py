"""Serve with uvicorn in this process, and stop or retire without refusing anybody.

uvicorn alone closes connections that are there and have not asked yet, and drops those that wait to be accepted: a proxy that has
just connected is cut off without an answer. Here the last connections are accepted, and have a moment to ask.

A process that retires has a successor on the same socket already: it leaves new connections to it, answers each request of those
that it has with `Connection: close`, and ends when the last is gone. Idle ones close after uvicorn's own five seconds.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import uvicorn

from workflowplatform.servers.web import FULL, READY, RETIRE

ENTRANCE = "workflowplatform.asgi"
"""Named, not imported: servers know nothing of the product, and it is loaded in this process only."""
LAST_SECONDS = 1.0
"""How long connections that are there may still ask, after the last one was accepted."""
RETIRING_SECONDS = 60.0
"""How long one that retires waits for its connections; streams last longer, and connect anew."""
FULL_AT = 0.8
"""The part of its memory at which a process is replaced: the rest is for what comes until its successor serves."""
TICKS_A_SECOND = 10


class PatientServer(uvicorn.Server):
    """A server that answers everybody who has reached it before it ends."""

    def __init__(self, config: uvicorn.Config, say: Callable[[bytes], object], most_bytes: Callable[[], int]) -> None:
        super().__init__(config)
        self.say, self.most_bytes = say, most_bytes
        self.is_retiring = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, tell the parent, and retire when asked to."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(RETIRE, self._retire)
        self.say(READY)

    async def on_tick(self, counter: int) -> bool:
        """Look at the memory once a second; a process that retires takes nothing more."""
        if counter % TICKS_A_SECOND == 0 and 0 < self.most_bytes() * FULL_AT < memory_held():
            self.say(FULL)
        return await super().on_tick(counter) or self.is_retiring

    def _retire(self) -> None:
        self.is_retiring = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen no more and let those who are there ask, then end as uvicorn does."""
        if not self.is_retiring:
            await self._accept_all()
        for server in self.servers:
            server.close()
        for one in sockets or []:
            one.close()
        await (self._finish() if self.is_retiring else self._wait(LAST_SECONDS))
        await super().shutdown(sockets)

    async def _finish(self) -> None:
        """Close each connection with its next answer; told to stop meanwhile, wait no longer than others do."""
        closing = (b"connection", b"close")
        self.server_state.default_headers = [*self.server_state.default_headers, closing]
        await self._wait(RETIRING_SECONDS, lambda: self.should_exit)
        if self.should_exit:
            await self._wait(LAST_SECONDS)

    async def _wait(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        until = time.monotonic() + seconds
        while self.server_state.connections and time.monotonic() < until and not self.force_exit and not is_over():
            await asyncio.sleep(0.02)

    async def _accept_all(self) -> None:
        """Accept who waits at any socket."""
        loop = asyncio.get_running_loop()
        for listener in [listener for server in self.servers for listener in server.sockets]:
            for accepted in _waiting(listener.fileno()):
                await loop.connect_accepted_socket(self._protocol, accepted)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


def memory_held() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _waiting(number: int) -> Iterator[socket.socket]:
    """Accept whatever waits at a listening socket."""
    with socket.socket(fileno=os.dup(number)) as listener:
        listener.setblocking(False)
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            accepted.setblocking(False)
            yield accepted


def most_bytes() -> int:
    """Return how much memory a web process may hold; 0: any. The product is loaded by then."""
    return int(import_module(ENTRANCE).most_bytes())


def serve(listener: socket.socket, say: Callable[[bytes], object], is_waited_for: bool) -> None:
    """Serve until told to stop or to retire; requests under way get eight seconds, three where a supervisor waits."""
    config = uvicorn.Config(
        f"{ENTRANCE}:application",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=3 if is_waited_for else 8,
        server_header=False,
        proxy_headers=False,  # workflowplatform.http.client_address decides whom to believe
    )
    PatientServer(config, say, most_bytes).run(sockets=[listener])
