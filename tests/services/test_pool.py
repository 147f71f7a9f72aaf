"""The web's pool: so many connections and no more, each one working, and a refusal that says why."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import InternalError, OperationalError, connection, connections
from django.test import Client

from engine.api.errors import absence
from workflowplatform.database import pool as pools
from workflowplatform.database.base import DatabaseWrapper
from workflowplatform.database.error_causes import cause_of
from workflowplatform.database.pool import Driver, Pool, TooBusy, in_reserve

SIZE = 3
SOON = 20.0
"""Seconds, far more than a busy machine takes, and far fewer than a wait that should not be."""


def connect() -> Driver:
    return psycopg.connect(**{**connection.get_connection_params(), "autocommit": True})


@pytest.fixture
def pool(transactional_db: None) -> Iterator[Pool]:
    lent = Pool(connect, size=SIZE, patience=0.2)
    yield lent
    lent.close()


def backend(driver: Driver) -> int:
    return driver.info.backend_pid


def end(*numbers: int) -> None:
    with connection.cursor() as cursor:
        for number in numbers:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [number])


def test_a_connection_is_lent_again_the_last_used_first(pool: Pool) -> None:
    first, second = pool.getconn(), pool.getconn()
    pool.putconn(first)
    pool.putconn(second)
    assert pool.getconn() is second


def test_who_finds_all_in_use_is_told_so_in_time_and_served_once_one_is_back(pool: Pool) -> None:
    held = [pool.getconn() for _ in range(SIZE)]
    began = time.monotonic()
    with pytest.raises(TooBusy, match="3 database connections"):
        pool.getconn()
    assert 0.15 < time.monotonic() - began < SOON
    pool.putconn(held.pop())
    assert not pool.getconn().closed


def refused_within(pool: Pool) -> float:
    """Ask for a connection that there is not; return how long the refusal took."""
    began = time.monotonic()
    with pytest.raises(TooBusy):
        pool.getconn()
    return time.monotonic() - began


@contextmanager
def in_line(pool: Pool, number: int) -> Iterator[list[Driver]]:
    """Let so many wait for a connection; give what they get."""
    got: list[Driver] = []
    threads = [threading.Thread(target=lambda: got.append(pool.getconn())) for _ in range(number)]
    for thread in threads:
        thread.start()
    while pool._waiting < number:
        time.sleep(0.001)
    yield got
    for thread in threads:
        thread.join()


@pytest.mark.security("under pressure: an honest 503, well again in 5 s")
def test_no_more_wait_than_may(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_patience", 2 * SOON)
    monkeypatch.setattr(pool, "_most_waiting", 2)
    held = [pool.getconn() for _ in range(SIZE)]
    with in_line(pool, 2) as got:
        assert refused_within(pool) < SOON
        for driver in held:
            pool.putconn(driver)
    assert len(got) == 2
    assert pool._waiting == 0


def test_whoever_would_wait_too_long_is_refused_at_once(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three places and loans of ten minutes: the first in line would wait longer than the limit."""
    monkeypatch.setattr(pool, "_patience", 2 * SOON)
    for _ in range(SIZE):
        pool.getconn()
    monkeypatch.setattr(pool, "_usual_loan", 600.0)
    assert refused_within(pool) < SOON
    monkeypatch.setattr(pool, "_usual_loan", 0.0)
    monkeypatch.setattr(pool, "_lent_at", dict.fromkeys(range(SIZE), time.monotonic() - 600))
    assert refused_within(pool) < SOON


def test_the_usual_loan_follows_what_is_lent(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_usual_loan", 60.0)
    for _ in range(40):
        pool.putconn(pool.getconn())
    assert pool._usual_loan < 1
    assert pool._lent_at == {}


def test_nobody_passes_those_in_line(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place came back for the one in line: a newcomer does not overtake it."""
    monkeypatch.setattr(pool, "_waiting", 1)
    monkeypatch.setattr(pool, "_most_waiting", 1)
    assert refused_within(pool) < SOON
    monkeypatch.setattr(pool, "_waiting", 0)
    assert not pool.getconn().closed


def test_the_health_has_a_connection_in_reserve(pool: Pool) -> None:
    held = [pool.getconn() for _ in range(SIZE)]
    with in_reserve():
        driver = pool.getconn()
        assert driver.execute("SELECT 1").fetchone() == (1,)
        pool.putconn(driver)
        pool.putconn(pool.getconn())
    with pytest.raises(TooBusy):
        pool.getconn()
    for one in held:
        pool.putconn(one)
    assert len([pool.getconn() for _ in range(SIZE)]) == SIZE


@pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler takes another connection by itself")
def test_connections_that_a_restart_killed_are_replaced_without_a_pause(pool: Pool) -> None:
    held = [pool.getconn() for _ in range(SIZE)]
    for driver in held:
        pool.putconn(driver)
    end(*(backend(driver) for driver in held))
    began = time.monotonic()
    again = [pool.getconn() for _ in range(SIZE)]
    assert all(driver.execute("SELECT 1").fetchone() == (1,) for driver in again)
    assert time.monotonic() - began < SOON
    assert all(driver.closed for driver in held)


def test_what_connecting_raises_is_told_and_keeps_no_place(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Driver:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(pool, "_connect", refuse)
    for _ in range(SIZE + 1):
        with pytest.raises(psycopg.OperationalError, match="refused"):
            pool.getconn()
    monkeypatch.undo()
    assert len({backend(pool.getconn()) for _ in range(SIZE)}) == SIZE


def test_a_transaction_left_open_is_nobody_elses(pool: Pool) -> None:
    driver = pool.getconn()
    driver.autocommit = False
    driver.execute("SELECT 1")
    pool.putconn(driver)
    assert driver.closed
    assert pool.getconn().autocommit


def test_old_and_long_unused_connections_go(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "MOST_IDLE_SECONDS", 0.05)
    first, second = pool.getconn(), pool.getconn()
    pool.putconn(first)
    time.sleep(0.1)  # sleep: longer than a connection may be unused
    pool.putconn(second)
    assert (first.closed, second.closed) == (True, False)
    monkeypatch.setattr(pools, "MOST_AGE_SECONDS", 0.05)
    old = pool.getconn()
    pool.putconn(old)
    assert old.closed


def test_a_crowd_opens_no_more_connections_than_there_are_places(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_patience", 30.0)
    most, lock, open_now = [0], threading.Lock(), [0]

    def opened() -> Driver:
        with lock:
            open_now[0] += 1
            most[0] = max(most[0], open_now[0])
        return connect()

    monkeypatch.setattr(pool, "_connect", opened)

    def use(number: int) -> int:
        driver = pool.getconn()
        try:
            row = driver.execute("SELECT %s::int", [number]).fetchone()
            return row[0] if row else -1
        finally:
            pool.putconn(driver)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(use, range(300))) == list(range(300))
    assert most[0] <= SIZE


def test_a_forked_process_begins_with_connections_of_its_own(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = pool.getconn()
    pool.putconn(parents)
    monkeypatch.setattr(pool, "_owner", os.getpid() + 1)  # as a child sees it
    pool.open()
    assert pool.getconn() is not parents
    parents.close()


def test_a_host_that_keeps_silent_keeps_nobody_waiting_in_line() -> None:
    """A crowd much larger than the pool is told within the time that one of them takes to find out."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        port = silent.getsockname()[1]
        pool = Pool(
            lambda: psycopg.connect(host="127.0.0.1", port=port, connect_timeout=2, dbname="x"), size=2, patience=30.0
        )

        def ask(_: int) -> float:
            began = time.monotonic()
            with pytest.raises(psycopg.OperationalError):
                pool.getconn()
            return time.monotonic() - began

        with ThreadPoolExecutor(20) as threads:
            assert max(threads.map(ask, range(20))) < 10


# Behind Django


@pytest.fixture
def pooled(transactional_db: None) -> Iterator[DatabaseWrapper]:
    """Give this thread's connection a pool with one place."""
    options = connection.settings_dict["OPTIONS"]
    connection.close()
    options["pool"] = {"size": 1, "patience": 0.2}
    try:
        yield connections["default"]  # type: ignore[misc]
    finally:
        connection.close()
        connection.close_pool()
        del options["pool"]


def test_a_request_too_many_is_told_that_the_server_is_busy(pooled: DatabaseWrapper, caplog: Any) -> None:
    with pooled.cursor() as cursor:
        cursor.execute("SELECT 1")
        answers = ThreadPoolExecutor(1).submit(ask_both_doors).result()
    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    program, page = answers
    assert (program.json()["code"], program.json()["status"]) == ("busy", 503)
    assert 'data-code="busy"' in page.content.decode()
    assert "were in use" in caplog.text
    pooled.close()
    assert ThreadPoolExecutor(1).submit(ask_both_doors).result()[0].status_code == 401


def ask_both_doors() -> list[Any]:
    """Ask as a program with a token and as a person with a session, from a thread of its own."""
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "somebodys"
    try:
        return [client.get("/api/v1/tasks/", headers={"Authorization": "Token nobodys"}), client.get("/inbox/")]
    finally:
        connection.close()


def test_a_pooled_connection_goes_back_when_a_request_closes_it(pooled: DatabaseWrapper) -> None:
    seen = set()
    for _ in range(3):
        with pooled.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            seen.add(cursor.fetchone()[0])
        pooled.close()
    assert len(seen) == 1


@pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler keeps sessions from before")
def test_a_connection_that_cannot_be_written_is_not_lent_again(pooled: DatabaseWrapper) -> None:
    with pooled.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        with pytest.raises(InternalError):
            cursor.execute("DELETE FROM wf_host_locks")
    pooled.close()
    with pooled.cursor() as cursor:
        cursor.execute("DELETE FROM wf_host_locks")


@pytest.mark.security("under pressure: an honest 503, well again in 5 s")
@pytest.mark.parametrize(
    ("told", "code"),
    [
        (TooBusy("all 20 were in use"), "busy"),
        (psycopg.errors.TooManyConnections("x"), "busy"),
        (psycopg.OperationalError("connection failed: FATAL:  sorry, too many clients already"), "busy"),
        (psycopg.OperationalError('FATAL:  too many connections for role "workflow"'), "busy"),
        (psycopg.OperationalError("FATAL:  remaining connection slots are reserved for roles with SUPERUSER"), "busy"),
        (psycopg.OperationalError("FATAL:  no more connections allowed (max_client_conn)"), "busy"),
        (psycopg.errors.LockNotAvailable("x"), "busy"),
        (psycopg.errors.DeadlockDetected("x"), "busy"),
        (psycopg.errors.OutOfMemory("x"), "busy"),
        (psycopg.errors.QueryCanceled("x"), "busy"),
        (psycopg.errors.ReadOnlySqlTransaction("x"), "read_only"),
        (psycopg.errors.DiskFull("x"), "disk_full"),
        (psycopg.OperationalError("could not write lock file: No space left on device"), "disk_full"),
        (psycopg.errors.AdminShutdown("x"), "unavailable"),
        (psycopg.errors.CannotConnectNow("x"), "unavailable"),
        (psycopg.OperationalError("connection refused"), "unavailable"),
        (psycopg.InterfaceError("the connection is closed"), "unavailable"),
    ],
)
def test_every_cause_has_its_code_and_its_answer(told: psycopg.Error, code: str) -> None:
    error = OperationalError(str(told))
    error.__cause__ = told
    answer = absence(error)
    assert (cause_of(error).code, answer.default_code, answer.status_code) == (code, code, 503)
    assert answer.wait >= 1


def test_being_busy_is_told_from_being_away() -> None:
    busy, away = Exception(), Exception()
    busy.__cause__, away.__cause__ = TooBusy("x"), psycopg.OperationalError("x")
    assert (cause_of(busy).code, cause_of(away).code) == ("busy", "unavailable")
