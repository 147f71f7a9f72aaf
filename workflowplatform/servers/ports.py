"""Take a port on loopback: the one asked for, or the next free one."""

from __future__ import annotations

import socket
import time

from workflowplatform.servers.errors import CannotStart

HOST = "127.0.0.1"
TRIED = 100
LAST_PORT = 65535


def listen(first: int, *, patience: float = 0.0) -> socket.socket:
    """Listen on the first free port from here on; wait a little for the first where that is promising."""
    deadline = time.monotonic() + patience
    while (taken := _try(first)) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    last = min(first + TRIED - 1, LAST_PORT)
    for port in range(first + 1, last + 1):
        taken = taken or _try(port)
    if taken is None:
        raise CannotStart(
            f"Every port from {first} to {last} is taken on {HOST}: free one, or name another with --port N."
        )
    return taken


def _try(port: int) -> socket.socket | None:
    """Bind one port; only a listener counts as taken, not a closing connection's leftover."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(512)
    except OSError:
        listener.close()
        return None
    return listener
