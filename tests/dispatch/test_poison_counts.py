"""Poisoned envelopes become dead letters after exactly their attempts: never fewer, never more, and no neighbour with them."""

import json
import os
import time
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.dispatch.dead_letters import replace_dead_worker
from engine.dispatch.drain import SIGNALS_A_SLICE, drain
from engine.dispatch.worker_board import Board, desk
from engine.management.commands.worker import BACK_OFF_SECONDS, ORDER, RESERVE, Supervisor
from engine.models import DeadLetter, Effect, Instance, RuntimeState, Signal, SignalReceipt
from engine.runtime import coordinator
from tests.cast import Cast
from tests.workflows import CALL, TIMER, activated, started
from workflowplatform.ids import uuid7

pytestmark = pytest.mark.security("poison costs exactly its attempts")

ATTEMPTS = 3
SOON = TIMER.replace("PT0.2S", "PT0.001S")
HEARS = """
workflow: hears
title: Hears
steps:
  - id: zero
    set: {n: 0}
  - id: all
    repeat:
      while: "true"
      max: 500
      steps:
        - {id: tick, signal: {name: tick}}
        - {id: count, set: {n: "${state.n + 1}"}}
"""


@pytest.fixture(autouse=True)
def staged(committed_cast: Cast, settings: Any) -> Cast:
    """Give templates, and nobody who drains."""
    settings.WORKFLOW_DISPATCHER = "rq"
    settings.WORKFLOW_POISON_ATTEMPTS = ATTEMPTS
    for source in (SOON, CALL, HEARS):
        activated(committed_cast.actor("gwen"), source)
    return committed_cast


def drain_with_all_due() -> None:
    """Drain, with every delayed attempt and every call's deadline due now."""
    Signal.objects.filter(held_due_at__isnull=True).update(due_at=database_now())
    drain()


def drains_until_dead(instance: Instance, most: int = ATTEMPTS + 3) -> int:
    """Return after how many drains a dead letter is there."""
    for number in range(1, most + 1):
        drain_with_all_due()
        if DeadLetter.objects.filter(instance=instance).exists():
            return number
    return 0


def put(instance: Instance, kind: str, payload: Any, token: int | None = None) -> Signal:
    """Put an envelope into the queue as nobody of this release would."""
    now = database_now()
    return Signal.objects.create(
        id=uuid7(), tenant_id=instance.tenant_id, instance=instance, type=kind, waiting_token=token, payload=payload,
        occurred_at=now, due_at=now,
    )  # fmt: skip


def tick() -> dict[str, Any]:
    return {"name": "tick", "key": None, "payload": {}}


MALFORMED: dict[str, tuple[str, Any, int | None]] = {
    "an unknown type, as of a later release": ("WarpCompleted", {}, None),
    "a task's answer that nobody queues": ("TaskCompleted", {}, 1),
    "a timer without a token": ("TimerDue", {}, None),
    "a signal without a name": ("ExternalSignal", {"key": None, "payload": {}}, None),
    "a signal whose name is a list": ("ExternalSignal", {"name": ["tick"], "key": None, "payload": {}}, None),
    "a signal whose key is an object": ("ExternalSignal", {"name": "tick", "key": {}, "payload": {}}, None),
    "a signal that is a list": ("ExternalSignal", ["tick"], None),
    "a child's end with a field of a later release": ("SubWorkflowCompleted", {"status": "completed", "warp": 1}, 1),
    "a child's end that is a text": ("SubWorkflowCompleted", "completed", 1),
    "a parent's end that is a list": ("ParentEnded", ["gone"], None),
    "a parent's end with a number for a reason": ("ParentEnded", {"reason": 7}, None),
}


@pytest.mark.parametrize("named", MALFORMED)
def test_what_can_never_be_read_is_dead_at_once_and_its_neighbours_go_on(staged: Cast, named: str) -> None:
    bad, good = started(staged.actor("ada"), "hears"), started(staged.actor("ada"), "timer")
    put(bad, *MALFORMED[named])
    assert drains_until_dead(bad) == 1
    good.refresh_from_db()
    assert good.status == "completed"
    assert DeadLetter.objects.count() == 1


@pytest.mark.parametrize("snapshot", [{"engineSchemaVersion": 999}, {"engineSchemaVersion": 1, "frames": 7}, [1]])
def test_a_snapshot_of_another_schema_is_dead_at_once(staged: Cast, snapshot: Any) -> None:
    bad, good = started(staged.actor("ada"), "timer"), started(staged.actor("ada"), "timer")
    RuntimeState.objects.filter(instance=bad).update(snapshot=snapshot)
    assert drains_until_dead(bad) == 1
    good.refresh_from_db()
    assert good.status == "completed"


@pytest.mark.parametrize("answer", [["x"], {"succeeded": True}, {"succeeded": True, "fields": {"warp": 1}}, "yes"])
def test_a_kept_answer_that_cannot_be_read_is_dead_at_once_and_keeps_no_other_call(staged: Cast, answer: Any) -> None:
    bad, good = (started(staged.actor("ada"), "call", word=word) for word in ("bad", "good"))
    Signal.objects.filter(instance=bad).update(payload={"answer": answer})
    assert drains_until_dead(bad) == 1
    good.refresh_from_db()
    assert (good.status, Effect.objects.get(instance=good).made) == ("completed", 1)


def test_an_envelope_too_deep_to_be_read_is_dead_and_stops_nobody(staged: Cast) -> None:
    bad, good = started(staged.actor("ada"), "hears"), started(staged.actor("ada"), "timer")
    signal = put(bad, "ExternalSignal", tick())
    deep = json.dumps(tick() | {"payload": "DEEP"}).replace('"DEEP"', "[" * 3000 + "]" * 3000)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_signals SET payload = %s WHERE id = %s", [deep, signal.pk])
    assert drains_until_dead(bad) == 1
    good.refresh_from_db()
    assert good.status == "completed"


def test_a_bad_signal_takes_no_good_one_of_its_instance_with_it(staged: Cast) -> None:
    instance = started(staged.actor("ada"), "hears")
    put(instance, "ExternalSignal", tick())
    bad = put(instance, "ExternalSignal", ["nonsense"])
    later = put(instance, "ExternalSignal", tick())
    drain_with_all_due()
    letters = list(DeadLetter.objects.filter(instance=instance))
    assert [letter.envelope["id"] for letter in letters] == [str(bad.pk)]
    instance.refresh_from_db()
    assert (instance.status, instance.state["n"]) == ("incident", 1)
    assert list(Signal.objects.filter(instance=instance).values_list("pk", "attempts")) == [(later.pk, 0)]


def fail_for(monkeypatch: pytest.MonkeyPatch, instance: Instance, error: type[BaseException]) -> list[int]:
    """Let every slice of an instance that applies something raise; count them."""
    honest, made = coordinator.deliver_batch, [0]

    def deliver(claimed: Any, *more: Any) -> Any:
        if any(loaded.instance_id == instance.pk and deliveries for loaded, deliveries in claimed):
            made[0] += 1
            raise error
        return honest(claimed, *more)

    monkeypatch.setattr(coordinator, "deliver_batch", deliver)
    return made


def test_what_fails_is_dead_after_exactly_its_attempts(staged: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second attempt on it is counted beforehand; the exception that follows is the same attempt."""
    bad, good = started(staged.actor("ada"), "timer"), started(staged.actor("ada"), "timer")
    fail_for(monkeypatch, bad, RuntimeError)
    assert drains_until_dead(bad) == ATTEMPTS
    good.refresh_from_db()
    assert good.status == "completed"


class Killed(BaseException):
    """A worker's death: nothing catches it and its transaction is gone."""


def test_what_kills_is_dead_after_exactly_its_attempts(staged: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker took a whole batch; what it had in hand is known to the next, which counts that attempt too."""
    bad, good = started(staged.actor("ada"), "timer"), started(staged.actor("ada"), "timer")
    deaths = fail_for(monkeypatch, bad, Killed)
    monkeypatch.setattr(desk, "board", Board())
    for _ in range(ATTEMPTS + 3):
        Signal.objects.filter(held_due_at__isnull=True).update(due_at=database_now())
        try:
            drain()
        except Killed:
            replace_dead_worker(desk.board)  # as the worker does that comes in its place
            continue
        break
    good.refresh_from_db()
    assert (deaths[0], good.status) == (ATTEMPTS, "completed")
    assert [letter.instance_id for letter in DeadLetter.objects.all()] == [bad.pk]
    assert f"{ATTEMPTS} workers" in DeadLetter.objects.get().reason


def test_only_the_signal_that_is_taken_is_counted_beforehand(staged: Cast) -> None:
    """All that a dead worker had in hand has one attempt more; each that follows is taken alone and costs no other one."""
    instance = started(staged.actor("ada"), "hears")
    number = SIGNALS_A_SLICE * (ATTEMPTS + 1)
    for _ in range(number):
        put(instance, "ExternalSignal", tick())
    board = Board()
    board.note([instance.pk])
    replace_dead_worker(board)
    assert Signal.objects.filter(instance=instance, attempts=1).count() == SIGNALS_A_SLICE
    while Signal.objects.filter(instance=instance).exists():
        drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state["n"]) == ("running", number)
    assert SignalReceipt.objects.filter(instance=instance, disposition="applied").count() == number
    assert not DeadLetter.objects.exists()


@pytest.mark.parametrize(("status", "after_death"), [(9, True), (0, False), (256, True)])
def test_the_successor_of_a_worker_that_died_is_told_so(
    monkeypatch: pytest.MonkeyPatch, status: int, after_death: bool
) -> None:
    """A function that ends its process by `os._exit(1)` was not killed by a signal."""
    followed: list[bool] = []
    supervisor = Supervisor("test", 1)
    supervisor.children[4711] = 0
    monkeypatch.setattr(supervisor, "_fork_reserve", lambda pause: None)
    monkeypatch.setattr(supervisor, "_fork", lambda place, *, after_death: followed.append(after_death))
    monkeypatch.setattr(os, "wait", lambda: (4711, status))
    supervisor._replace_one()
    assert followed == [after_death]


def test_the_reserve_takes_the_place_of_a_dead_worker_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor("test", 2)
    orders, supervisor._reserve_pipe = os.pipe()
    supervisor.children = {1: 0, 2: 1, 3: RESERVE}
    begun: list[float] = []
    monkeypatch.setattr(supervisor, "_fork_reserve", begun.append)
    monkeypatch.setattr(os, "wait", lambda: (2, 9))
    supervisor._replace_one()
    assert ORDER.unpack(os.read(orders, ORDER.size)) == (1, True)
    assert supervisor.children == {1: 0, 3: 1}
    assert len(begun) == 1
    os.close(orders)


def test_a_reserve_that_dies_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor("test", 1)
    orders, supervisor._reserve_pipe = os.pipe()
    supervisor.children, supervisor.born = {1: 0, 2: RESERVE}, {2: time.monotonic()}
    begun: list[float] = []
    monkeypatch.setattr(supervisor, "_fork_reserve", begun.append)
    monkeypatch.setattr(os, "wait", lambda: (2, 9))
    supervisor._replace_one()
    assert (supervisor.children, supervisor._reserve_pipe, begun) == ({1: 0}, None, [BACK_OFF_SECONDS])
    os.close(orders)
