"""Keep a thread from talking to the network for a while.

Code that runs inside a database transaction must not wait for other machines: a lock would be held for as long as they take. The
interpreter tells an audit hook of every connection and every look-up of a name; while a thread is offline the hook refuses them.
Sockets of this machine (`AF_UNIX`) and the database's own connection, which libpq makes, pass. A hook cannot be taken away again,
so that it is put up with the first use only.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import Any

LOOK_UPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
CONTACTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


class NetworkRefused(Exception):
    """Code that runs inside a transaction tried to reach the network."""


class _Here(local):
    depth = 0


_here = _Here()


@contextmanager
def offline() -> Iterator[None]:
    """Refuse this thread the network until the block ends."""
    _put_up_hook()
    _here.depth += 1
    try:
        yield
    finally:
        _here.depth -= 1


@cache
def _put_up_hook() -> None:
    sys.addaudithook(_refuse_network)


def _refuse_network(event: str, args: tuple[Any, ...]) -> None:
    if not event.startswith("socket.") or not _here.depth:
        return
    if event in LOOK_UPS or (event in CONTACTS and args[0].family in FAMILIES):
        raise NetworkRefused(
            "A transactional function does not talk to the network; register it without transactional=True."
        )
