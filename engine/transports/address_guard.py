"""Decide where a call may go: the address guard.

A name is resolved once; if *any* of its addresses is not public the call is refused, and the connection is made to the
very addresses that were looked at, so that a name which answers differently the next time gains nothing. Private
addresses are reached only where the operator names the origin; a tenant's own list narrows and never widens.
"""

import ipaddress
import socket
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import httpx

DEFAULT_PORTS = {"http": 80, "https": 443}

_NOT_PUBLIC_4 = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
168.63.129.16/32
"""
"""IANA's special-purpose registry, multicast and reserved space; the last is the host that answers every machine in Azure."""
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20"
"""Of the one range in which IPv6 is public, what IANA keeps for protocols, tunnels, documentation and trials. Metadata hosts of
clouds, tunnels and mapped forms outside it are refused with the rest."""
_REFUSED = tuple(ipaddress.ip_network(text) for text in (_NOT_PUBLIC_4 + _NOT_PUBLIC_6).split())


class AddressRefused(Exception):
    """The guard does not let a call go there."""


class NameUnknown(Exception):
    """The name has no address now."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port, as lists name them."""

    scheme: str
    host: str
    port: int


def origin_of(url: httpx.URL) -> Origin:
    """Return where a URL leads, or refuse what is no plain http(s) address."""
    if url.scheme not in DEFAULT_PORTS:
        raise AddressRefused("Only http and https URLs can be called.")
    if url.userinfo:
        raise AddressRefused("A URL must not contain a user name or password. Use a header.")
    if not url.host:
        raise AddressRefused("The URL has no host.")
    return Origin(url.scheme, url.host.rstrip("."), url.port or DEFAULT_PORTS[url.scheme])


def named_origins(names: Iterable[str]) -> frozenset[Origin]:
    """Read a list of origins; an entry that is none counts for nothing."""
    return frozenset(origin for name in names if (origin := _origin_named(name)))


def _origin_named(name: str) -> Origin | None:
    try:
        return origin_of(httpx.URL(name))
    except (AddressRefused, httpx.InvalidURL):
        return None


def may_be_private(url: httpx.URL, *, operator: Sequence[str], tenant: Sequence[str] | None) -> bool:
    """Refuse what the tenant's list leaves out; else tell whether the operator opened it to private addresses."""
    origin = origin_of(url)
    if tenant is not None and origin not in named_origins(tenant):
        raise AddressRefused(f"{origin.host} is not on the list of addresses that calls of this tenant may reach.")
    return origin in named_origins(operator)


def is_public(text: str) -> bool:
    """Return whether an address belongs to the open internet, by our own list: Python's differs between its releases."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return is_public(str(address.ipv4_mapped))
        if address not in _PUBLIC_6:
            return False
    return not any(address in network for network in _REFUSED if network.version == address.version)


def safe_addresses(host: str, port: int, *, private: bool, timeout: float) -> tuple[str, ...]:
    """Resolve a name once; refuse it if any answer is not public."""
    addresses = resolve(host, port, timeout)
    if not private and not all(is_public(address) for address in addresses):
        raise AddressRefused(f"{host} is not a public address.")
    return addresses


def resolve(host: str, port: int, timeout: float) -> tuple[str, ...]:
    """Ask the system's resolver, for no longer than allowed: it has no time limit of its own."""
    found: list[tuple[str, ...]] = []
    asking = threading.Thread(target=lambda: found.append(look_up(host, port)), daemon=True)
    asking.start()
    asking.join(max(timeout, 0))
    if not found or not found[0]:
        raise NameUnknown(f"{host} has no address.")
    return found[0]


def look_up(host: str, port: int) -> tuple[str, ...]:
    """Return a name's addresses, in the resolver's order, each once."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))
