"""The result of a call that cannot be applied stops neither its neighbours nor the worker, and is not tried for ever."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from engine.audit.chain import database_now
from engine.dispatch.call_pool import CallsUnderWay, make_calls
from engine.dispatch.calls import Intent, deliver_results
from engine.dispatch.drain import _take, drain
from engine.dispatch.fairness import Turn
from engine.models import DeadLetter, Instance, RuntimeState, Signal, Wait
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.transports.base import Failed, Succeeded
from tests.cast import Cast
from tests.workflows import CALL, activated, started
from workflowplatform.ids import uuid7

SLOWLY = CALL + "  - id: again\n    wait: {for: PT1H}\n"


@pytest.fixture
def two(committed_cast: Cast, valkey: object, settings: Any) -> tuple[Instance, Instance]:
    """Return two instances whose calls are due, with nobody draining yet."""
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(committed_cast.actor("gwen"), SLOWLY)
    first, second = (started(committed_cast.actor("ada"), "call", word=word) for word in ("one", "two"))
    return first, second


def taken_on() -> list[Intent]:
    intents, _ = _take(CallsUnderWay(), turn=Turn(instances=50))
    return intents


def test_an_instance_that_became_unreadable_during_its_call_is_an_incident(two: tuple[Instance, Instance]) -> None:
    bad, good = two
    intents = taken_on()
    RuntimeState.objects.filter(instance=bad).update(snapshot={"engineSchemaVersion": 999})
    make_calls(intents)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.state) == ("incident", {"heard": "two"})
    assert DeadLetter.objects.get(instance=bad).envelope["type"] == "CallDue"


def test_a_result_that_the_database_keeps_refusing_is_counted_then_buried(
    two: tuple[Instance, Instance], settings: Any
) -> None:
    """Rows exist where the slice wants to write its next wait."""
    settings.WORKFLOW_POISON_ATTEMPTS = 3
    bad, good = two
    taken = Wait.objects.get(instance=bad)
    for token in range(taken.token + 1, taken.token + 20):
        fields = {"kind": "signal", "step": "x", "path": "x", "opened_at": taken.opened_at}
        Wait.objects.create(tenant_id=bad.tenant_id, instance=bad, token=token, **fields)
    for attempts in (1, 2):
        make_calls(taken_on())
        assert Signal.objects.get(instance=bad).attempts == attempts
        Signal.objects.filter(instance=bad).update(due_at=database_now())
    make_calls(taken_on())
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.state) == ("incident", {"heard": "two"})
    assert DeadLetter.objects.filter(instance=bad).count() == 1


def test_an_answer_to_a_suspended_instance_waits_for_it_and_is_not_asked_for_again(
    two: tuple[Instance, Instance], committed_cast: Cast
) -> None:
    asleep, _ = two
    intents = taken_on()
    suspend_instance(actor=committed_cast.actor("ada"), instance_id=asleep.pk)
    make_calls(intents)
    asleep.refresh_from_db()
    assert (asleep.status, asleep.state) == ("suspended", {})
    resume_instance(actor=committed_cast.actor("ada"), instance_id=asleep.pk)
    with pytest.MonkeyPatch.context() as silent:
        silent.setattr("engine.dispatch.calls.make_call", None)
        drain()
    asleep.refresh_from_db()
    assert asleep.state == {"heard": "one"}


def writers(instances: tuple[Instance, Instance]) -> int:
    """Count the transactions that wrote these rows last."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(DISTINCT xmin::text) FROM wf_instances WHERE id = ANY(%s)", [[i.pk for i in instances]]
        )
        return int(cursor.fetchone()[0])


def test_results_that_are_there_together_are_one_commit(two: tuple[Instance, Instance]) -> None:
    intents = taken_on()
    deliver_results([(intent, Succeeded({"word": "both"})) for intent in intents])
    for instance in two:
        instance.refresh_from_db()
    assert [instance.state for instance in two] == [{"heard": "both"}] * 2
    assert writers(two) == 1


def test_results_of_which_one_is_bad_are_applied_one_by_one(two: tuple[Instance, Instance]) -> None:
    bad, good = two
    intents = taken_on()
    RuntimeState.objects.filter(instance=bad).update(snapshot={"engineSchemaVersion": 999})
    deliver_results([(intent, Succeeded({"word": "both"})) for intent in intents])
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.state, writers(two)) == ("incident", {"heard": "both"}, 2)


def test_a_second_answer_leaves_an_incident_its_error(two: tuple[Instance, Instance]) -> None:
    bad, _ = two
    intents = [intent for intent in taken_on() if intent.instance_id == bad.pk]
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("engine.dispatch.calls.make_call", lambda *args, **more: Failed("transport", "no_answer", "No."))
        make_calls(intents)
        make_calls(intents)
    bad.refresh_from_db()
    assert (bad.status, bad.error["code"]) == ("incident", "no_answer")


def test_a_batch_of_stale_calls_does_not_end_a_drain(two: tuple[Instance, Instance], settings: Any) -> None:
    settings.WORKFLOW_DRAIN_BATCH = 1
    stale, good = two
    late = Signal.objects.get(instance=stale)
    Signal.objects.filter(pk=late.pk).update(due_at=late.due_at + timedelta(hours=1))
    late.pk, late.waiting_token = uuid7(), 999
    late.save(force_insert=True)
    drain()
    assert not DeadLetter.objects.exists()
    good.refresh_from_db()
    assert good.state == {"heard": "two"}
