"""Redis only wakes workers: whatever job is in it, a worker drains, drops the job, and runs nothing that it names."""

import os
from pathlib import Path
from typing import Any

import django_rq
import pytest
from rq.exceptions import StopRequested
from rq.queue import Queue
from rq.registry import StartedJobRegistry
from rq.serializers import DefaultSerializer, JSONSerializer

from engine.dispatch import rq
from engine.dispatch.rq import QUEUE, make_worker
from tests.cast import Cast
from tests.workflows import CALL, activated, started

pytestmark = pytest.mark.security("Redis is not trusted")


@pytest.fixture
def queue(transactional: None, valkey: object, settings: Any) -> Queue:
    settings.WORKFLOW_DISPATCHER = "rq"
    return Queue(QUEUE, connection=django_rq.get_connection(QUEUE), serializer=JSONSerializer)


def touch(queue: Queue, path: Path) -> None:
    queue.enqueue("pathlib.os.mkdir", str(path))


def touch_afterwards(queue: Queue, path: Path) -> None:
    """Name our own job, and another function as what follows it."""
    job = queue.enqueue(rq.DRAIN_JOB)
    queue.connection.hset(job.key, mapping={"success_callback_name": "pathlib.os.mkdir", "meta": "{}"})


def pickled(queue: Queue, path: Path) -> None:
    Queue(QUEUE, connection=queue.connection, serializer=DefaultSerializer).enqueue("pathlib.os.mkdir", str(path))


def broken(queue: Queue, path: Path) -> None:
    job = queue.enqueue("pathlib.os.mkdir", str(path))
    queue.connection.hset(job.key, mapping={"data": b"\xff", "created_at": "never", "timeout": "x"})


NOT_OURS = "dropped a job that is not ours from Redis"
UNREADABLE = "dropped a job that cannot be read from Redis"


@pytest.mark.parametrize(
    ("put", "told"),
    [
        (touch, (NOT_OURS, "pathlib.os.mkdir")),
        (touch_afterwards, None),
        (pickled, (NOT_OURS, "unreadable")),
        (broken, (UNREADABLE, None)),
    ],
)
def test_a_worker_runs_nothing_that_redis_names_and_logs_what_it_drops(
    cast: Cast, queue: Queue, tmp_path: Path, put: Any, told: Any, caplog: pytest.LogCaptureFixture
) -> None:
    activated(cast.actor("gwen"), CALL)
    instance = started(cast.actor("ada"), "call", word="x")
    queue.empty()
    target = tmp_path / "made"
    put(queue, target)
    with caplog.at_level("WARNING"):
        make_worker("careful").work(burst=True)
    instance.refresh_from_db()
    assert not target.exists()
    assert queue.count == 0
    assert instance.status == "completed"  # and it drained all the same
    lines = [entry.msg for entry in caplog.records if isinstance(entry.msg, dict) and entry.name == rq.__name__]
    assert [(line["event"], line.get("function")) for line in lines] == ([told] if told else [])
    assert str(target) not in caplog.text  # what a job carries is nobody's to read


def test_nor_what_an_abandoned_job_names_as_its_failure(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """RQ's own upkeep calls that for jobs that seem to have been given up."""
    called: list[Any] = []
    monkeypatch.setattr(os, "wf_called", lambda *given: called.append(given), raising=False)
    job = queue.enqueue(rq.DRAIN_JOB)
    queue.connection.hset(job.key, mapping={"failure_callback_name": "os.wf_called"})
    queue.connection.zadd(StartedJobRegistry(queue=queue).key, {f"{job.id}:abandoned": 1})
    worker = make_worker("careful")
    worker.run_maintenance_tasks()
    worker.clean_registries()
    assert called == []


def test_a_stop_is_no_strange_job(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop interrupts the waiting of an idle worker; that reaches the loop, which ends at once."""

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        raise StopRequested

    monkeypatch.setattr(Queue, "dequeue_any", interrupted)
    with pytest.raises(StopRequested):
        make_worker("idle")._pop(None)
