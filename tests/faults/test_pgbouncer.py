"""Through pgbouncer in transaction mode every transaction may meet another session: nothing may lean on one."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from benchmarks.faults.crew import crew
from benchmarks.faults.waiting import a_house, start_steady, steady_faults, wait_for_ends
from engine.models import Task
from engine.services.audit.verification import verify_everything
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.pooler import find_pgbouncer, start_pooler
from tests.races.crowd import at_once
from tests.workflows import TWO_TASKS, activated, only_task, started
from workflowplatform.servers.database_url import from_url
from workflowplatform.servers.paths import DataFolder
from workflowplatform.servers.processes import ProcessGroup


@pytest.fixture
def pooled(transactional: None, valkey: object, settings: Any) -> Iterator[None]:
    """Put a pooler between this test and its database."""
    if find_pgbouncer() is None:
        pytest.skip("pgbouncer is not installed here")
    if "WORKFLOW_TEST_POOLER" in os.environ:
        pytest.skip("everything goes through a pooler already")
    group, known = ProcessGroup(), connection.settings_dict
    before = {"HOST": known["HOST"], "DISABLE_SERVER_SIDE_CURSORS": known["DISABLE_SERVER_SIDE_CURSORS"]}
    try:
        data = DataFolder(Path(os.environ["WORKFLOW_DATA"]))
        address = start_pooler(group, data=data, server=known["HOST"], name=known["NAME"])
        settings.WORKFLOW_PREPARE = False
        _use(HOST=from_url(address)["HOST"], DISABLE_SERVER_SIDE_CURSORS=True)
        yield
    finally:
        _use(**before)
        group.stop_all()


def _use(**changes: Any) -> None:
    connections.close_all()
    connection.settings_dict.update(changes)


def test_people_timers_and_races_go_through_a_pooler(pooled: None) -> None:
    cast = a_house()
    gwen, ada = cast.actor("gwen"), cast.actor("ada")
    activated(gwen, TWO_TASKS)
    with crew() as hands:
        hands.hire(2)
        ids = start_steady(cast, 10)
        task = only_task(started(gwen, "two"))
        winners = at_once([partial(claim_task, actor=cast.actor(name), task_id=task.pk) for name in ("ada", "gwen")])
        assert sum(isinstance(winner, Task) for winner in winners) == 1
        holder = Task.objects.get(pk=task.pk).assignee
        assert holder is not None
        complete_task(actor=cast.actor(holder.username), task_id=task.pk)
        complete_task(actor=ada, task_id=Task.objects.open().get().pk)
        assert wait_for_ends()
    assert steady_faults(ids) == ()
    assert verify_everything().broken == ()
