"""Figures for a Prometheus: counted after the commit, without a question to the database, for those who may read them."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from engine import metrics
from engine.db.transactions import do_in_one_transaction
from engine.dispatch.drain import drain
from engine.models import RuntimeState, Signal
from engine.runtime.commit import Batch, write
from engine.services.instances.lifecycle import cancel_instance
from engine.services.people.tokens import create_token
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, TIMER, activated, only_task, started
from workflowplatform.ids import uuid7


class Figures:
    """How much each counter has grown since this began."""

    def __init__(self) -> None:
        self.before = self.now()

    @staticmethod
    def now() -> dict[tuple[str, ...], float]:
        return {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in text_string_to_metric_families(metrics.exposition().decode())
            for sample in family.samples
        }

    def grown(self, name: str, *labels: str) -> float:
        key = (f"workflow_{name}", *sorted(labels))
        return self.now().get(key, 0) - self.before.get(key, 0)


@pytest.fixture
def figures(committed_cast: Cast) -> Figures:
    """Give Acme its approval, and what is counted from now on."""
    activated(committed_cast.actor("gwen"), APPROVAL)
    return Figures()


def test_a_case_is_counted_from_start_to_end(committed_cast: Cast, figures: Figures) -> None:
    task = only_task(started(committed_cast.actor("uri"), "approval", amount=5))
    assert (figures.grown("instances_started_total"), figures.grown("tasks_opened_total")) == (1, 1)
    complete_task(actor=committed_cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    second = started(committed_cast.actor("uri"), "approval", amount=6)
    cancel_instance(actor=committed_cast.actor("ada"), instance_id=second.pk, reason="no")
    assert figures.grown("tasks_closed_total", "completed") == 1
    assert figures.grown("tasks_closed_total", "cancelled") == 1
    assert figures.grown("instances_ended_total", "completed") == 1
    assert figures.grown("instances_ended_total", "cancelled") == 1
    assert figures.grown("signals_applied_total", "TaskCompleted") == 1
    assert figures.grown("transition_seconds_count") == 4


def test_signals_are_counted_as_they_fare(committed_cast: Cast, figures: Figures) -> None:
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    instances = [started(committed_cast.actor("ada"), "timer") for _ in range(3)]
    assert figures.grown("signals_published_total") == 3
    RuntimeState.objects.filter(pk=instances[2].pk).update(snapshot={"engineSchemaVersion": 999})
    late = Signal.objects.get(instance=instances[0])
    late.pk, late.waiting_token = uuid7(), 1000
    late.save(force_insert=True)
    Signal.objects.update(due_at=instances[0].started_at)
    drain()
    assert figures.grown("signals_applied_total", "TimerDue") == 2
    assert figures.grown("signals_stale_total", "TimerDue") == 1
    assert figures.grown("signals_dead_total") == 1


def test_a_lost_race_is_counted_and_run_again(committed_cast: Cast, figures: Figures) -> None:
    loser = only_task(started(committed_cast.actor("uri"), "approval", amount=5)).instance.runtime
    versions = iter([loser.state_version + 1, loser.state_version])
    columns = {field.attname: getattr(loser, field.attname) for field in loser._meta.concrete_fields}

    def move() -> None:
        batch = Batch()
        batch.add("runtimes", columns | {"expected_version": next(versions)})
        write(batch)

    do_in_one_transaction(move)
    assert figures.grown("conflicts_total") == 1
    assert RuntimeState.objects.get(pk=loser.pk).state_version == loser.state_version + 1


def test_what_is_rolled_back_was_never_counted(committed_cast: Cast, figures: Figures) -> None:
    with transaction.atomic():
        started(committed_cast.actor("uri"), "approval", amount=5)
        transaction.set_rollback(True)
    assert figures.grown("instances_started_total") == 0


def test_counting_asks_the_database_nothing(committed_cast: Cast, figures: Figures) -> None:
    rows = Batch().rows
    with CaptureQueriesContext(connections[DEFAULT_DB_ALIAS]) as asked:
        metrics.count_batch(rows, ["completed"], sent=2, began_at=0)
        metrics.count_dead_letter()
        metrics.count_queued()
    assert len(asked) == 0
    assert figures.grown("signals_published_total") == 2


def test_processes_of_one_host_are_added_up(figures: Figures) -> None:
    script = "import django; django.setup(); from engine.metrics import count_conflict; count_conflict()"
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": os.environ["PROMETHEUS_MULTIPROC_DIR"]}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=120)
    assert figures.grown("conflicts_total") == 1


# Who may read it


def read(**headers: Any) -> Any:
    return Client().get("/metrics", **headers)


@pytest.mark.usefixtures("cast")
def test_this_machine_may_read_them() -> None:
    answer = read(REMOTE_ADDR="127.0.0.1")
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    names = {family.name for family in text_string_to_metric_families(answer.content.decode())}
    assert {"workflow_queue_age_seconds", "workflow_transition_seconds", "workflow_dead_letters"} <= names
    assert read(REMOTE_ADDR="::1").status_code == 200


@pytest.mark.usefixtures("cast")
@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=192.0.2.7"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_PROTO": "https"},
    ],
)
def test_for_others_nothing_is_there(headers: dict[str, str]) -> None:
    assert read(**headers).status_code == 404


def test_from_elsewhere_level_six_may_read_them(cast: Cast) -> None:
    for name, status in (("zoe", 200), ("gwen", 404)):
        token = create_token(actor=None, person=getattr(cast, name), name="prometheus")[1]
        assert read(REMOTE_ADDR="192.0.2.7", HTTP_AUTHORIZATION=f"Token {token}").status_code == status
