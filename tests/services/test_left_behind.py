"""Nothing stays behind in the queue of a case that is over, and an act on a dead letter happens once."""

from functools import partial

import pytest

from engine.audit.chain import database_now
from engine.dispatch.dead_letters import _envelope
from engine.dispatch.drain import drain
from engine.errors import Conflict, NotFound
from engine.models import DeadLetter, Instance, Signal
from engine.services.instances import repair as operations
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.signals import send_keyed_signal, send_signal
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import TIMER, activated, fall_due, left_dead, started
from workflowplatform.ids import uuid7

LISTENER = """
workflow: listener
title: Listener
steps:
  - {id: hear, signal: {name: word, key: one}}
"""


@pytest.fixture
def dead(committed_cast: Cast) -> DeadLetter:
    """Return the dead letter of an instance whose snapshot was broken for a while."""
    activated(committed_cast.actor("gwen"), TIMER)
    return left_dead(fall_due(started(committed_cast.actor("ada"), "timer")))


def test_cancelling_a_suspended_case_empties_its_queue(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), LISTENER)
    instance = started(ada, "listener")
    operations.suspend_instance(actor=ada, instance_id=instance.pk)
    send_signal(actor=ada, instance_id=instance.pk, name="word")
    send_keyed_signal(actor=ada, name="word", key="one")
    drain()
    cancel_instance(actor=ada, instance_id=instance.pk, reason="over")
    drain()
    assert not Signal.objects.filter(instance=instance).exists()


def test_cancelling_an_incident_empties_its_queue(committed_cast: Cast, dead: DeadLetter) -> None:
    ada = committed_cast.actor("ada")
    send_signal(actor=ada, instance_id=dead.instance_id, name="word")
    cancel_instance(actor=ada, instance_id=dead.instance_id, reason="over")
    drain()
    assert not Signal.objects.filter(instance_id=dead.instance_id).exists()


def test_a_letter_of_a_case_that_is_over_is_not_replayed(committed_cast: Cast, dead: DeadLetter) -> None:
    ada = committed_cast.actor("ada")
    cancel_instance(actor=ada, instance_id=dead.instance_id, reason="over")
    with pytest.raises(Conflict):
        operations.replay_dead_letter(actor=ada, letter_id=dead.pk)
    assert not Signal.objects.filter(instance_id=dead.instance_id).exists()
    operations.discard_dead_letter(actor=ada, letter_id=dead.pk, reason="over")
    assert not DeadLetter.objects.exists()


def letter_to(instance: Instance, name: str = "word") -> DeadLetter:
    """Return one more dead letter of an instance: a named signal that could not be applied."""
    signal = Signal(
        id=uuid7(), tenant_id=instance.tenant_id, instance=instance, type="ExternalSignal", occurred_at=instance.started_at,
        due_at=instance.started_at, payload={"name": name, "key": None, "payload": {}},
    )  # fmt: skip
    facts = {"envelope": _envelope(signal), "reason": "x", "node": "n", "at": database_now()}
    return DeadLetter.objects.create(tenant_id=instance.tenant_id, instance=instance, **facts)


def test_a_letter_of_a_case_that_goes_on_is_delivered_when_it_is_replayed(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), LISTENER)
    instance = started(ada, "listener")
    operations.replay_dead_letter(actor=ada, letter_id=letter_to(instance).pk)
    drain()
    instance.refresh_from_db()
    assert (instance.status, Signal.objects.count()) == ("completed", 0)


def test_a_case_whose_letter_was_replayed_goes_on_when_the_other_is_discarded(
    committed_cast: Cast, dead: DeadLetter
) -> None:
    ada = committed_cast.actor("ada")
    other = letter_to(dead.instance)
    assert operations.replay_dead_letter(actor=ada, letter_id=dead.pk).status == "incident"
    assert operations.discard_dead_letter(actor=ada, letter_id=other.pk, reason="obsolete").error is None
    drain()
    assert Instance.objects.get(pk=dead.instance_id).status == "completed"


def test_a_letter_that_is_replayed_while_its_case_is_suspended_is_delivered_when_that_goes_on(
    committed_cast: Cast, dead: DeadLetter
) -> None:
    ada = committed_cast.actor("ada")
    operations.suspend_instance(actor=ada, instance_id=dead.instance_id)
    assert operations.replay_dead_letter(actor=ada, letter_id=dead.pk).status == "suspended"
    operations.resume_instance(actor=ada, instance_id=dead.instance_id)
    drain()
    assert Instance.objects.get(pk=dead.instance_id).status == "completed"


def test_of_replays_at_the_same_moment_one_counts(committed_cast: Cast, dead: DeadLetter) -> None:
    ada = committed_cast.actor("ada")
    answers = at_once([partial(operations.replay_dead_letter, actor=ada, letter_id=dead.pk)] * 4)
    assert sorted(type(one) is Instance for one in answers) == [False, False, False, True]
    assert {type(one) for one in answers} == {Instance, NotFound}
    drain()
    assert Instance.objects.get(pk=dead.instance_id).status == "completed"


def test_a_replay_and_a_discard_at_the_same_moment_do_not_both_happen(committed_cast: Cast, dead: DeadLetter) -> None:
    ada = committed_cast.actor("ada")
    acts = [operations.replay_dead_letter, operations.discard_dead_letter]
    answers = at_once([partial(act, actor=ada, letter_id=dead.pk, reason="now") for act in acts])
    assert {type(one) for one in answers} == {Instance, NotFound}
