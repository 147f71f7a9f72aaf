"""A wait that opens and a signal that arrives in the same moment always find each other."""

from functools import partial

import pytest
from django.db import transaction

from engine.dispatch.drain import drain
from engine.errors import IdReused
from engine.models import Instance, KeptSignal
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.instances.signals import send_keyed_signal
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.services.test_signals import WAITS
from tests.workflows import activated, started


@pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_opening_a_wait_and_accepting_its_signal_never_miss_each_other(committed_cast: Cast, rounds: int) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    for number in range(rounds):
        key = f"K{number}"
        at_once(
            [
                partial(started, ada, "waits", order=key),
                partial(send_keyed_signal, actor=ada, name="paid", key=key, payload={"amount": number}, ttl="PT1H"),
            ]
        )
    while drain().signals:
        pass
    assert Instance.objects.filter(status="completed").count() == rounds
    assert not KeptSignal.objects.exists()


def test_a_signal_sent_while_its_instance_is_resumed_is_not_held_for_ever(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), WAITS)
    instance = started(ada, "waits", order="K")
    suspend_instance(actor=ada, instance_id=instance.pk)
    with transaction.atomic():
        sent = send_keyed_signal(actor=ada, name="paid", key="K", payload={"amount": 1})
        assert sent.delivered == (instance.pk,)
        at_once([partial(resume_instance, actor=ada, instance_id=instance.pk)])
    drain()
    instance.refresh_from_db()
    assert instance.status == "completed"


def test_a_signal_sent_while_its_instance_is_suspended_waits_for_it_to_go_on(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), WAITS)
    instance = started(ada, "waits", order="K")
    with transaction.atomic():
        send_keyed_signal(actor=ada, name="paid", key="K", payload={"amount": 1})
        at_once([partial(suspend_instance, actor=ada, instance_id=instance.pk)])
    drain()
    instance.refresh_from_db()
    assert instance.status == "suspended"
    resume_instance(actor=ada, instance_id=instance.pk)
    drain()
    instance.refresh_from_db()
    assert instance.status == "completed"


def test_of_many_signals_each_wakes_one_wait(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    for _ in range(8):
        started(ada, "waits", order="same")
    at_once([partial(send_keyed_signal, actor=ada, name="paid", key="same", payload={"amount": 1}) for _ in range(8)])
    while drain().signals:
        pass
    assert Instance.objects.filter(status="completed").count() == 8


def test_of_many_that_use_one_id_for_different_contents_one_is_accepted(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), WAITS)
    for _ in range(6):
        started(ada, "waits", order="same")
    send = partial(send_keyed_signal, actor=ada, name="paid", key="same", external_id="one")
    answers = at_once([partial(send, payload={"amount": number}) for number in range(6)])
    assert sum(isinstance(answer, IdReused) for answer in answers) == 5
    drain()
    assert Instance.objects.filter(status="completed").count() == 1
