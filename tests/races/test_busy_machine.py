"""Many clients on a machine that is busy with other things: each start still answers with its task, and leaves no work behind."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from benchmarks.workflows import W1
from engine.models import Signal
from engine.services.instances.lifecycle import start_instance
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import activated

CLIENTS, STARTS = 8, 5
BURN = "while True: pass"


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Let other processes want more cores than there are, so that a slice's time on the clock is a multiple of its own."""
    burning = [subprocess.Popen([sys.executable, "-S", "-c", BURN]) for _ in range(6)]
    yield
    for process in burning:
        process.kill()
        process.wait()


def _start_several(cast: Cast) -> list[int]:
    begun = [start_instance(actor=cast.actor("ada"), template="w1", input={"amount": 1200}) for _ in range(STARTS)]
    return [len(one.tasks) for one in begun]


@pytest.mark.usefixtures("busy_machine")
def test_every_start_answers_with_its_task_and_leaves_no_signal(committed_cast: Cast, settings: Any) -> None:
    settings.WORKFLOW_SLICE_SECONDS, settings.WORKFLOW_TRANSACTION_SECONDS = 0.05, 60
    activated(committed_cast.actor("gwen"), W1)
    counts = at_once([partial(_start_several, committed_cast)] * CLIENTS)
    assert counts == [[1] * STARTS] * CLIENTS
    assert not Signal.objects.exists()
