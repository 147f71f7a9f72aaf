"""The accounting notices what it is for: each of four well-known mistakes, made here on purpose, turns it red.

Every test plays one scene twice: with the code as it is, which must be green, and with one mistake patched in.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django_rq
import pytest
from django.db import connection

from benchmarks.faults.accounting import Account, Pattern, learn_pattern, lost_wake_ups, settle
from benchmarks.faults.kills import found_tenant
from benchmarks.faults.ledger import LEDGER, write_down
from benchmarks.faults.workload import CALL, TIMER
from engine.audit.chain import database_now
from engine.dispatch import calls, rq
from engine.dispatch import drain as draining
from engine.dispatch.call_pool import CallsUnderWay
from engine.dispatch.crash_points import Boundary
from engine.dispatch.fairness import Turn
from engine.kernel.interpreter import run_to_wait
from engine.models import Instance, Signal, SignalReceipt, Wait
from engine.runtime import claims
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.signals import send_keyed_signal
from engine.transports.base import Succeeded
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

LISTENER = """
workflow: fault-listener
title: A listener
steps:
  - {id: hear, signal: {name: word, key: one}}
  - {id: note, set: {heard: true}}
"""

PATIENCE = 60.0


class Killed(BaseException):
    """Simulates kill -9: nothing catches it and the transaction is gone."""


@dataclass(frozen=True)
class Scene:
    """A tenant, what its instances leave behind undisturbed, and the outside's ledger."""

    actor: Actor
    pattern: Pattern
    ledger: Path

    def account(self) -> Account:
        return settle(self.actor.tenant_id, self.pattern, ledger=self.ledger, killed=(), started=())


@pytest.fixture
def stage(transactional: None, valkey: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:
    """Return a function that activates one workflow, runs it once undisturbed and returns the scene."""
    settings.WORKFLOW_DISPATCHER = "rq"
    monkeypatch.setenv(LEDGER, str(tmp_path / "ledger"))

    def prepare(source: str, provoke: Callable[[Actor], Instance]) -> Scene:
        actor = found_tenant([source])
        run_dry(provoke(actor))
        scene = Scene(actor, learn_pattern(actor.tenant_id), tmp_path / "ledger")
        assert scene.account().faults == ()
        return scene

    return prepare


def run_dry(instance: Instance) -> None:
    """Drain until an instance is over, or until nothing will ever be due."""
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up and Signal.objects.filter(instance=instance).exists():
        draining.drain()
        time.sleep(0.01)


def until_due(instance: Instance) -> None:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up and not draining._load([instance.pk])[0]:
        time.sleep(0.01)


def start(actor: Actor, template: str) -> Instance:
    return start_instance(actor=actor, template=template, input={}).instance


def elsewhere(act: Callable[[], object]) -> None:
    """Do something on another connection and commit it."""

    def alone() -> None:
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(alone).result()


def any_leaf(machine: Any, token: int, kind: Any) -> Any:
    """Find a wait of the right kind, whatever its token."""
    return next((frame for frame in machine.frames.values() if frame.wait == kind.value), None)


def spoken_to(actor: Actor) -> Instance:
    instance = start(actor, "fault-listener")
    send_keyed_signal(actor=actor, name="word", key="one")
    return instance


def test_a_signal_acknowledged_in_a_transaction_of_its_own_is_found_lost(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene: Scene = stage(LISTENER, spoken_to)

    def die_loaded(boundary: Boundary) -> None:
        if boundary is Boundary.LOADED:
            raise Killed

    def killed_then_drained() -> None:
        instance = spoken_to(scene.actor)
        with monkeypatch.context() as dying:
            dying.setattr(draining, "reached", die_loaded)
            with pytest.raises(Killed):
                draining.drain()
        run_dry(instance)

    killed_then_drained()
    assert scene.account().faults == ()

    honest = draining._load

    def acknowledging(claimed: Any, *how: Any) -> Any:
        due, loaded = honest(claimed, *how)
        elsewhere(lambda: [acknowledge(signal, scene.actor) for signal in due])
        return due, loaded

    monkeypatch.setattr(draining, "_load", acknowledging)
    killed_then_drained()
    account = scene.account()
    assert [words.split(":")[0] for words in account.lost] == ["a signal was taken, nothing followed"]
    assert account.stuck


def acknowledge(signal: Any, actor: Actor) -> None:
    Signal.objects.filter(pk=signal.id).delete()
    SignalReceipt.objects.create(
        id=signal.id, tenant_id=actor.tenant_id, instance_id=signal.instance_id, type=signal.type,
        waiting_token=signal.token, disposition="applied", at=database_now(),
    )  # fmt: skip


def test_a_token_that_nobody_checks_is_found_doubled(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scene: Scene = stage(TIMER, lambda actor: start(actor, "fault-timer"))

    def told_twice() -> None:
        instance = start(scene.actor, "fault-timer")
        twin = Signal.objects.get(instance=instance)
        twin.pk = uuid7()
        twin.save(force_insert=True)
        run_dry(instance)

    told_twice()
    assert scene.account().faults == ()
    monkeypatch.setattr(run_to_wait, "_leaf", any_leaf)
    told_twice()
    assert [words.split(":")[0] for words in scene.account().doubled] == ["one token was answered twice"]


def test_a_token_checked_before_the_lock_is_found_doubled(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers bring the answer to one call: while the second is about to lock, the first commits."""
    scene: Scene = stage(CALL, lambda actor: start(actor, "fault-call"))

    def answered_twice(*, checks_early: bool) -> None:
        instance = start(scene.actor, "fault-call")
        intent = taken_on(instance)
        answer = Succeeded(write_down(key=intent.key))
        honest = claims.hold

        def late(instance_id: Any) -> Any:
            second.setattr(claims, "hold", honest)
            assert Wait.objects.filter(instance=instance, token=intent.token).exists()  # the check that is too early
            elsewhere(lambda: calls._deliver_result(intent, answer))
            if checks_early:
                second.setattr(run_to_wait, "_leaf", any_leaf)
            return honest(instance_id)

        with monkeypatch.context() as second:
            second.setattr(claims, "hold", late)
            calls._deliver_result(intent, answer)
        run_dry(instance)

    answered_twice(checks_early=False)
    assert scene.account().faults == ()
    answered_twice(checks_early=True)
    account = scene.account()
    assert "an act that no signal caused" in {words.split(":")[0] for words in account.doubled}
    assert "a call was never made" in {words.split(":")[0] for words in account.lost}


def taken_on(instance: Instance) -> calls.Intent:
    """Play a worker up to the commit that takes on the instance's first call."""
    intents: list[calls.Intent] = []
    give_up = time.monotonic() + PATIENCE
    while not intents and time.monotonic() < give_up:
        until_due(instance)
        intents, _ = draining._take(CallsUnderWay(), turn=Turn(instances=50))
    return intents[0]


def test_a_flag_lowered_after_the_drain_is_found_to_lose_a_wake_up(
    stage: Any, monkeypatch: pytest.MonkeyPatch, valkey: Any
) -> None:
    """A signal is committed after the drain's last look; a worker must have been woken."""
    scene: Scene = stage(TIMER, lambda actor: start(actor, "fault-timer"))
    honest = rq.look

    def look_and_miss_one() -> Any:
        drained = honest()
        until_due(start(scene.actor, "fault-timer"))
        return drained

    def job_taken_and_done(job: Callable[[], None]) -> None:
        start(scene.actor, "fault-timer")  # raises the flag, if it is not up yet
        valkey.persist(rq.FLAG)  # and it stays up, however slow this machine is
        django_rq.get_queue(rq.QUEUE).empty()  # a worker takes the job
        with monkeypatch.context() as busy:
            busy.setattr(rq, "look", look_and_miss_one)
            job()

    def careless_job() -> None:
        rq.look()
        valkey.delete(rq.FLAG)

    job_taken_and_done(rq.drain_job)
    assert lost_wake_ups(scene.actor.tenant_id) == 0
    job_taken_and_done(careless_job)
    assert lost_wake_ups(scene.actor.tenant_id) > 0
