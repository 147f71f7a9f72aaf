"""Find out from which address a request comes: what a proxy forwards is believed of the operator's own proxies alone.

`X-Forwarded-For` is read from the right: each proxy adds the address that it saw, and everything to the left of the
first address that is no proxy of ours was written by the client. From then on `REMOTE_ADDR` is the client's address, for
sign-in limits, throttles, the audit and logs alike.
"""

from collections.abc import Callable, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.http import HttpRequest
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase

from workflowplatform.conf import conf
from workflowplatform.servers.proxies import UNIX

HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_VIA")
FORWARDED = "workflow.forwarded"
"""Under this name a request says that a proxy had it in its hands, whether or not the proxy is one of ours."""
HERE = ("localhost", "127.0.0.1", "[::1]")

Network = IPv4Network | IPv6Network


@cache
def read_proxies(words: tuple[str, ...]) -> tuple[list[Network], bool]:
    """Return the networks that the operator named, and whether the Unix socket is a proxy's; raise for anything else."""
    return [ip_network(word, strict=False) for word in words if word != UNIX], UNIX in words


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address as servers and proxies write it: with a port or brackets, or IPv4 within IPv6."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def is_proxy(peer: str, words: Sequence[str]) -> bool:
    """Return whether an address is one of the operator's proxies; no address at all is the Unix socket's."""
    networks, by_socket = read_proxies(tuple(words))
    found = read_address(peer)
    return by_socket if not peer else found is not None and any(found in network for network in networks)


def client_address(peer: str, forwarded: str, words: Sequence[str]) -> str:
    """Return who asks: the nearest address, from the right, that is no proxy of ours."""
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    nearest = peer
    while hops and is_proxy(nearest, words):
        nearest = hops.pop()
        if read_address(nearest) is None:
            return peer  # a proxy of ours passed on what is no address: it alone is known
    return str(read_address(nearest) or nearest)


class ForwardingMiddleware:
    """Put the client's address where Django and everything else looks for it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        meta = request.META
        meta[FORWARDED] = any(name in meta for name in HEADERS)
        if words := conf.proxies:
            peer = meta.get("REMOTE_ADDR") or ""
            meta["REMOTE_ADDR"] = client_address(peer, meta.get("HTTP_X_FORWARDED_FOR", ""), words)
            if not is_proxy(peer, words):
                meta.pop("HTTP_X_FORWARDED_PROTO", None)
        return self.get_response(request)


def caller_address(request: HttpRequest) -> str:
    """Return the address that asks, as the middleware left it; django-axes asks this too."""
    return request.META.get("REMOTE_ADDR") or ""


def is_from_this_machine(request: HttpRequest | None) -> bool:
    """Return whether a request was made on this machine and to this machine, through nobody's hands."""
    if request is None:
        return True
    found = read_address(request.META.get("REMOTE_ADDR") or "")
    host, _port = split_domain_port(request.META.get("HTTP_HOST") or request.META.get("SERVER_NAME", ""))
    forwarded = request.META.get(FORWARDED) or any(name in request.META for name in HEADERS)
    return found is not None and found.is_loopback and host in HERE and not forwarded
