"""The dispatchers that must behave alike, each as something that lets a test wait until work is done."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.dispatch.drain import drain
from engine.dispatch.rq import make_worker
from engine.models import Instance
from tests.cast import ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from tests.replaying import unlike_when_replayed
from tests.workers import COMMANDS, running

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]

Settle = Callable[[Instance], Instance]
PATIENCE = 60.0


def _settled(instance: Instance) -> bool:
    instance.refresh_from_db()
    return instance.is_over or instance.status == "incident" or instance.tasks.open().exists()


def _wait(instance: Instance, nudge: Callable[[], object]) -> Instance:
    give_up = time.monotonic() + PATIENCE
    while not _settled(instance):
        if time.monotonic() > give_up:
            pytest.fail(f"{instance.pk} is still {instance.status}")
        nudge()
        time.sleep(0.02)
    assert unlike_when_replayed([instance]) == {}
    return instance


def _burst() -> None:
    make_worker(f"burst{time.monotonic_ns()}").work(burst=True)


@pytest.fixture(scope="module", params=["immediate", "rq burst", *COMMANDS])
def way(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Name each way of draining in turn; where it is a worker command, its processes run for all tests of that way."""
    if request.param not in COMMANDS:
        yield request.param
        return
    with django_db_blocker.unblock(), running(request.param):
        yield request.param


@pytest.fixture
def settle(way: str, transactional: None, valkey: object, settings: Any) -> Settle:
    """Return a function that returns when an instance waits for a person or has ended."""
    settings.WORKFLOW_DISPATCHER = "immediate" if way == "immediate" else "rq"
    nudge: dict[str, Callable[[], object]] = {"immediate": drain, "rq burst": _burst}
    return lambda instance: _wait(instance, nudge.get(way, lambda: None))
