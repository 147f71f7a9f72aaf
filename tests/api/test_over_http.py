"""Requests over real HTTP, to a server in a process of its own."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing
from http.client import HTTPConnection

import httpx
import pytest
from django.db import connection

from engine.models import Instance
from engine.services.people.tokens import create_token
from tests.cast import Cast
from tests.workers import ROOT, environment, stop
from tests.workflows import APPROVAL, activated

TWINS = 50
POOL = 20
PATIENCE = 60.0


@pytest.fixture
def server(committed_cast: Cast) -> Generator[str, None, None]:
    """Serve the test's own database with uvicorn."""
    with socket.create_server(("127.0.0.1", 0), backlog=TWINS * 2) as listener:
        words = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno())]
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment(), pass_fds=[listener.fileno()], start_new_session=True
        )
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/"
            _await(address, process)
            yield address
        finally:
            stop(process)


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until it answers; the socket listens already, so one patient request is enough."""
    began = time.monotonic()
    assert httpx.get(address + "health/", timeout=PATIENCE).status_code == 200, time.monotonic() - began
    assert process.poll() is None


def test_fifty_identical_starts_at_once_are_one(committed_cast: Cast, server: str) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    _, token = create_token(actor=None, person=committed_cast.uri)
    headers = {"Authorization": f"Token {token}", "Idempotency-Key": "order-4711"}

    async def start_all() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=TWINS)
        async with httpx.AsyncClient(base_url=server, headers=headers, timeout=PATIENCE, limits=limits) as client:
            body = {"template": "approval", "input": {"amount": 7}}
            return await asyncio.gather(*(client.post("instances/", json=body) for _ in range(TWINS)))

    answers = asyncio.run(start_all())
    assert [answer.status_code for answer in answers] == [201] * TWINS
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == TWINS - 1
    assert [str(pk) for pk in Instance.objects.values_list("pk", flat=True)] == [answers[0].json()["id"]]
    _keeps_its_connections(server)
    _reads_bodies_in_pieces(server, token)
    _leaves_what_is_too_large(server, token)


def _reads_bodies_in_pieces(server: str, token: str) -> None:
    """A body that comes in pieces says no length beforehand, and is no empty one."""
    pieces = iter((b'{"template": "approval", ', b'"input": {"amount": 8}}'))
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    answer = httpx.post(server + "instances/", content=pieces, headers=headers, timeout=PATIENCE)
    assert answer.request.headers["Transfer-Encoding"] == "chunked"
    assert (answer.status_code, answer.json()["input"]) == (201, {"amount": 8})


def _leaves_what_is_too_large(server: str, token: str) -> None:
    """A caller without a token gets 401 before a body is read; a caller with one may send so much and no more."""
    large, known = {"Content-Length": "4000000"}, {"Authorization": f"Token {token}"}
    assert _answered_without_a_body(server, large) == (401, "application/problem+json")
    assert _answered_without_a_body(server, large | known) == (413, "application/problem+json")


def _answered_without_a_body(server: str, headers: dict[str, str]) -> tuple[int, str | None]:
    """Send the head of a request and wait for its answer; a server that waits for the body would wait for ever."""
    address = httpx.URL(server)
    with closing(HTTPConnection(address.host, address.port, timeout=PATIENCE)) as line:
        line.putrequest("POST", f"{address.path}instances/")
        for name, value in {"Content-Type": "application/json", **headers}.items():
            line.putheader(name, value)
        line.endheaders()
        answer = line.getresponse()
        return answer.status, answer.headers["Content-Type"]


def _keeps_its_connections(server: str) -> None:
    """However many asked at once, a few connections answered, and the next request meets one of them."""
    kept = _connections()
    assert 0 < len(kept) <= POOL
    assert httpx.get(server + "health/", timeout=PATIENCE).status_code == 200
    assert _connections() <= kept


def _connections() -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return {row[0] for row in cursor.fetchall()}
