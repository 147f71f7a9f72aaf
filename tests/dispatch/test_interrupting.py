"""A cancel, an archived version and a request to stop act on what a worker has in hand, within a second."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.models import Instance, Signal, StepRun
from engine.services.instances.lifecycle import cancel_instance
from engine.services.templates.versions import archive_version
from tests import workers
from tests.cast import Cast
from tests.dispatch.runaways import CHAIN, LOOP, RUNAWAYS, SLOW, eventually
from tests.workflows import activated, started

AT_ONCE = 1.0
MARGIN = 3.0
"""How many times longer than a second an act may take here: the machine that runs tests does other things too."""
STOPS_WITHIN = 10.0

Record = Callable[[str, object], None]
pytestmark = pytest.mark.usefixtures("valkey")


@pytest.fixture(autouse=True)
def waking(settings: Any) -> None:
    """Let signals wake real workers."""
    settings.WORKFLOW_DISPATCHER = "rq"


def is_moving(instance: Instance) -> Callable[[], bool]:
    """Return a question that is answered by whether the worker has gone on with this instance since."""
    before = StepRun.objects.filter(instance=instance).count()
    return lambda: StepRun.objects.filter(instance=instance).count() > before


@pytest.mark.security("cancel, archive and stop act on a running slice")
def test_cancel_archive_and_stop_act_on_what_runs(committed_cast: Cast, record_property: Record) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, LOOP)
    chain = activated(gwen, CHAIN)
    loops = [started(gwen, "loop") for _ in range(6)]
    with workers.running("rqworker", **workers.AS_SHIPPED) as worker:
        assert eventually(is_moving(loops[0]))
        cancelling = took(lambda: cancel_instance(actor=gwen, instance_id=loops[0].pk, reason="a runaway"))
        assert Instance.objects.get(pk=loops[0].pk).status == "cancelled"
        started(gwen, "again")
        archiving = took(lambda: archive_version(actor=gwen, name="again", number=chain.number))
        stopping = took(
            lambda: eventually(lambda: not Signal.objects.filter(instance__template__name="again").exists())
        )
        worker.send_signal(signal.SIGTERM)
        ending = took(lambda: worker.wait(STOPS_WITHIN))
    told = f"cancel {cancelling:.2f} s, archive {archiving:.2f} + {stopping:.2f} s, SIGTERM {ending:.2f} s"
    record_property("figure", told)
    assert max(cancelling, archiving, stopping) < MARGIN * AT_ONCE
    assert ending < MARGIN * AT_ONCE
    assert Instance.objects.get(pk=loops[0].pk).status == "cancelled"
    assert not Instance.objects.filter(template__name="again", status="running").exists()


def took(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


@pytest.mark.security("processes stop in time and lose nothing")
@pytest.mark.slow
def test_a_worker_whose_calls_hang_stops_in_time(committed_cast: Cast, record_property: Record) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, SLOW)
    for _ in range(RUNAWAYS["slow calls"].count):
        started(gwen, "slow")
    with workers.running("rqworker", **workers.AS_SHIPPED) as worker:
        assert eventually(lambda: Signal.objects.filter(attempts=1).exists())
        worker.send_signal(signal.SIGTERM)
        ending = took(lambda: worker.wait(60))
    record_property("figure", f"a worker with hanging calls ended {ending:.1f} s after SIGTERM")
    assert ending < STOPS_WITHIN
    assert Signal.objects.filter(attempts=1).exists()
