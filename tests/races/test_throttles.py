"""However many workers there are, never more run at once than a throttle says; a killed one takes no place with it."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import pytest
from django.db import connection, transaction

from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.drain import _take, drain
from engine.dispatch.fairness import Turn
from engine.extensions import functions
from engine.models import Instance, Place, Signal
from engine.services.audit.verification import verify_folds
from engine.services.instances.lifecycle import cancel_instance
from tests.cast import Cast
from tests.flaky import counter
from tests.races.crowd import at_once, await_a_waiter
from tests.workers import running
from tests.workflows import activated, started

PATIENCE = 90.0
BANK = """
workflow: bank
title: Bank
steps:
  - id: pay
    call: {python: {function: %s}}
    throttle: {key: bank, limit: 2}
    attempt_timeout: PT1S
    retry: {attempts: 9, delay: PT0.05S}
"""


class Teller:
    """A function of the host that counts who is inside."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.inside = self.most = self.served = 0

    def __call__(self) -> dict[str, Any]:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.02)  # sleep: others meet this call inside
        with self.lock:
            self.inside -= 1
            self.served += 1
        return {}


@pytest.fixture
def teller(monkeypatch: pytest.MonkeyPatch) -> Teller:
    """Return a counted function, registered as `test_teller`."""
    found = Teller()
    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    functions.workflow_function("test_teller")(lambda: found())
    return found


@pytest.fixture
def nobody_drains(settings: Any, valkey: object) -> None:
    """Leave everything to who drains on purpose."""
    settings.WORKFLOW_DISPATCHER = "rq"


def running_now() -> int:
    return Place.objects.filter(let_in_at__isnull=False).count()


def keep_draining(seen: list[int]) -> Callable[[], None]:
    """Make an act that drains until nothing is left, and notes how many have a place."""

    def act() -> None:
        give_up = time.monotonic() + PATIENCE
        while Instance.objects.filter(status="running").exists() and time.monotonic() < give_up:
            drain()
            seen.append(running_now())

    return act


@pytest.mark.usefixtures("nobody_drains")
def test_many_workers_never_let_more_in_than_the_limit(committed_cast: Cast, teller: Teller) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), BANK % "test_teller")
    for _ in range(20):
        started(cast.actor("ada"), "bank")
    seen: list[int] = []
    at_once([keep_draining(seen)] * 4)
    assert teller.served == 20
    assert (teller.most, max(seen)) == (2, 2)
    assert set(Instance.objects.values_list("status", flat=True)) == {"completed"}
    assert not Place.objects.exists()
    assert verify_folds().broken == ()


@pytest.mark.usefixtures("nobody_drains")
def test_who_asks_while_another_is_let_in_waits_for_that(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), (BANK % "echo").replace("limit: 2", "limit: 1"))
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = started(cast.actor("ada"), "bank")
            other = pool.submit(_start_alone, cast)
            await_a_waiter()
        second = other.result(timeout=60)
    places = Place.objects.order_by("asked_at").values_list("instance_id", "let_in_at")
    assert [(which, moment is not None) for which, moment in places] == [(first.pk, True), (second.pk, False)]


def _start_alone(cast: Cast) -> Instance:
    try:
        return started(cast.actor("ada"), "bank")
    finally:
        connection.close()


@pytest.mark.usefixtures("nobody_drains")
def test_many_starts_at_the_same_moment_let_in_no_more_than_the_limit(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), BANK % "echo")
    for _ in range(3):
        at_once([lambda: started(cast.actor("ada"), "bank")] * 6)
        assert running_now() == 2


@pytest.mark.usefixtures("nobody_drains")
def test_starts_and_cancels_at_the_same_moment_leave_no_place_taken(committed_cast: Cast, teller: Teller) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), BANK % "test_teller")
    ada = cast.actor("ada")
    waiting = [started(ada, "bank") for _ in range(6)]

    def cancel(instance: Instance) -> Callable[[], object]:
        return lambda: cancel_instance(actor=ada, instance_id=instance.pk, reason="race")

    acts: list[Callable[[], object]] = [cancel(one) for one in waiting]
    acts += [lambda: started(ada, "bank")] * 3
    at_once(acts)
    at_once([keep_draining([])] * 3)
    assert teller.most <= 2
    assert teller.served >= 3
    assert not Place.objects.exists()
    assert not Instance.objects.filter(status="running").exists()


@pytest.mark.usefixtures("nobody_drains")
def test_the_place_of_a_worker_that_died_is_freed_when_its_call_was_made_again(
    committed_cast: Cast, teller: Teller
) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), BANK % "test_teller")
    cases = [started(cast.actor("ada"), "bank") for _ in range(4)]
    intents, _ = _take(CallsUnderWay(), turn=Turn(instances=50))
    while len(intents) < 2:  # the first look only lets them in
        intents += _take(CallsUnderWay(), turn=Turn(instances=50))[0]
    assert {intent.instance_id for intent in intents} == {cases[0].pk, cases[1].pk}
    drain()
    assert (teller.served, running_now()) == (0, 2)
    Signal.objects.filter(type="CallDue").update(due_at=cases[0].started_at)
    at_once([keep_draining([])] * 2)
    assert (teller.served, teller.most <= 2, Place.objects.exists()) == (4, True, False)


@pytest.fixture
def slow_bank(committed_cast: Cast, nobody_drains: None) -> Iterator[Cast]:
    counter("slow").unlink(missing_ok=True)
    activated(committed_cast.actor("gwen"), BANK % "test_slow, args: {seconds: 0.3}")
    yield committed_cast
    counter("slow").unlink(missing_ok=True)


def test_workers_killed_while_they_call_leak_no_place(slow_bank: Cast) -> None:
    cases = [started(slow_bank.actor("ada"), "bank") for _ in range(6)]
    with running("worker") as killed:
        _until(lambda: counter("slow").exists())
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert 0 < running_now() <= 2
    Signal.objects.filter(type="CallDue").update(due_at=cases[0].started_at)  # no minute until it is made again
    seen: list[int] = []
    with running("worker"):
        _until(lambda: not Instance.objects.filter(status="running").exists(), lambda: seen.append(running_now()))
    assert max(seen) <= 2
    assert Instance.objects.filter(status="completed").count() == len(cases)
    assert not Place.objects.exists()


def _until(seen: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None) -> None:
    give_up = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < give_up
        meanwhile()
        connection.close()
        time.sleep(0.02)
