"""PostgreSQL is away: API, pages and streams say so in their own format and when to retry, wherever the failure showed first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from http.cookies import SimpleCookie
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.db import connection, connections
from django.test import Client

from engine.api.errors import Unavailable
from engine.streaming.asgi import Streams
from tests.api.conftest import ROOT, Caller
from tests.hooks import values
from workflowplatform.http.sync_asgi_handler import SyncASGIHandler

SESSION = SimpleCookie({settings.SESSION_COOKIE_NAME: "somebodys"})


@pytest.fixture(autouse=True)
def absent(django_db_blocker: Any) -> Generator[None, None, None]:
    """Look for the database where nobody answers."""
    given = connections.settings["default"]
    there = {name: given[name] for name in ("HOST", "PORT")}
    with django_db_blocker.unblock():
        connection.close()
        given.update({"HOST": "/nowhere", "PORT": ""})
        try:
            yield
        finally:
            given.update(there)
            connection.close()


def assert_told(status: int, headers: Any, problem: dict[str, Any]) -> None:
    assert (status, problem["code"], problem["status"]) == (503, "unavailable", 503)
    assert headers["Retry-After"] == str(Unavailable.wait)
    assert headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "tasks/"), ("POST", "instances/"), ("PUT", "people/uri/"), ("GET", "stream/")]
)
def test_a_program_with_a_token_is_told_to_come_again(method: str, path: str) -> None:
    answer = Caller("any")(method, path, {} if method != "GET" else None)
    assert_told(answer.status_code, answer.headers, answer.json())


def test_a_page_with_a_session_is_told_before_any_view_is_reached() -> None:
    caller = Caller(client=Client(raise_request_exception=False))
    caller.client.cookies = SESSION
    answer = caller("GET", "tasks/")
    assert_told(answer.status_code, answer.headers, answer.json())


def test_a_person_gets_a_page_that_says_what_to_do() -> None:
    browser = Client(raise_request_exception=False)
    browser.cookies = SESSION
    answer = browser.get("/inbox/")
    assert (answer.status_code, answer["Retry-After"]) == (503, str(Unavailable.wait))
    assert values("code", answer) == [Unavailable.default_code]


@pytest.mark.parametrize("header", [(b"authorization", b"Token any"), (b"cookie", SESSION.output(header="").encode())])
def test_a_stream_is_refused_the_same_way(header: tuple[bytes, bytes]) -> None:
    status, headers, body = asyncio.run(asked_for_a_stream([header, (b"host", b"localhost")]))
    assert_told(status, headers, body)


async def asked_for_a_stream(headers: list[tuple[bytes, bytes]]) -> tuple[int, dict[str, str], dict[str, Any]]:
    path = ROOT + "stream/"
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers, "server": ("localhost", 80),
    }  # fmt: skip
    spoken = ApplicationCommunicator(Streams(SyncASGIHandler()), scope)
    await spoken.send_input({"type": "http.request", "body": b"", "more_body": False})
    begun = await spoken.receive_output(30)
    told = await spoken.receive_output(30)
    await spoken.wait(30)
    found = {name.decode().title(): value.decode() for name, value in begun["headers"]}
    return begun["status"], found, json.loads(told["body"])
