"""A transaction that the database ends only because of others is retried, and nobody notices."""

from collections.abc import Callable
from functools import partial
from threading import Barrier
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from engine.db.transactions import MOST_TRIES, do_in_one_transaction, in_one_transaction
from engine.dispatch.drain import drain
from engine.models import Instance, Signal, SignalReceipt
from engine.runtime import coordinator
from tests.api.conftest import caller_of
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import TIMER, activated, started

QUICK = TIMER.replace("PT0.2S", "PT0.01S")


def ended_by(cause: type[psycopg.Error]) -> OperationalError:
    """Make the error that Django raises for one of psycopg's."""
    error = OperationalError("ended by the database")
    error.__cause__ = cause()
    return error


class Failing:
    """Something that the database ends so many times before it lets it pass."""

    def __init__(self, times: int, cause: type[psycopg.Error], real: Callable[..., Any] = lambda: "done") -> None:
        self.left, self.cause, self.real, self.tries = times, cause, real, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.tries += 1
        if self.tries <= self.left:
            raise ended_by(self.cause)
        return self.real(*args, **kwargs)


def test_two_acts_that_wait_for_each_other_are_both_done(committed_cast: Cast) -> None:
    acme, globex = committed_cast.acme.pk, committed_cast.globex.pk
    first_met = Barrier(2)
    met: set[object] = set()

    @in_one_transaction
    def mark(one: object, other: object) -> object:
        _mark(one)
        if one not in met:
            met.add(one)
            first_met.wait(60)
        _mark(other)
        return one

    assert set(at_once([partial(mark, acme, globex), partial(mark, globex, acme)])) == {acme, globex}
    assert {tenant.title for tenant in (committed_cast.acme, committed_cast.globex)} == {"Acme", "Globex"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM wf_tenants WHERE id IN (%s, %s)", [acme, globex])
        assert {len(title) for (title,) in cursor.fetchall()} == {len("Acme!!"), len("Globex!!")}


def _mark(tenant: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_tenants SET title = title || '!' WHERE id = %s", [tenant])


@pytest.mark.parametrize("cause", [psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure])
def test_an_act_is_tried_five_times_and_then_the_error_is_told(transactional: None, cause: type[psycopg.Error]) -> None:
    assert do_in_one_transaction(Failing(MOST_TRIES - 1, cause)) == "done"
    hopeless = Failing(MOST_TRIES, cause)
    with pytest.raises(OperationalError):
        do_in_one_transaction(hopeless)
    assert hopeless.tries == MOST_TRIES


def test_other_errors_of_the_database_are_told_at_once(transactional: None) -> None:
    refused = Failing(1, psycopg.errors.QueryCanceled)
    with pytest.raises(OperationalError):
        do_in_one_transaction(refused)
    assert refused.tries == 1


def test_an_act_inside_another_leaves_the_repetition_to_it(transactional: None) -> None:
    inner = Failing(1, psycopg.errors.DeadlockDetected)
    with pytest.raises(OperationalError), transaction.atomic():
        do_in_one_transaction(inner)
    assert inner.tries == 1


def test_what_fails_after_the_commit_does_not_repeat_the_act(transactional: None) -> None:
    done: list[str] = []
    announce = Failing(9, psycopg.errors.DeadlockDetected)

    @in_one_transaction
    def act() -> None:
        done.append("once")
        transaction.on_commit(announce)

    with pytest.raises(OperationalError):
        act()
    assert done == ["once"]


def test_a_deadlock_in_a_drain_costs_no_attempt(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    activated(committed_cast.actor("gwen"), QUICK)
    instance = started(committed_cast.actor("ada"), "timer")
    failing = Failing(3, psycopg.errors.DeadlockDetected, coordinator.deliver_batch)
    monkeypatch.setattr(coordinator, "deliver_batch", failing)
    while Instance.objects.live().exists():
        drain()
    assert failing.tries == 4
    assert SignalReceipt.objects.filter(instance=instance, disposition="applied").count() == 1


def test_a_lock_that_somebody_keeps_costs_no_attempt(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0S"))
    started(committed_cast.actor("ada"), "timer")
    kept = Failing(2, psycopg.errors.LockNotAvailable, coordinator.deliver_batch)
    monkeypatch.setattr(coordinator, "deliver_batch", kept)
    drain()
    assert kept.tries >= 3
    assert Instance.objects.get().status == "completed"


def test_a_statement_that_takes_too_long_stops_no_neighbour(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0S"))
    slow, quick = (started(committed_cast.actor("ada"), "timer") for _ in range(2))
    real = coordinator.deliver_batch

    def deliver(claimed: Any, *given: Any) -> Any:
        if any(loaded.instance_id == slow.pk for loaded, _ in claimed):
            raise ended_by(psycopg.errors.QueryCanceled)
        return real(claimed, *given)

    monkeypatch.setattr(coordinator, "deliver_batch", deliver)
    drain()
    quick.refresh_from_db()
    assert quick.status == "completed"
    assert Signal.objects.get(instance=slow).attempts == 1


def test_a_request_is_done_again_behind_the_door(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    activated(committed_cast.actor("gwen"), TIMER)
    caller = caller_of("ada")
    failing = Failing(2, psycopg.errors.DeadlockDetected, coordinator.start)
    monkeypatch.setattr(coordinator, "start", failing)
    answer = caller.post("instances/", {"template": "timer", "input": {}}, key="once")
    assert (answer.status_code, failing.tries) == (201, 3)
    assert Instance.objects.count() == 1
