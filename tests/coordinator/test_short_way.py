"""The short way of hot statements: faster, and nothing else about transactions changes."""

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from psycopg.pq import PipelineStatus

from workflowplatform.database import hot

PREPARES = "WORKFLOW_TEST_POOLER" not in os.environ
WAY = "prepared" if PREPARES else "unprepared"
prepared_only = pytest.mark.skipif(not PREPARES, reason="behind an old pooler nothing is prepared")

PLAIN = "INSERT INTO crates (weight) VALUES (%s)"
NAMED = "SELECT weight, %(more)s::int FROM crates WHERE weight = %(weight)s ORDER BY %(weight)s::int"
WEIGHTS = "SELECT weight FROM crates ORDER BY weight"


@pytest.fixture
def crates(transactional: None) -> Any:
    """Keep weights, each once."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE crates (weight integer PRIMARY KEY CHECK (weight > 0))")
    yield
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE crates")


def run(statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
    return connection.run_hot(statement, values, way=WAY)  # type: ignore[attr-defined,no-any-return]


def send(weight: int) -> None:
    connection.send_hot(PLAIN, [weight], way=WAY)  # type: ignore[attr-defined]


def fail() -> None:
    raise ZeroDivisionError


def in_one_transaction(*acts: Callable[[], Any]) -> None:
    with transaction.atomic():
        for act in acts:
            act()


def weights() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(WEIGHTS)
        return [row[0] for row in cursor.fetchall()]


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        return int(cursor.fetchone()[0])


def test_what_was_sent_is_committed_with_the_transaction(crates: None) -> None:
    with transaction.atomic():
        assert run(WEIGHTS) == []
        send(5)
    assert weights() == [5]
    with transaction.atomic():
        assert run(NAMED, {"weight": 5, "more": 7}) == [(5, 7)]


def test_whoever_asks_next_sees_what_was_sent(crates: None) -> None:
    with transaction.atomic():
        send(5)
        assert weights() == [5]
        send(6)
        assert run(WEIGHTS) == [(5,), (6,)]


def test_what_was_sent_is_rolled_back_with_the_transaction(crates: None) -> None:
    with pytest.raises(ZeroDivisionError):
        in_one_transaction(partial(send, 5), fail)
    in_one_transaction(partial(send, 6), partial(transaction.set_rollback, True))
    assert weights() == []


def test_a_refusal_comes_up_at_the_commit_and_nothing_is_kept(crates: None) -> None:
    told: list[str] = []
    tell = partial(transaction.on_commit, lambda: told.append("committed"))
    with pytest.raises(IntegrityError):
        in_one_transaction(tell, partial(send, 5), partial(send, -5))
    assert (weights(), told) == ([], [])


def test_a_refusal_comes_up_at_the_end_of_its_savepoint(crates: None) -> None:
    with transaction.atomic():
        send(5)
        with pytest.raises(IntegrityError):
            in_one_transaction(partial(send, -5))
        with pytest.raises(ZeroDivisionError):
            in_one_transaction(partial(send, -6), fail)
        send(7)
    assert weights() == [5, 7]


@prepared_only
def test_statements_stay_prepared_after_a_rollback(crates: None) -> None:
    for _ in range(2):
        with pytest.raises(IntegrityError):
            in_one_transaction(partial(run, WEIGHTS), partial(send, -5))
    assert prepared() == 3  # these two, and the one that tells how to plan


@prepared_only
def test_what_the_server_refused_to_prepare_is_prepared_again(crates: None) -> None:
    for _ in range(2):
        with pytest.raises(DataError):
            in_one_transaction(partial(run, "SELECT 1 / %s", [0]), partial(send, 5))
    with pytest.raises(IntegrityError):
        in_one_transaction(partial(send, -5), partial(run, WEIGHTS))
    with transaction.atomic():
        assert run(WEIGHTS) == []


@prepared_only
def test_more_statements_than_are_kept_run_all_the_same(crates: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot, "MOST_PLANS", 3)
    with transaction.atomic():
        send(5)
        for number in range(10):
            assert run(f"SELECT {number} + %s", [1]) == [(number + 1,)]
    assert prepared() <= 3
    assert weights() == [5]


@prepared_only
def test_statements_that_could_not_be_dropped_are_in_nobodys_way(crates: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot, "MOST_PLANS", 2)
    in_one_transaction(partial(send, 1), partial(run, "SELECT 1"))
    with pytest.raises(IntegrityError):
        in_one_transaction(partial(send, 1), partial(run, "SELECT 2"))
    assert run("SELECT 2") == [(2,)]


def test_without_a_transaction_each_statement_is_one(crates: None) -> None:
    run(f"{PLAIN} RETURNING weight", [5])
    connection.close()
    assert weights() == [5]


def test_a_connection_that_was_interrupted_is_not_used_again(crates: None) -> None:
    class Rung(Exception):
        """The alarm clock rang."""

    def ring(*_: Any) -> None:
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        alarm = partial(signal.setitimer, signal.ITIMER_REAL, 0.1)
        with pytest.raises(Rung):
            in_one_transaction(partial(send, 5), alarm, partial(run, "SELECT pg_sleep(0.5)"))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert weights() == []


def test_a_lost_connection_is_told_as_one(crates: None) -> None:
    with pytest.raises(OperationalError):
        in_one_transaction(partial(send, 5), partial(run, "SELECT pg_terminate_backend(pg_backend_pid())"))
    assert weights() == []
    assert connection.connection.pgconn.pipeline_status == PipelineStatus.OFF


def test_statements_of_one_journey_are_each_answered(crates: None) -> None:
    with transaction.atomic():
        send(5)
        found = connection.run_hot_together([(WEIGHTS, []), (NAMED, {"weight": 5, "more": 1})], way=WAY)  # type: ignore[attr-defined]
    assert found == [[(5,)], [(5, 1)]]


def planning() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW enable_seqscan")
        return str(cursor.fetchone()[0])


def test_a_transaction_plans_by_index_from_its_first_hot_statement_to_its_end(crates: None) -> None:
    for _ in range(2):
        with transaction.atomic():
            assert planning() == "on"
            run(WEIGHTS)
            assert planning() == "off"
        assert planning() == "on"


def test_planning_by_index_outlives_a_savepoint_that_is_rolled_back(crates: None) -> None:
    with transaction.atomic():
        planning()  # the transaction is open before the savepoint
        with pytest.raises(ZeroDivisionError):
            in_one_transaction(partial(run, WEIGHTS), fail)
        assert planning() == "on"
        run(WEIGHTS)
        assert planning() == "off"


def test_a_hot_statement_by_itself_changes_no_planning_behind_it(crates: None) -> None:
    run(WEIGHTS)
    assert planning() == "on"
    with transaction.atomic():
        planning()
        run(WEIGHTS)
        assert planning() == "off"
    with pytest.raises(ZeroDivisionError):
        in_one_transaction(partial(run, WEIGHTS), fail)
    with transaction.atomic():
        planning()
        run(WEIGHTS)
        assert planning() == "off"
