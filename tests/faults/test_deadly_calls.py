"""A function that kills its workers does not take the platform along: real workers, really killed."""

import time

import pytest

from engine.audit.chain import database_now
from engine.models import Instance, Signal
from tests.cast import Cast
from tests.workers import running
from tests.workflows import CALL, activated, started

PATIENCE = 240.0


def _go_on(instances: list[Instance]) -> bool:
    """Let every call's deadline pass; tell whether anything still runs."""
    Signal.objects.filter(type="CallDue", due_at__gt=database_now()).update(due_at=database_now())
    return Instance.objects.filter(pk__in=[instance.pk for instance in instances], status="running").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("valkey")
def test_a_deadly_call_becomes_an_incident_and_its_neighbours_complete(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, CALL)
    activated(gwen, CALL.replace("workflow: call", "workflow: deadly").replace("echo", "test_deadly"))
    deadly = started(ada, "deadly", word="x")
    others = [started(ada, "call", word=str(number)) for number in range(5)]
    give_up = time.monotonic() + PATIENCE
    with running("worker"):
        while _go_on([deadly, *others]) and time.monotonic() < give_up:
            time.sleep(0.5)
    deadly.refresh_from_db()
    assert (deadly.status, deadly.error["code"]) == ("incident", "vanished")
    assert {Instance.objects.get(pk=other.pk).status for other in others} == {"completed"}
