"""A wait that opens and a signal that arrives in the same moment always find each other."""

from functools import partial

import pytest

from engine.dispatch.drain import drain
from engine.models import Instance, KeptSignal
from engine.services.signals import send_keyed_signal
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
