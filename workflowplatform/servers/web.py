"""Serve the product with uvicorn, and stop without refusing anybody: ``python -m workflowplatform.servers.web FD|HOST:PORT``.

With a number it serves a socket that `up` listens on: it belongs to `up`, so no port is lost between finding and binding it, and
a restart drops no waiting connection. With an address it listens itself, as one of several processes behind a proxy.

uvicorn alone closes connections that are there and have not asked yet, and drops those that wait to be accepted: a proxy that has
just connected is cut off without an answer. Here the last connections are accepted, and have a moment to ask.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator

import uvicorn

APPLICATION = "workflowplatform.asgi:application"
LAST_SECONDS = 1.0
"""How long connections that are there may still ask, after the last one was accepted."""
BACKLOG = 2048


class PatientServer(uvicorn.Server):
    """A server that answers everybody who has reached it before it ends."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept who waits, listen no more, answer who is there for a moment; then end as uvicorn does."""
        for server in self.servers:
            for listener in server.sockets:
                await self._accept_waiting(listener.fileno())
            server.close()
        for one in sockets or []:
            one.close()
        until = time.monotonic() + LAST_SECONDS
        while self.server_state.connections and time.monotonic() < until and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _accept_waiting(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        for accepted in _waiting(number):
            await loop.connect_accepted_socket(self._protocol, accepted)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


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


def listening(place: str) -> socket.socket:
    """Return the socket that was handed over, or one that listens at an address."""
    if place.isdigit():
        return socket.socket(fileno=int(place))
    host, _, port = place.rpartition(":")
    return socket.create_server((host, int(port)), backlog=BACKLOG)


def main() -> None:
    """Serve until told to stop; requests under way get ten seconds where it listens itself, three where `up` waits."""
    place = sys.argv[1]
    config = uvicorn.Config(
        APPLICATION,
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=3 if place.isdigit() else 8,
        server_header=False,
        proxy_headers=False,  # workflowplatform.http.client_address decides whom to believe
    )
    PatientServer(config).run(sockets=[listening(place)])


if __name__ == "__main__":
    main()
