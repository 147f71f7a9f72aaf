"""The health says that the platform is down when it can write nothing, or when due work waits and no worker looks for it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.db import connection
from django.test import Client

from engine.dispatch.rq import LAPSES_AFTER, QUEUE, make_worker
from engine.models import Instance, Signal
from engine.services import health
from tests.cast import Cast
from tests.faults.test_unable_server import execute, read_only
from tests.faults.test_web_returns import web
from tests.workers import environment, running
from tests.workflows import TIMER, activated, fall_due, started

pytestmark = pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="a pooler keeps sessions from before")

FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON wf_host_locks FOR EACH ROW EXECUTE FUNCTION no_room();
"""


@contextmanager
def no_room() -> Iterator[None]:
    execute(FULL)
    try:
        yield
    finally:
        execute("DROP TRIGGER no_room ON wf_host_locks; DROP FUNCTION no_room")


@pytest.fixture(autouse=True)
def always_tried(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(health, "WRITE_EVERY", 0.0)
    settings.WORKFLOW_HEALTH_DETAILS = True


def asked() -> tuple[int, dict[str, Any]]:
    answer = Client().get("/api/v1/health/")
    return answer.status_code, answer.json()


@pytest.mark.parametrize("trouble", [read_only, no_room])
def test_a_database_that_cannot_be_written_is_down(committed_cast: Cast, trouble: Any) -> None:
    assert asked()[0] == 200
    with trouble():
        status, told = asked()
        assert (status, told["status"], told["database"]) == (503, "down", "cannot be written")
    assert asked()[0] == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM wf_host_locks")
        assert cursor.fetchone() == (0,)


@pytest.fixture
def due(committed_cast: Cast) -> Instance:
    """Return an instance whose timer has fallen due."""
    activated(committed_cast.actor("gwen"), TIMER)
    return fall_due(started(committed_cast.actor("ada"), "timer"))


def left_for(instance: Instance, seconds: float) -> None:
    for signal in Signal.objects.filter(instance=instance):
        Signal.objects.filter(pk=signal.pk).update(due_at=signal.due_at - timedelta(seconds=seconds))


def test_due_work_that_no_worker_looks_for_is_down(due: Instance, settings: Any) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    settings.WORKFLOW_LATE_SECONDS = 3600
    assert asked()[0] == 200
    settings.WORKFLOW_LATE_SECONDS = 0.001
    left_for(due, 5)
    status, told = asked()
    assert (status, told["status"], told["work"], told["workers"]) == (503, "down", "no worker is running", 0)
    assert told["oldest_due_seconds"] > 4
    worker = make_worker("looks")
    worker.register_birth()
    try:
        assert (asked()[0], asked()[1]["workers"]) == (200, 1)
        assert 0 < worker.connection.ttl(worker.key) <= LAPSES_AFTER
        worker.connection.delete(worker.key)  # as if its registration lapsed: it was killed
        assert asked()[0] == 503
    finally:
        worker.connection.srem("rq:workers", worker.key)
        worker.connection.srem(f"rq:workers:{QUEUE}", worker.key)


def test_real_workers_bring_the_health_back(due: Instance) -> None:
    left_for(due, 60)
    with web(environment()["DATABASE_URL"], WORKFLOW_DISPATCHER="rq") as server:
        assert httpx.get(server + "health/", timeout=60).status_code == 503
        with running("worker"):
            until = time.monotonic() + 60
            while httpx.get(server + "health/", timeout=60).status_code != 200:
                assert time.monotonic() < until
                time.sleep(0.2)
