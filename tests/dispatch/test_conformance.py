"""What every dispatcher must do: one suite, each of them in turn."""

import time

from engine.models import Instance, SignalReceipt, StepRun
from tests.cast import assemble_cast
from tests.dispatch.conftest import Settle
from tests.flaky import counter
from tests.workflows import CALL, RETRIED, TIMER, activated, started


def test_a_timer_fires_once_and_never_early(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), TIMER)
    instance = started(cast.actor("ada"), "timer")
    due_at = instance.waits.get().due_at
    assert due_at is not None
    ended = settle(instance)
    assert (ended.status, ended.state) == ("completed", {"done": True})
    assert ended.ended_at is not None
    assert ended.ended_at >= due_at
    assert [receipt.disposition for receipt in SignalReceipt.objects.filter(instance=instance)] == ["applied"]


def test_a_call_is_made_by_a_worker_and_its_result_goes_on(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), CALL)
    instance = started(cast.actor("ada"), "call", word="hello")
    assert settle(instance).state == {"heard": "hello"}
    effect = instance.effects.get()
    assert (effect.status, effect.made) == ("succeeded", 1)


def test_a_failed_call_is_retried_as_a_delayed_signal(settle: Settle) -> None:
    counter("flaky").unlink(missing_ok=True)
    cast = assemble_cast()
    activated(cast.actor("gwen"), RETRIED)
    instance = settle(started(cast.actor("ada"), "retried"))
    assert instance.status == "completed"
    runs = StepRun.objects.filter(instance=instance, step="ask").order_by("attempt")
    assert [run.attempt for run in runs] == [1, 2, 3]
    assert runs[2].status == "success"
    assert len({effect.key for effect in instance.effects.all()}) == 1


def test_attempts_are_total_executions_and_then_it_is_an_incident(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), RETRIED.replace("test_flaky", "test_broken"))
    instance = settle(started(cast.actor("ada"), "retried"))
    assert instance.status == "incident"
    assert instance.effects.count() == 3
    assert instance.error["class"] == "transport"


def test_a_business_error_fails_the_instance_without_retries(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), RETRIED.replace("test_flaky", "test_refuse"))
    instance = settle(started(cast.actor("ada"), "retried"))
    assert (instance.status, instance.result, instance.error["code"]) == ("failed", "failure", "too_late")
    assert instance.effects.count() == 1


def test_many_instances_drain_together(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), TIMER)
    instances = [started(cast.actor("ada"), "timer") for _ in range(30)]
    for instance in instances:
        settle(instance)
    assert not Instance.objects.exclude(status="completed").exists()


def test_an_idle_queue_stays_idle(settle: Settle) -> None:
    cast = assemble_cast()
    activated(cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    instance = started(cast.actor("ada"), "timer")
    time.sleep(0.5)  # sleep: nothing may happen for a while
    instance.refresh_from_db()
    assert (instance.status, instance.signals.count()) == ("running", 1)
