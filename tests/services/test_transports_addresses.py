"""The address guard: where a call may go, and every trick to get elsewhere."""

import inspect
import ipaddress
import re
import socket
from collections.abc import Iterator

import pytest

from engine.transports import address_guard
from engine.transports.base import Failed, Succeeded, make_call
from tests.services.outside import Outside, outside_world

pytestmark = pytest.mark.security("calls reach public addresses only")


@pytest.fixture
def outside() -> Iterator[Outside]:
    with outside_world() as world:
        yield world


@pytest.fixture
def opened(outside: Outside, settings: object) -> Outside:
    """The outside world, its origin named by the operator."""
    settings.WORKFLOW_HTTP_ALLOW = [outside.origin]  # type: ignore[attr-defined]
    return outside


def call(url: str, *, allow: list[str] | None = None, **request: object) -> Succeeded | Failed:
    return make_call("http", {"url": url, **request}, key="k", timeout_seconds=5, http_allow=allow)


def refused(result: Succeeded | Failed) -> bool:
    return isinstance(result, Failed) and (result.error_class, result.code) == ("authorization", "address_refused")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
        "::1", "::", "fe80::1", "fc00::1", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1",
        "192.0.0.9", "192.0.0.192", "168.63.129.16", "100.100.100.200", "192.31.196.1", "203.0.113.7", "3fff::1", "5f00::1",
        "2001:2::1", "2001:20::1", "fd00:ec2::254", "fd20:ce::254", "100::1", "2620:4f:8000::1", "3ffe::1", "4000::1",
    ],
)  # fmt: skip
def test_address_that_is_not_of_the_open_internet_is_not_public(address: str) -> None:
    assert not address_guard.is_public(address)


REGISTERED = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
255.255.255.255/32 168.63.129.16/32
::/128 ::1/128 ::ffff:0.0.0.0/104 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16
2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 ff00::/8
"""
"""IANA's registries of special addresses and multicast, as of 2025, and the host that every machine in Azure asks."""


@pytest.mark.security("calls reach public addresses only")
@pytest.mark.parametrize("block", REGISTERED.split())
def test_every_registered_block_is_refused_from_its_first_address_to_its_last(block: str) -> None:
    network = ipaddress.ip_network(block)
    assert [address_guard.is_public(str(one)) for one in (network[0], network[-1])] == [False, False]


@pytest.mark.security("calls reach public addresses only")
def test_the_list_is_our_own_and_not_that_of_pythons_patch_release() -> None:
    assert re.findall(r"is_(?:global|private|reserved|link_local|loopback)\b", inspect.getsource(address_guard)) == []


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "::ffff:8.8.8.8", "2606:4700::1111", "2001:200::1", "2a00::1"]
)
def test_address_of_the_open_internet_is_public(address: str) -> None:
    assert address_guard.is_public(address)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_loopback_is_refused_however_it_is_written(outside: Outside, host: str) -> None:
    assert refused(call(f"http://{host}:{outside.port}/json"))
    assert outside.requests == []


@pytest.mark.parametrize("host", ["0177.0.0.1", "localhost.", "127.0.0.1.", "127。 0.0.1", "①②⑦.0.0.1"])
def test_odd_spelling_of_loopback_never_arrives(outside: Outside, host: str) -> None:
    assert isinstance(call(f"http://{host}:{outside.port}/json"), Failed)
    assert outside.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "unix:/run/x.sock",
        "//example.com/",
        "",
        "http:///x",
    ],
)
def test_only_http_addresses_with_a_host_are_called(url: str) -> None:
    assert refused(call(url))


def test_origin_that_the_operator_names_is_reached(opened: Outside) -> None:
    assert isinstance(call(f"{opened.origin}/json"), Succeeded)


def test_another_port_of_a_named_host_is_refused(opened: Outside) -> None:
    assert refused(call(f"http://127.0.0.1:{opened.port + 1}/"))


def test_another_name_of_a_named_address_is_refused(opened: Outside) -> None:
    assert refused(call(f"http://localhost:{opened.port}/json"))


def test_name_and_password_in_an_address_are_refused(opened: Outside) -> None:
    assert refused(call(f"http://ada:secret@127.0.0.1:{opened.port}/json"))
    assert refused(call(f"{opened.origin}@localhost:{opened.port}/json"))
    assert opened.requests == []


def test_tenant_list_keeps_out_what_it_does_not_name(opened: Outside) -> None:
    assert refused(call(f"{opened.origin}/json", allow=["https://api.example.com"]))
    assert refused(call(f"{opened.origin}/json", allow=[]))


def test_tenant_list_that_names_the_origin_lets_it_pass(opened: Outside) -> None:
    assert isinstance(call(f"{opened.origin}/json", allow=[f"{opened.origin}/"]), Succeeded)


def test_tenant_list_never_opens_a_private_address(outside: Outside) -> None:
    assert refused(call(f"{outside.origin}/json", allow=[outside.origin]))


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest/meta-data/", "http://localhost:{port}/json", "file:///etc/passwd"]
)
def test_redirect_to_where_no_call_may_go_is_refused(opened: Outside, target: str) -> None:
    result = call(f"{opened.origin}/to/{target.format(port=opened.port)}")
    assert not isinstance(result, Succeeded)
    assert len(opened.requests) == 1


def test_redirect_out_of_the_tenant_list_is_refused(opened: Outside, settings: object) -> None:
    with outside_world() as other:
        settings.WORKFLOW_HTTP_ALLOW = [opened.origin, other.origin]  # type: ignore[attr-defined]
        assert refused(call(f"{opened.origin}/to/{other.origin}/json", allow=[opened.origin]))
        assert other.requests == []


def answering(*answers: str) -> object:
    """Return a resolver that gives these addresses, one set per question; an address is its own answer, as everywhere."""
    left = list(answers)

    def getaddrinfo(host: str, port: int, *args: object, **kwargs: object) -> list[object]:
        answer = host if host[0].isdigit() else left.pop(0) if len(left) > 1 else left[0]
        texts = answer.split()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, port)) for text in texts]

    return getaddrinfo


def test_name_with_one_private_answer_among_public_ones_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answering("93.184.216.34 127.0.0.1"))
    assert refused(call("http://two-faced.example/"))


def test_name_is_looked_up_once_so_that_rebinding_gains_nothing(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is public and is what is connected to; the second, loopback, is never asked for."""
    monkeypatch.setattr(socket, "getaddrinfo", answering("240.0.0.1", "127.0.0.1"))
    monkeypatch.setattr(address_guard, "is_public", lambda address: address != "127.0.0.1")
    result = make_call("http", {"url": f"http://rebinding.example:{outside.port}/json"}, key="k", timeout_seconds=0.3)
    assert isinstance(result, Failed)
    assert result.code == "no_answer"
    assert outside.requests == []


def test_name_that_does_not_exist_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("http://does-not-exist.invalid/")
    assert isinstance(result, Failed)
    assert (result.error_class, result.code) == ("transport", "no_answer")


def test_resolver_that_hangs_costs_no_more_than_the_time_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading
    import time

    released = threading.Event()

    def hang(*args: object, **kwargs: object) -> list[object]:
        released.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()
    result = make_call("http", {"url": "http://slow.example/"}, key="k", timeout_seconds=0.2)
    released.set()
    assert isinstance(result, Failed)
    assert (result.error_class, result.code) == ("timeout", "no_answer")
    assert time.monotonic() - began < 20


def test_proxies_of_the_environment_take_no_part(opened: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert isinstance(call(f"{opened.origin}/json"), Succeeded)
