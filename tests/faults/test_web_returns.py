"""The web while PostgreSQL is away: it says so at once, and answers again as soon as PostgreSQL does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from benchmarks.faults.own_servers import OwnServers, own_servers
from tests.workers import ROOT, stop
from workflowplatform.servers.postgres import APPLICATION, ROLE

AT_ONCE = 2.0 if os.environ.get("WORKFLOW_TEST_ALL") else 8.0
"""Seconds, fewer than the pool is patient: how long an answer may take while PostgreSQL is away, and until the first good one
after its return. A short run shares its machine with others."""
CALLERS = 8
PATIENCE = 60.0


@contextmanager
def web(address: str, **extra: str) -> Iterator[str]:
    """Serve a database with uvicorn in a process of its own, pool and all; answer where."""
    environment = {**os.environ, "DATABASE_URL": address, **extra}
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        words = [sys.executable, "-m", "workflowplatform.servers.web", str(listener.fileno())]
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, pass_fds=[listener.fileno()], start_new_session=True
        )
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/"
        finally:
            stop(process)


def migrate(address: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT, env={**os.environ, "DATABASE_URL": address}, check=True,
    )  # fmt: skip


def crowd(server: str, rounds: int) -> list[tuple[int, float]]:
    """Let many ask at once for what only the database knows; answer each status and how long it took."""

    def ask(number: int) -> tuple[int, float]:
        began = time.monotonic()
        told = {"Authorization": "Token nobodys"} if number % 2 else {}
        answer = client.get("tasks/" if number % 2 else "health/", headers=told)
        return answer.status_code, time.monotonic() - began

    with httpx.Client(base_url=server, timeout=PATIENCE) as client, ThreadPoolExecutor(CALLERS) as callers:
        return list(callers.map(ask, range(CALLERS * rounds)))


def seconds_until_it_serves(server: str) -> float:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        with suppress(httpx.HTTPError):
            if httpx.get(server + "health/", timeout=PATIENCE).status_code == 200:
                return time.monotonic() - began
        time.sleep(0.05)
    return PATIENCE


def live_through(servers: OwnServers, server: str, seconds: float) -> float:
    """Take PostgreSQL away for so long; answer how long after its return the web served."""
    crowd(server, 3)  # so that many connections are idle that will be dead
    servers.stop_postgres_at_once()
    gone = time.monotonic()
    while time.monotonic() - gone < seconds:
        answers = crowd(server, 1)
        assert {status for status, _ in answers} == {503}
        assert max(took for _, took in answers) < AT_ONCE
        time.sleep(0.2)  # sleep: only the pace; how long the database is gone is the test's own choice
    servers.start_postgres()
    return seconds_until_it_serves(server)


@pytest.mark.parametrize("seconds", [3.0, pytest.param(40.0, marks=pytest.mark.slow)])
def test_the_web_fails_fast_and_is_back_at_once(seconds: float) -> None:
    with own_servers() as servers:
        address = servers.start_postgres()
        migrate(address)
        with web(address.replace(f"//{ROLE}@", f"//{APPLICATION}@")) as server:
            assert seconds_until_it_serves(server) < PATIENCE
            assert live_through(servers, server, seconds) < AT_ONCE
            assert {status for status, _ in crowd(server, 2)} == {200, 401}
