"""How much of a body is taken, before anybody knows whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import RequestAborted, RequestDataTooBig
from django.test import Client as Browser

from tests.hooks import page_name
from workflowplatform.http.body_limits import Incoming, most_taken

TOKEN, SESSION = (b"authorization", b"Token any"), (b"cookie", b"theme=dark; sessionid=abc")
FORM = (b"content-type", b"multipart/form-data; boundary=x")
READ = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
Header = tuple[bytes, bytes]


def asked(path: str, *headers: Header) -> dict[str, Any]:
    return {"path": path, "headers": list(headers)}


@pytest.mark.parametrize(
    ("path", "headers", "most"),
    [
        ("/api/v1/instances/", (), 0),
        ("/api/v1/instances/", (FORM,), 0),
        ("/api/v1/instances/", ((b"cookie", b"theme=dark"),), 0),
        ("/api/v1/instances/", (TOKEN,), READ),
        ("/api/v1/instances/", (SESSION,), READ),
        ("/api/v1/tasks/1/attachments/", (TOKEN, FORM), settings.WORKFLOW_LARGEST_UPLOAD),
        ("/inbox/tasks/1/complete/", (SESSION, FORM), settings.WORKFLOW_LARGEST_UPLOAD),
        ("/inbox/tasks/1/complete/", (FORM,), READ),
        ("/accounts/login/", (), READ),
    ],
)
def test_the_head_of_a_request_says_how_much_is_taken(path: str, headers: tuple[Header, ...], most: int) -> None:
    assert most_taken(asked(path, *headers)) == most


class Client:
    """A client that sends a body in pieces, and counts how many were asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces: Iterator[bytes] = iter(pieces)
        self._left = len(pieces)
        self.asked_for = 0

    async def __call__(self) -> dict[str, Any]:
        self.asked_for += 1
        self._left -= 1
        return {"type": "http.request", "body": next(self._pieces), "more_body": self._left > 0}


def taken(client: Any, *headers: Header) -> bytes:
    with asyncio.run(Incoming(asked("/api/v1/instances/", *headers), client).body()) as body:
        return body.read()


def test_body_within_the_bound_is_taken_whole() -> None:
    assert taken(Client(b"ab", b"", b"cd"), TOKEN) == b"abcd"
    assert taken(Client(b"")) == b""


def test_body_that_says_it_is_too_large_is_not_asked_for() -> None:
    client = Client(b"x")
    with pytest.raises(RequestDataTooBig):
        taken(client, TOKEN, (b"content-length", str(READ + 1).encode()))
    with pytest.raises(RequestDataTooBig):
        taken(client, (b"content-length", b"1"))
    assert client.asked_for == 0


def test_body_without_a_length_is_left_where_it_grows_too_large() -> None:
    client = Client(b"x" * READ, b"x", b"never")
    with pytest.raises(RequestDataTooBig):
        taken(client, TOKEN)
    assert client.asked_for == 2


def test_client_who_goes_away_meanwhile_is_let_go() -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(RequestAborted):
        taken(gone, TOKEN)


def test_a_person_gets_a_page_that_says_so(db: None) -> None:
    form = "username=" + "x" * READ
    answer = Browser().post("/accounts/login/", form, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 413
    assert page_name(answer) == "too_large"
