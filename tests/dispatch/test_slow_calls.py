"""A call that takes its time, or never ends, keeps nobody waiting but its own step."""

import os
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread, Timer
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.dispatch import call_pool, rq
from engine.dispatch.call_pool import CALLS_A_TENANT, LONG, CallsUnderWay
from engine.dispatch.calls import CALLS_AT_ONCE
from engine.dispatch.drain import Drained, _take, drain
from engine.dispatch.fairness import Turn
from engine.dispatch.rq import look, make_worker
from engine.extensions import functions
from engine.models import DeadLetter, Effect, Instance, Signal, StepRun
from engine.services.audit.verification import verify_folds
from engine.services.instances.repair import retry_step
from tests.cast import Cast
from tests.dispatch.test_runaway import eventually
from tests.workflows import CALL, TIMER, activated, fall_due, started

PATIENCE = 60.0
SLOW = CALL.replace("workflow: call", "workflow: slow").replace("echo", "test_held")

Hold = Callable[[Callable[[], bool]], None]


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    """Provide a function that says how long calls of `slow` take: until something is so. It answers whether it came to be."""
    released = Event()
    asked: list[Callable[[], bool]] = []

    def held(*, word: str) -> dict[str, str]:
        give_up = time.monotonic() + PATIENCE
        while not (seen := asked[0]()) and time.monotonic() < give_up and not released.wait(0.02):
            pass
        return {"word": "in time" if seen else "too late"}

    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    functions.workflow_function("test_held")(held)
    yield asked.append
    released.set()


@pytest.fixture
def staged(committed_cast: Cast, hold: Hold, valkey: object, settings: Any) -> Cast:
    """Return two tenants with the same workflows, and nobody who drains."""
    settings.WORKFLOW_DISPATCHER = "rq"
    for author in ("gwen", "sam"):
        for source in (CALL, SLOW, TIMER):
            activated(committed_cast.actor(author), source)
    return committed_cast


def heard(instance: Instance) -> Any:
    instance.refresh_from_db()
    return instance.state.get("heard")


def test_what_falls_due_while_a_call_is_under_way_is_drained(staged: Cast, hold: Hold) -> None:
    slow = started(staged.actor("ada"), "slow", word="x")
    later: list[Instance] = []

    def timer_ended() -> bool:
        if not later:
            later.append(fall_due(started(staged.actor("ada"), "timer")))
        return Instance.objects.filter(pk=later[0].pk, status="completed").exists()

    hold(timer_ended)
    drain()
    assert heard(slow) == "in time"


def test_as_many_slow_calls_as_a_tenant_may_have_leave_room_for_the_next_tenant(staged: Cast, hold: Hold) -> None:
    slow = [started(staged.actor("ada"), "slow", word="x") for _ in range(CALLS_A_TENANT + 3)]
    other = started(staged.actor("stan"), "call", word="quick")
    hold(Instance.objects.filter(pk=other.pk, status="completed").exists)
    drain()
    assert [heard(one) for one in slow] == ["in time"] * len(slow)


def test_slow_calls_of_two_tenants_leave_room_for_a_third(staged: Cast, hold: Hold) -> None:
    activated(staged.actor("zoe"), CALL)
    slow = [
        started(staged.actor(name), "slow", word="x") for name in ("ada", "stan") for _ in range(CALLS_A_TENANT + 1)
    ]
    calls = CallsUnderWay()
    third: list[Instance] = []
    hold(lambda: bool(third) and Instance.objects.filter(pk=third[0].pk, status="completed").exists())
    drain(calls)
    assert calls.count == CALLS_AT_ONCE
    third.append(started(staged.actor("zoe"), "call", word="quick"))
    drain(calls)
    calls.settle_all()
    drain()
    assert [heard(one) for one in slow] == ["in time"] * len(slow)


def test_calls_are_taken_on_tenants_in_turn(staged: Cast) -> None:
    for _ in range(2 * CALLS_A_TENANT):
        started(staged.actor("ada"), "call", word="many")
    last = started(staged.actor("stan"), "call", word="one")
    intents, settled = _take(CallsUnderWay(), turn=Turn(instances=50))
    assert last.pk in {intent.instance_id for intent in intents}
    assert (len(intents), settled) == (CALLS_A_TENANT + 1, 0)


def test_a_function_that_never_ends_fails_its_step_in_time(staged: Cast, hold: Hold) -> None:
    instance = started(staged.actor("ada"), "slow", word="x")
    Effect.objects.filter(instance=instance).update(timeout_seconds=0.1)
    hold(lambda: False)
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.error["class"], instance.error["code"]) == ("incident", "timeout", "no_answer")
    assert Effect.objects.get(instance=instance).status == "failed"


def timed(cast: Cast, name: str, attributes: str) -> Instance:
    """Start a slow call with more attributes on its step."""
    source = SLOW.replace("workflow: slow", f"workflow: {name}").replace("  - id: keep", f"{attributes}\n  - id: keep")
    activated(cast.actor("gwen"), source.replace("${result.ask.word}", "${get(result, 'ask.word', 'nothing')}"))
    return started(cast.actor("ada"), name, word="x")


def test_the_time_of_a_step_ends_its_call_and_what_comes_later_is_stale(staged: Cast, hold: Hold) -> None:
    instance = timed(staged, "bounded", "    timeout: PT0.2S\n    on_timeout: [{set: {late: true}}]")
    hold(lambda: Instance.objects.filter(pk=instance.pk, status="completed").exists())
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state) == ("completed", {"late": True, "heard": "nothing"})
    assert Effect.objects.get(instance=instance).status == "withdrawn"


def test_uncaught_the_time_of_a_call_is_an_incident_that_can_be_mended(staged: Cast, hold: Hold) -> None:
    instance = timed(staged, "mended", "    timeout: PT0.2S")
    hold(lambda: Instance.objects.filter(pk=instance.pk, status="incident").exists())
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.error["class"], instance.error["step"]) == ("incident", "timeout", "ask")
    retry_step(actor=staged.actor("ada"), instance_id=instance.pk)
    drain()
    instance.refresh_from_db()
    assert instance.status == "incident"
    assert StepRun.objects.filter(instance=instance, step="ask").count() == 2
    assert verify_folds().broken == ()


def test_a_late_attempt_is_made_again_as_the_author_says(staged: Cast, hold: Hold) -> None:
    instance = timed(staged, "again", "    attempt_timeout: PT1S\n    retry: {attempts: 2, delay: PT0.01S}")
    hold(lambda: StepRun.objects.filter(instance=instance, step="ask", attempt=2, status="running").exists())
    assert eventually(lambda: bool(drain()) and heard(instance) == "in time")  # the retry falls due after a pause
    first, second = StepRun.objects.filter(instance=instance, step="ask").order_by("attempt")
    assert (first.status, first.error["class"], first.error["code"]) == ("failed", "timeout", "no_answer")
    assert (second.status, second.error) == ("success", None)
    assert verify_folds().broken == ()


def test_calls_that_a_worker_lends_go_on_after_the_drain(staged: Cast, hold: Hold) -> None:
    slow = started(staged.actor("ada"), "slow", word="x")
    calls, open_ = CallsUnderWay(), Event()
    hold(open_.is_set)
    drain(calls)
    assert (calls.count, heard(slow)) == (1, None)
    open_.set()
    calls.wait(PATIENCE)
    drain(calls)
    assert (calls.count, heard(slow)) == (0, "in time")


def cut_off() -> None:
    """End this thread's connection to the database, as a server that restarts does."""

    def end(backend: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [backend])
        connection.close()

    elsewhere = Thread(target=end, args=[connection.connection.info.backend_pid])
    elsewhere.start()
    elsewhere.join()


@pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler takes another connection by itself")
def test_results_wait_for_a_database_that_is_away(staged: Cast, hold: Hold) -> None:
    slow = started(staged.actor("ada"), "slow", word="x")
    calls, open_ = CallsUnderWay(), Event()
    hold(open_.is_set)
    look(calls)
    cut_off()
    open_.set()
    calls.wait(PATIENCE)
    look(calls)
    assert calls.count == 1
    look(calls)
    assert (calls.count, heard(slow), Effect.objects.get(instance=slow).made) == (0, "in time", 1)


def test_a_call_from_which_a_worker_did_not_come_back_is_made_alone(staged: Cast) -> None:
    doubtful, *others = (started(staged.actor("ada"), "call", word=word) for word in ("doubtful", "one", "two"))
    Signal.objects.filter(instance=doubtful).update(attempts=1)
    calls = CallsUnderWay()
    assert [intent.instance_id for intent in _take(calls, turn=Turn(instances=50))[0]] == [doubtful.pk]
    assert {intent.instance_id for intent in _take(calls, turn=Turn(instances=50))[0]} == {other.pk for other in others}


@pytest.mark.usefixtures("long_alone")
def test_a_call_from_which_a_worker_did_not_come_back_waits_for_others_but_not_for_ever(
    staged: Cast, hold: Hold
) -> None:
    calls, open_ = CallsUnderWay(), Event()
    hold(open_.is_set)
    started(staged.actor("ada"), "slow", word="x")
    drain(calls)
    doubtful = started(staged.actor("ada"), "slow", word="doubtful")
    mine = Signal.objects.filter(instance=doubtful)
    mine.update(attempts=1)
    drain(calls)
    assert (calls.count, Effect.objects.get(instance=doubtful).made) == (1, 0)
    mine.update(due_at=database_now() - LONG)
    started(staged.actor("ada"), "slow", word="new")
    drain(calls)
    assert (calls.count, Effect.objects.get(instance=doubtful).made) == (2, 1)
    open_.set()
    calls.settle_all()
    assert heard(doubtful) == "in time"


def test_a_batch_that_is_taken_one_by_one_begins_no_more_calls_than_there_is_room_for(staged: Cast, hold: Hold) -> None:
    for name in ("ada", "stan"):
        for _ in range(CALLS_A_TENANT + 2):
            started(staged.actor(name), "slow", word="x")
    malformed = fall_due(started(staged.actor("ada"), "timer"))
    Signal.objects.filter(instance=malformed).update(waiting_token=None)
    calls, open_ = CallsUnderWay(), Event()
    hold(open_.is_set)
    drain(calls)
    assert calls.count == CALLS_AT_ONCE
    assert len(calls.full_tenants()) == 2
    assert DeadLetter.objects.get().instance_id == malformed.pk
    open_.set()
    calls.settle_all()


@pytest.mark.usefixtures("long_alone")
def test_a_slow_call_that_is_doubted_keeps_nothing_but_calls_waiting(staged: Cast, hold: Hold) -> None:
    slow = [started(staged.actor("ada"), "slow", word="x") for _ in range(2)]
    Signal.objects.filter(instance__in=slow).update(attempts=1)  # a worker did not come back from them
    calls, open_ = CallsUnderWay(), Event()
    hold(open_.is_set)
    timer = fall_due(started(staged.actor("ada"), "timer"))
    drain(calls)
    timer.refresh_from_db()
    assert (calls.count, timer.status) == (1, "completed")
    open_.set()
    calls.settle_all()
    drain(calls)
    calls.settle_all()
    assert [heard(one) for one in slow] == ["in time"] * 2


@pytest.fixture
def long_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let doubtful calls stay alone however slow this machine is."""
    monkeypatch.setattr(call_pool, "ALONE_SECONDS", PATIENCE)


def test_a_wake_up_reaches_a_worker_that_waits_for_a_call(
    staged: Cast, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, open_ = make_worker("calling"), Event()
    hold(open_.is_set)
    started(staged.actor("ada"), "slow", word="x")
    drained = worker._look(lasting=True)
    worker._pop(None)
    rq._lower_flag(worker.connection)
    monkeypatch.setattr(rq, "WHILE_CALLING", PATIENCE)
    waking = Timer(0.1, rq.RqDispatcher().wake)
    waking.start()
    found, ended = worker._next_job(1, drained), worker._calls.wait(0)
    waking.join()
    open_.set()
    worker.teardown()
    assert (found is not None, ended) == (True, False)


def test_a_worker_that_is_told_to_stop_takes_nothing_more(staged: Cast) -> None:
    timer = fall_due(started(staged.actor("ada"), "timer"))
    assert drain(stop=lambda: True).done == 0
    timer.refresh_from_db()
    assert timer.status == "running"


@pytest.mark.security("processes stop in time and lose nothing")
def test_a_worker_that_ends_delivers_what_its_calls_bring(staged: Cast, hold: Hold) -> None:
    slow = started(staged.actor("ada"), "slow", word="x")
    worker, open_ = make_worker("ending"), Event()
    hold(open_.is_set)
    worker._look(lasting=True)
    assert heard(slow) is None
    Timer(0.2, open_.set).start()
    worker.teardown()
    assert heard(slow) == "in time"


def test_a_job_for_which_its_worker_has_drained_looks_no_second_time(
    staged: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Drained] = []
    monkeypatch.setattr(rq, "look", lambda *lent: looks.append(look(*lent)) or looks[-1])
    started(staged.actor("ada"), "call", word="x")
    make_worker("once").work(burst=True)
    assert len(looks) == 3  # before it waits, when it is woken, and before it waits again
