"""A worker takes calls on with the slices that ask for them, as far as it has room."""

import json
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.dispatch.call_pool import CALLS_A_TENANT, QUICK_CALLS, QUICK_SECONDS, CallsUnderWay
from engine.dispatch.calls import as_stored
from engine.dispatch.drain import Drained, _take, drain, drain_once
from engine.dispatch.fairness import Turn
from engine.extensions import functions
from engine.models import Effect, Instance, Signal
from engine.services.instances.repair import suspend_instance
from tests.cast import Cast
from tests.workflows import activated, fall_due, started

AFTER_TIMER = """
workflow: after-timer
title: A call after a timer
steps:
  - {id: pause, wait: {for: PT1H}}
  - id: ask
    call: {python: {function: test_told, args: {word: first}}}
    retry: {attempts: 2, delay: PT1H}
  - id: again
    call: {python: {function: test_told, args: {word: second}}}
"""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words with which the function was called."""
    words: list[str] = []

    def tell(*, word: str) -> dict[str, str]:
        words.append(word)
        return {"word": word}

    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    functions.workflow_function("test_told")(tell)
    return words


@pytest.fixture
def platform(committed_cast: Cast, told: list[str], valkey: object, settings: Any) -> Cast:
    """Return a tenant with the workflow, and nobody who drains."""
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(committed_cast.actor("gwen"), AFTER_TIMER)
    return committed_cast


def due(platform: Cast) -> Instance:
    return fall_due(started(platform.actor("ada"), "after-timer"))


def test_the_slice_of_a_timer_takes_its_call_on(platform: Cast, told: list[str]) -> None:
    instance = due(platform)
    intents, settled = _take(CallsUnderWay(), turn=Turn(instances=50))
    signal, effect = Signal.objects.get(instance=instance), Effect.objects.get(instance=instance)
    assert (len(intents), settled) == (1, 1)
    assert (signal.type, signal.attempts, effect.made, effect.status) == ("CallDue", 1, 1, "intended")
    assert (signal.due_at - database_now()).total_seconds() > effect.timeout_seconds
    intent = intents[0]
    assert (intent.signal_id, intent.instance_id, intent.key, intent.request) == (
        signal.pk, instance.pk, effect.key, effect.request,
    )  # fmt: skip
    assert told == []


def test_a_call_whose_worker_died_after_the_commit_is_made_again_under_its_key(platform: Cast, told: list[str]) -> None:
    instance = due(platform)
    _take(CallsUnderWay(), turn=Turn(instances=50))  # and nothing more: the worker is gone
    key = Effect.objects.get(instance=instance).key
    drain()
    assert told == []
    Signal.objects.filter(instance=instance).update(due_at=database_now())
    drain()
    instance.refresh_from_db()
    assert (instance.status, told) == ("completed", ["first", "second"])
    assert Effect.objects.filter(instance=instance, key=key).get().made == 2


def test_the_result_of_a_call_takes_the_next_one_on(platform: Cast, told: list[str]) -> None:
    instance, calls = due(platform), CallsUnderWay()
    drain_once(Drained(), calls)
    calls.wait(60)
    calls.settle(taking=True)
    assert calls.count == 1
    assert not Signal.objects.filter(instance=instance, due_at__lte=database_now()).exists()
    calls.wait(60)
    calls.settle_all()
    instance.refresh_from_db()
    assert (instance.status, told) == ("completed", ["first", "second"])


def test_a_worker_that_ends_leaves_the_next_call_to_others(platform: Cast, told: list[str]) -> None:
    instance, calls = due(platform), CallsUnderWay()
    drain_once(Drained(), calls)
    calls.settle_all()
    signal = Signal.objects.get(instance=instance)
    assert (calls.count, told, signal.attempts) == (0, ["first"], 0)
    assert signal.due_at <= database_now()


def test_no_more_calls_are_taken_on_with_slices_than_there_is_room_for(platform: Cast) -> None:
    for _ in range(CALLS_A_TENANT + 2):
        due(platform)
    intents, settled = _take(CallsUnderWay(), turn=Turn(instances=50))
    assert (len(intents), settled) == (CALLS_A_TENANT, CALLS_A_TENANT + 2)
    assert Signal.objects.filter(attempts=0, due_at__lte=database_now()).count() == 2


def test_beside_a_doubtful_call_no_other_is_taken_on(platform: Cast) -> None:
    doubtful = due(platform)
    _take(CallsUnderWay(), turn=Turn(instances=50))
    Signal.objects.filter(instance=doubtful).update(due_at=database_now())
    due(platform)
    intents, _ = _take(CallsUnderWay(), turn=Turn(instances=50))
    assert [intent.instance_id for intent in intents] == [doubtful.pk]


def test_an_answer_to_an_instance_suspended_meanwhile_is_kept(platform: Cast, told: list[str]) -> None:
    instance, calls = due(platform), CallsUnderWay()
    intents, _ = _take(calls, turn=Turn(instances=50))
    suspend_instance(actor=platform.actor("ada"), instance_id=instance.pk)
    calls.begin(intents)
    calls.settle_all()
    instance.refresh_from_db()
    assert (instance.status, told) == ("suspended", ["first"])
    assert "answer" in Signal.objects.get(instance=instance).payload


def test_a_tenant_whose_calls_come_back_quickly_may_have_more_of_them(platform: Cast) -> None:
    calls = CallsUnderWay()
    for _ in range(QUICK_CALLS + 10):
        due(platform)
    calls.begin(_take(calls, turn=Turn(instances=1))[0])
    calls.wait(60)
    ended = list(calls._calls)
    calls.settle_all()
    for call in ended:
        call.result.came_at = call.begun_at  # however slow this machine is
    calls._learn(ended)
    assert len(_take(calls, turn=Turn(instances=50))[0]) == QUICK_CALLS
    ended[0].result.came_at = ended[0].begun_at + 2 * QUICK_SECONDS
    calls._learn(ended)
    tenant_id = ended[0].intent.tenant_id
    assert not calls._is_quick(tenant_id)


def stored_by_postgres(value: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::jsonb::text", [json.dumps(value)])
        return json.loads(cursor.fetchone()[0])


@pytest.mark.django_db
@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": {"long": 1, "z": [{"yy": 1, "x": 2}]}, "ab": None},
        {"é": 1, "zz": 2, "z": 3},
        [1.0, 1e21, 1.5e-9, 10**30, -0.25, True, "1e3", ""],
    ],
)
def test_a_request_is_what_the_database_would_give_back(value: Any) -> None:
    stored = stored_by_postgres(value)
    assert json.dumps(as_stored(value)) == json.dumps(stored)
