"""A signal that takes its worker with it is found in the end, and does not hold up its neighbours."""

from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch import calls
from engine.dispatch.dead_letters import replace_dead_worker
from engine.dispatch.drain import drain
from engine.dispatch.worker_board import Board, desk
from engine.models import DeadLetter, Effect, Signal
from engine.runtime import coordinator
from tests.cast import Cast
from tests.workflows import CALL, TIMER, activated, started


class Killed(BaseException):
    """Simulates a worker's death: nothing catches it and the transaction is gone."""


@pytest.fixture(autouse=True)
def _board_of_its_own(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    settings.WORKFLOW_POISON_ATTEMPTS = 3
    monkeypatch.setattr(desk, "board", Board())


@pytest.mark.usefixtures("valkey")
def test_what_kills_worker_after_worker_becomes_a_dead_letter(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0.001S"))
    deadly, good = (started(committed_cast.actor("ada"), "timer") for _ in range(2))
    honest = coordinator.deliver_batch

    def dying(claimed: Any, *more: Any) -> Any:
        if any(loaded.instance_id == deadly.pk and deliveries for loaded, deliveries in claimed):
            raise Killed
        return honest(claimed, *more)

    monkeypatch.setattr(coordinator, "deliver_batch", dying)
    for _ in range(3):
        with pytest.raises(Killed):
            drain()
        replace_dead_worker(desk.board)
        Signal.objects.filter(held_due_at__isnull=True).update(due_at=database_now())
    drain()
    deadly.refresh_from_db()
    good.refresh_from_db()
    assert (deadly.status, good.status) == ("incident", "completed")
    assert "3 workers took it up and none came back" in DeadLetter.objects.get(instance=deadly).reason


@pytest.mark.usefixtures("valkey")
def test_a_call_that_kills_its_workers_fails_and_its_neighbours_succeed(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    activated(committed_cast.actor("gwen"), CALL)
    deadly, good = (started(committed_cast.actor("ada"), "call", word=word) for word in ("die", "live"))
    honest = calls.make_call

    def dying(transport: str, request: Any, **more: Any) -> Any:
        if request["args"]["word"] == "die":
            raise Killed
        return honest(transport, request, **more)

    monkeypatch.setattr(calls, "make_call", dying)
    for _ in range(3):
        with pytest.raises(Killed):
            drain()
        Signal.objects.update(due_at=database_now())  # the deadline of what was in hand has passed
    drain()
    deadly.refresh_from_db()
    good.refresh_from_db()
    assert good.state == {"heard": "live"}
    assert (deadly.status, deadly.error["code"]) == ("incident", "vanished")
    assert Effect.objects.get(instance=good).made <= 2
