"""One tenant's runaway and the workers: neighbours continue, a cancel takes effect, and a worker that is asked to stop stops."""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from engine.models import Instance, Signal
from engine.services.instances.lifecycle import cancel_instance
from engine.services.templates.versions import archive_version
from tests import workers
from tests.cast import Cast
from tests.workflows import TIMER, activated, fall_due, started

SPREAD = """
workflow: spread
title: Spread
input: {type: object, properties: {items: {type: array}}}
steps:
  - id: all
    for_each:
      each: "${start.items}"
      limit: 10000
      steps: [{id: sub, workflow: {name: spread, input: {items: "${start.items}"}}}]
"""
AGAIN = "workflow: again\ntitle: Again\nsteps:\n  - {id: on, continue_with: {name: again}}\n"
PATIENCE = 60.0


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.1)
    return holds()


@pytest.mark.security("one tenant's load leaves its neighbours served")
def test_a_runaway_stops_neither_its_neighbour_nor_its_worker(
    committed_cast: Cast, valkey: object, settings: Any
) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    settings.WORKFLOW_TRANSACTION_SECONDS, settings.WORKFLOW_SLICE_SECONDS = 0.5, 0.05
    gwen, sam = committed_cast.actor("gwen"), committed_cast.actor("sam")
    spread = activated(gwen, SPREAD)
    activated(gwen, AGAIN)
    activated(sam, TIMER)
    began = time.monotonic()
    root = started(gwen, "spread", items=list(range(40)))
    started(gwen, "again")
    assert time.monotonic() - began < 60
    bounds = {
        "WORKFLOW_TRANSACTION_SECONDS": "0.5",
        "WORKFLOW_SLICE_SECONDS": "0.05",
        "WORKFLOW_MOST_DESCENDANTS": "300",
    }
    worker = workers.start("rqworker", **bounds)
    try:
        assert eventually(lambda: Instance.objects.filter(root_id=root.pk).count() > 100)
        neighbour = fall_due(started(sam, "timer"))
        assert eventually(lambda: Instance.objects.get(pk=neighbour.pk).status == "completed")
        archive_version(actor=gwen, name="spread", number=spread.number)
        cancel_instance(actor=gwen, instance_id=root.pk, reason="a runaway")
        family = Instance.objects.filter(root_id=root.pk)
        assert eventually(lambda: not family.exclude(status="cancelled").exists(), seconds=180)
        assert eventually(lambda: not Signal.objects.filter(instance__root_id=root.pk).exists())
        started(gwen, "again")
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)  # left alone it never ends
    finally:
        workers.stop(worker)
