"""Connect to pinned addresses under one deadline: the network that httpx is given."""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from engine.transports.address_guard import NameUnknown, safe_addresses


class Deadline:
    """One moment by which everything must be over: name, connection, TLS, every byte."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, or say that there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time limit is over")
        return left


class GuardedNetwork(httpcore.NetworkBackend):
    """A network that looks names up once, through the address guard."""

    def __init__(self, deadline: Deadline, *, private: bool) -> None:
        self._deadline, self._private = deadline, private
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of the checked addresses that answers."""
        try:
            addresses = safe_addresses(host, port, private=self._private, timeout=self._deadline.left())
        except NameUnknown as unknown:
            self._deadline.left()  # a resolver that says nothing is late; that is no unknown name
            raise httpcore.ConnectError(str(unknown)) from unknown
        for address in addresses[:-1]:
            try:
                return self._connect(address, port)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(addresses[-1], port)

    def _connect(self, address: str, port: int) -> httpcore.NetworkStream:
        return DeadlineStream(self._network.connect_tcp(address, port, timeout=self._deadline.left()), self._deadline)

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        """Refuse: a call never reaches a socket of this machine."""
        raise httpcore.ConnectError("no unix sockets")


class DeadlineStream(httpcore.NetworkStream):
    """A stream on which every operation has only the time that is left, so that dripping bytes do not prolong it."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()
