"""Pressure on the database, tried with real servers: an honest refusal, the cause in the log, well again in five seconds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection

from benchmarks.faults.own_servers import OwnServers
from tests.faults.under_pressure import (
    HEALED_WITHIN,
    PATIENCE,
    Product,
    a_product,
    asking,
    hog,
    refused,
    small_disk,
)
from workflowplatform.servers.postgres import DATABASE, ROLE, SUPERUSER

pytestmark = [
    pytest.mark.slow,
    pytest.mark.security("under pressure: an honest 503, well again in 5 s"),
    pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler keeps sessions from before"),
]

TROUBLED_SECONDS = 4.0


def few_connections(servers: OwnServers) -> None:
    """Let the server have so few connections that they can be taken."""
    with psycopg.connect(host=str(servers.sockets), user=SUPERUSER, dbname="postgres", autocommit=True) as own:
        own.execute("ALTER SYSTEM SET max_connections = 30")
    connection.close()
    servers.stop_postgres_at_once()
    servers.start_postgres()


@contextmanager
def no_connection_left(product: Product) -> Iterator[None]:
    """Take all connections of the server, and with them those that the product is about to give back."""
    product.operate(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE '{ROLE}%'")
    held = hog(product, DATABASE, ROLE)
    stop = threading.Event()

    def take_more() -> None:
        while not stop.is_set():
            held.extend(hog(product, DATABASE, ROLE))
            product.operate(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE usename LIKE '{ROLE}%' AND NOT pid = ANY(ARRAY{[own.info.backend_pid for own in held]})"
            )
            time.sleep(0.05)

    taking = threading.Thread(target=take_more)
    taking.start()
    try:
        yield
    finally:
        stop.set()
        taking.join()
        for own in held:
            own.close()


@contextmanager
def read_only(product: Product) -> Iterator[None]:
    """Be a database that can only be read, for the sessions that begin now; nobody ends those when it is over."""
    product.operate(
        f"ALTER DATABASE {DATABASE} SET default_transaction_read_only = on",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE '{ROLE}%'",
    )
    try:
        yield
    finally:
        product.operate(f"ALTER DATABASE {DATABASE} RESET default_transaction_read_only")


@contextmanager
def read_only_at_once(product: Product) -> Iterator[None]:
    """Be a database that can only be read, for the sessions that are open too."""
    product.operate("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        product.operate("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")


@contextmanager
def disk_full(product: Product) -> Iterator[None]:
    """Fill the file system that holds the product's tables."""
    with psycopg.connect(host=str(product.servers.sockets), user=SUPERUSER, dbname=DATABASE, autocommit=True) as own:
        own.execute("CREATE TABLE filler (text text)")
        own.execute("ALTER TABLE filler ALTER text SET STORAGE PLAIN")
        for size in (7000, 100):
            with suppress(psycopg.errors.DiskFull):
                while True:
                    own.execute("INSERT INTO filler SELECT repeat('x', %s) FROM generate_series(1, 50)", [size])
        # whatever room the product's tables still have in their last pages is used up by its own acts
        try:
            yield
        finally:
            own.execute("DROP TABLE filler")
            own.execute("CHECKPOINT")


def judge(product: Product, trouble: Callable[[Product], Any], code: str, cause: str, record: Any) -> None:
    """Live through a trouble under load; see what was told, that nothing is lost, and how soon all is well."""
    with asking(product):
        product.insist("before")
        with trouble(product):
            before, begun = len(product.answers), time.monotonic()
            while not any(answer.code == code for answer in product.answers[before:]):
                assert time.monotonic() - begun < PATIENCE, product.answers[-5:]
                time.sleep(0.05)
            time.sleep(TROUBLED_SECONDS)  # sleep: the trouble lasts so long, under load
            troubled = refused(product.answers[before:])
            page = product.page()
            health, took = product.health()
        over = time.monotonic()
        healed = product.insist("after", HEALED_WITHIN * 4)
        while product.health()[0] != 200:
            assert time.monotonic() - over < PATIENCE
            time.sleep(0.05)
        healthy = time.monotonic() - over
    faults = product.faults()
    record("figure", f"{code}: {len(troubled)} refused, served again after {healed:.1f} s, healthy {healthy:.1f} s")
    assert faults == []
    assert {answer.status for answer in troubled} == {503}
    assert {answer.code for answer in troubled if answer.code != code} <= {"unavailable"}
    assert all(answer.kind == "application/problem+json" for answer in troubled)
    assert all(int(answer.retry_after) >= 1 for answer in troubled)
    assert cause in product.said()
    assert page.status_code in (302, 503)  # a page that only reads may be served
    assert took < 5
    assert (healed < HEALED_WITHIN, healthy < HEALED_WITHIN) == (True, True), (healed, healthy)
    assert health == (200 if code == "busy" and not cause.startswith("too busy: the database") else 503)


@pytest.mark.parametrize("trouble", [read_only, read_only_at_once])
def test_a_database_that_can_only_be_read(transactional: None, trouble: Any, record_property: Any) -> None:
    with a_product() as product:
        judge(product, trouble, "read_only", "the database can only be read", record_property)


def test_no_connection_is_left(transactional: None, record_property: Any) -> None:
    with a_product(few_connections) as product:
        judge(product, no_connection_left, "busy", "too busy: the database has no connection left", record_property)


def test_the_disk_is_full(transactional: None, record_property: Any) -> None:
    """The disk is that of a tablespace. With a full `pg_wal` PostgreSQL stops: then it is away, as in test_postgres_away.py."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(small_disk(160))
        except (PermissionError, FileNotFoundError):
            pytest.skip("only root can mount a small file system")

        def move(servers: OwnServers) -> None:
            connection.close()
            with psycopg.connect(host=str(servers.sockets), user=SUPERUSER, dbname="postgres", autocommit=True) as own:
                own.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
                own.execute(f"ALTER DATABASE {DATABASE} SET TABLESPACE small")

        with a_product(move) as product:
            judge(product, disk_full, "disk_full", "the disk of the database is full", record_property)


@contextmanager
def held_table(product: Product) -> Iterator[None]:
    """Let every start wait: another transaction locks what each of them needs."""
    with psycopg.connect(host=str(product.servers.sockets), user=SUPERUSER, dbname=DATABASE) as own:
        own.execute("LOCK TABLE wf_instances IN ACCESS EXCLUSIVE MODE")
        yield
        own.rollback()


PLACES, LINE, CROWD = 2, 4, 16


def test_the_pool_is_exhausted(transactional: None, record_property: Any) -> None:
    """Two places, four in line: all others are refused at once, the health answers, and everything is served afterwards."""
    sizes = {"WORKFLOW_POOL_SIZE": str(PLACES), "WORKFLOW_POOL_LINE": str(LINE), "WORKFLOW_POOL_PATIENCE": "8"}
    with a_product(**sizes) as product:
        before = len(product.answers)
        threads = [
            threading.Thread(target=partial(product.insist, f"crowd-{number}", PATIENCE)) for number in range(CROWD)
        ]
        with held_table(product):
            for thread in threads:
                thread.start()
            give_up = time.monotonic() + PATIENCE
            while len(product.answers) - before < CROWD - PLACES - LINE:
                assert time.monotonic() < give_up, product.answers[before:]
                time.sleep(0.05)
            at_once = list(product.answers[before:])
            healths = [product.health() for _ in range(5)]
            page = product.page()
        over = time.monotonic()
        healed = product.insist("after")
        for thread in threads:
            thread.join(PATIENCE)
        served = time.monotonic() - over
        faults = product.faults()
        record_property("figure", f"busy: {len(at_once)} refused at once, served again after {healed:.1f} s")
        assert faults == []
        assert len(at_once) >= CROWD - PLACES - LINE
        assert {(answer.status, answer.code) for answer in at_once} == {(503, "busy")}
        assert sorted(answer.took for answer in at_once)[len(at_once) // 2] < 4
        assert page.status_code == 503
        assert 'data-code="busy"' in page.text
        assert [status for status, _ in healths] == [200] * 5
        assert max(took for _, took in healths) < 2
        assert healed < HEALED_WITHIN
        assert len(product.started) == CROWD + 2, served
        assert "too busy: no database connection of this process was free" in product.said()
