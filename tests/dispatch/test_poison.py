"""One bad signal never stops its neighbours, and nothing is silently stuck."""

from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.models import Audit, DeadLetter, Instance, RuntimeState, Signal, Wait
from engine.services.instances.repair import replay_dead_letter
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import TIMER, activated, only_task, started
from workflowplatform.ids import uuid7

SOON = TIMER.replace("PT0.2S", "PT0.001S") + "  - id: again\n    wait: {for: PT1H}\n"


@pytest.fixture
def two(committed_cast: Cast, settings: Any) -> tuple[Instance, Instance]:
    """Return two instances whose timers are due, with nobody draining yet."""
    settings.WORKFLOW_DISPATCHER = "rq"
    activated(committed_cast.actor("gwen"), SOON)
    return started(committed_cast.actor("ada"), "timer"), started(committed_cast.actor("ada"), "timer")


def drain_until_quiet() -> None:
    """Drain, letting delayed attempts come due at once."""
    for _ in range(4):
        drain()
        Signal.objects.filter(held_due_at__isnull=True, attempts__gt=0).update(due_at=database_now())


def test_a_malformed_signal_becomes_a_dead_letter_at_once(two: tuple[Instance, Instance]) -> None:
    bad, good = two
    Signal.objects.filter(instance=bad).update(type="Nonsense")
    drain()
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == ("incident", "running")
    letter = DeadLetter.objects.get(instance=bad)
    assert good.waits.get().step == "again"
    assert letter.envelope["type"] == "Nonsense"
    assert "Malformed" in letter.reason
    assert Audit.objects.filter(subject_id=bad.pk, action="raise_incident").exists()


def test_an_unreadable_snapshot_becomes_a_dead_letter_at_once(two: tuple[Instance, Instance]) -> None:
    bad, good = two
    RuntimeState.objects.filter(instance=bad).update(snapshot={"engineSchemaVersion": 999})
    drain()
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == ("incident", "running")


def test_a_signal_that_keeps_failing_is_counted_then_buried(two: tuple[Instance, Instance], settings: Any) -> None:
    """The failure is the database's own: rows exist where the slice wants to write its next wait."""
    bad, good = two
    settings.WORKFLOW_POISON_ATTEMPTS = 3
    taken = Wait.objects.get(instance=bad)
    for token in range(taken.token + 1, taken.token + 20):
        fields = {"kind": "signal", "step": "x", "path": "x", "opened_at": taken.opened_at}
        Wait.objects.create(tenant_id=bad.tenant_id, instance=bad, token=token, **fields)
    drain()
    assert Signal.objects.get(instance=bad).attempts == 1
    good.refresh_from_db()
    assert good.waits.get().step == "again"
    drain_until_quiet()
    bad.refresh_from_db()
    assert bad.status == "incident"
    assert DeadLetter.objects.filter(instance=bad).count() == 1


BESIDE = """
workflow: beside
title: Beside
steps:
  - id: both
    parallel:
      branches:
        clock: [{id: pause, wait: {for: PT0.001S}}]
        desk: [{id: sign, task: {title: Sign}}, {id: more, task: {title: More}}]
"""


def test_a_task_waits_while_a_dead_letter_is_looked_at(committed_cast: Cast, settings: Any) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), BESIDE)
    instance = started(ada, "beside")
    Signal.objects.filter(instance=instance).update(type="Nonsense")
    drain()
    task = only_task(instance)
    with pytest.raises(Conflict, match="operator") as refusal:
        complete_task(actor=ada, task_id=task.pk)
    assert refusal.value.code == "status"
    letter = DeadLetter.objects.get(instance=instance)
    letter.envelope["type"] = "TimerDue"
    letter.save()
    replay_dead_letter(actor=ada, letter_id=letter.pk)
    drain()
    assert complete_task(actor=ada, task_id=task.pk).instance.status == "running"


def test_the_log_names_the_instance_and_the_signal_of_a_dead_letter_and_of_what_is_stale(
    two: tuple[Instance, Instance], caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = two
    Signal.objects.filter(instance=bad).update(type="Nonsense", payload={"secret": "hush"})
    late = Signal.objects.get(instance=good)
    late.pk, late.waiting_token = uuid7(), 999
    late.save(force_insert=True)
    known = {str(bad.pk): str(Signal.objects.get(instance=bad).pk), str(good.pk): str(late.pk)}
    Signal.objects.update(due_at=database_now())
    with caplog.at_level("INFO"):
        drain()
    told = {entry.msg["event"]: entry.msg for entry in caplog.records if isinstance(entry.msg, dict)}
    for event, instance in (("a signal became a dead letter", bad), ("a signal was stale", good)):
        assert (told[event]["instance"], told[event]["signal"]) == (str(instance.pk), known[str(instance.pk)])
    assert "hush" not in caplog.text
