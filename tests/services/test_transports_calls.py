"""What becomes of a call: every answer, and every absence of one, is one of a closed set of outcomes."""

import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.extensions import functions
from engine.extensions.functions import BusinessError
from engine.transports.base import TRANSPORTS, Failed, Succeeded, make_call
from tests.services.outside import Outside, outside_world


@pytest.fixture
def outside(settings: Any) -> Iterator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        yield world


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The registry of functions, given back as it was."""
    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    return functions._registered


def http(outside: Outside, path: str, *, key: str = "k", seconds: float = 30, **request: Any) -> Succeeded | Failed:
    return make_call("http", {"url": outside.origin + path, **request}, key=key, timeout_seconds=seconds)


def python(function: str, **args: Any) -> Succeeded | Failed:
    return make_call("python", {"function": function, "args": args}, key="k", timeout_seconds=30)


def ended(result: Succeeded | Failed) -> tuple[str, str]:
    return ("success", "") if isinstance(result, Succeeded) else (result.error_class, result.code)


def test_answer_has_status_headers_and_parsed_body(outside: Outside) -> None:
    result = http(outside, "/json")
    assert isinstance(result, Succeeded)
    assert (result.value["status"], result.value["body"]) == (200, {"ok": True})
    assert result.value["headers"]["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, ("success", "")),
        (204, ("success", "")),
        (304, ("success", "")),
        (400, ("business", "http_400")),
        (404, ("business", "http_404")),
        (409, ("business", "http_409")),
        (408, ("transport", "http_408")),
        (425, ("transport", "http_425")),
        (429, ("transport", "http_429")),
        (500, ("transport", "http_500")),
        (503, ("transport", "http_503")),
    ],
)
def test_status_decides_the_outcome(outside: Outside, status: int, expected: tuple[str, str]) -> None:
    assert ended(http(outside, f"/status/{status}")) == expected


def test_refusal_keeps_what_was_answered(outside: Outside) -> None:
    result = http(outside, "/status/422")
    assert isinstance(result, Failed)
    assert result.value["body"] == {"said": "so"}


def test_body_is_sent_as_json_and_text_as_it_is(outside: Outside) -> None:
    http(outside, "/json", method="post", body={"amount": 12})
    http(outside, "/json", method="POST", body="<a/>", headers={"Content-Type": "text/xml"})
    (first, second) = outside.requests
    assert (first[0], first[2]["content-type"], first[3]) == ("POST", "application/json", b'{"amount":12}')
    assert (second[2]["content-type"], second[3]) == ("text/xml", b"<a/>")


def test_key_is_sent_and_is_the_same_for_a_repeat(outside: Outside) -> None:
    for _ in range(2):
        http(outside, "/json", key="019a/review[3]/päy")
    assert [request[2]["idempotency-key"] for request in outside.requests] == ["019a/review[3]/p%C3%A4y"] * 2


def test_key_that_the_author_wrote_wins(outside: Outside) -> None:
    http(outside, "/json", headers={"Idempotency-Key": "mine"})
    assert outside.requests[0][2]["idempotency-key"] == "mine"


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Connection"])
def test_headers_that_steer_the_connection_are_not_the_authors(outside: Outside, name: str) -> None:
    assert ended(http(outside, "/json", headers={name: "x"})) == ("definition", "bad_request")
    assert outside.requests == []


@pytest.mark.parametrize(
    "request_", [{"headers": {"x": "a\r\nb: c"}}, {"headers": {"a b": "x"}}, {"method": "GE T"}, {"headers": ["x"]}]
)
def test_request_that_is_not_http_is_never_sent(outside: Outside, request_: dict[str, Any]) -> None:
    assert ended(http(outside, "/json", **request_)) == ("definition", "bad_request")
    assert outside.requests == []


def test_text_answer_stays_text_that_can_be_kept(outside: Outside) -> None:
    result = http(outside, "/text")
    assert isinstance(result, Succeeded)
    assert result.value["body"] == "grüß\ufffde"


@pytest.mark.parametrize("path", ["/raw/nan", "/raw/nul", "/raw/big", "/large", "/bomb", "/loop"])
def test_answer_that_cannot_be_kept_fails(outside: Outside, path: str) -> None:
    assert ended(http(outside, path)) == ("transport", "bad_answer")


def test_answer_that_comes_packed_unasked_is_read(outside: Outside) -> None:
    result = http(outside, "/packed")
    assert isinstance(result, Succeeded)
    assert result.value["body"] == {"packed": True}


@pytest.mark.parametrize("path", ["/slow/30", "/drip"])
def test_time_allowed_covers_the_whole_answer(outside: Outside, path: str) -> None:
    began = time.monotonic()
    assert ended(http(outside, path, seconds=0.4)) == ("timeout", "no_answer")
    assert time.monotonic() - began < 15


def test_connection_that_breaks_is_no_answer(outside: Outside) -> None:
    assert ended(http(outside, "/cut")) == ("transport", "no_answer")


def test_redirect_is_followed_with_its_body(outside: Outside) -> None:
    result = http(outside, "/to//json", method="POST", body={"a": 1})
    assert isinstance(result, Succeeded)
    assert [(request[0], request[3]) for request in outside.requests] == [("POST", b'{"a":1}')] * 2


def test_redirect_to_another_origin_leaves_the_authors_headers_behind(outside: Outside, settings: Any) -> None:
    with outside_world() as other:
        settings.WORKFLOW_HTTP_ALLOW = [outside.origin, other.origin]
        http(outside, f"/to/{other.origin}/json", headers={"X-Api-Key": "secret", "Authorization": "secret"})
        assert "secret" not in str(other.requests)
        assert len(other.requests) == 1


def test_function_returns_json() -> None:
    assert python("echo", amount=3) == Succeeded({"amount": 3})


def test_function_that_is_not_registered_fails() -> None:
    assert ended(python("no_such")) == ("definition", "unknown_function")


def test_function_says_no_by_business_error(registered: dict[str, Any]) -> None:
    def refuse() -> None:
        raise BusinessError("credit_limit", "No more credit.")

    registered["refuse"] = refuse
    assert python("refuse") == Failed("business", "credit_limit", "No more credit.")


@pytest.mark.parametrize("raised", [ValueError("iban DE00"), SystemExit(3), RecursionError(), MemoryError()])
def test_anything_else_that_a_function_raises_is_a_transport_failure_without_payload(
    registered: dict[str, Any], raised: BaseException
) -> None:
    def explode() -> None:
        raise raised

    registered["explode"] = explode
    result = python("explode")
    assert ended(result) == ("transport", "exception")
    assert "DE00" not in str(result)


def test_wrong_arguments_are_a_failure_too(registered: dict[str, Any]) -> None:
    registered["strict"] = lambda *, amount: amount
    assert ended(python("strict", other=1)) == ("transport", "exception")


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, "a\0", "\ud800", 2**60, ["x" * 1_000_001]])
def test_function_must_return_json_that_can_be_kept(registered: dict[str, Any], value: object) -> None:
    registered["odd"] = lambda: value
    assert ended(python("odd")) == ("transport", "bad_answer")


def test_deep_answer_is_refused_rather_than_walked_for_ever(registered: dict[str, Any]) -> None:
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    registered["deep"] = lambda: deep
    assert ended(python("deep")) == ("transport", "bad_answer")


def test_function_that_keeps_what_it_returned_cannot_change_it(registered: dict[str, Any]) -> None:
    kept = {"lines": [1]}
    registered["keeper"] = lambda: kept
    result = python("keeper")
    kept["lines"].append(2)
    assert result == Succeeded({"lines": [1]})


def test_letter_is_sent_and_its_id_is_the_result(mailoutbox: list[Any]) -> None:
    request = {"to": "ana@example.com", "subject": "Paid\nBcc: x@example.com", "text": "12 EUR"}
    result = make_call("email", request, key="k", timeout_seconds=30)
    assert isinstance(result, Succeeded)
    assert result.value == {"id": mailoutbox[0].extra_headers["Message-ID"]}
    assert (mailoutbox[0].to, mailoutbox[0].subject) == (["ana@example.com"], "Paid Bcc: x@example.com")


def test_letter_without_receiver_is_never_sent(mailoutbox: list[Any]) -> None:
    assert ended(make_call("email", {"to": []}, key="k", timeout_seconds=5)) == ("definition", "bad_request")
    assert mailoutbox == []


def test_unknown_transport_is_an_outcome_too() -> None:
    assert ended(make_call("pigeon", {}, key="k", timeout_seconds=5)) == ("definition", "unknown_transport")


@pytest.mark.parametrize("name", sorted(TRANSPORTS))
def test_every_transport_survives_an_empty_request(name: str) -> None:
    assert isinstance(make_call(name, {}, key="k", timeout_seconds=1), Failed)


def test_mail_server_that_says_nothing_costs_no_more_than_the_time_allowed(settings: Any) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_TIMEOUT = "django.core.mail.backends.smtp.EmailBackend", 20
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.EMAIL_HOST, settings.EMAIL_PORT = silent.getsockname()
        letter = {"to": "ada@acme.example", "subject": "s", "text": "t"}
        assert ended(make_call("email", letter, key="k", timeout_seconds=0.2)) == ("timeout", "no_answer")
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("address", "query", "asked"),
    [
        ("/json/", {"q": "a b&c", "page": 2}, "/json/?q=a+b%26c&page=2"),
        ("/json/?key=1", {"q": ["x", "y"]}, "/json/?key=1&q=x&q=y"),
        ("/json/", {"on": True, "none": None}, "/json/?on=true&none="),
    ],
)
def test_query_is_written_into_the_address(outside: Outside, address: str, query: dict[str, Any], asked: str) -> None:
    assert isinstance(http(outside, address, query=query), Succeeded)
    assert outside.requests[0][1] == asked


def test_a_query_that_is_none_is_not_sent(outside: Outside) -> None:
    assert ended(http(outside, "/json", query="q=1")) == ("definition", "bad_request")
    assert outside.requests == []
