"""A database of release 0.2.0 is migrated: its audit verifies, its steps are still told, and what waited comes to its end.

tests/upgrades/0.2.0.sql.gz was written by that release: approvals that ended, wait and are claimed, a workflow with a child, a
timer, a call that nobody made yet, and an incident.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import Audit, Instance, JournalRow, StepRun, StoredStepRun, Task
from engine.models.audit import ACTS_A_ROW
from engine.runtime.replay import replay
from engine.services.audit.verification import verify_everything, verify_folds
from engine.services.instances.repair import skip_step
from engine.services.tasks.lifecycle import complete_task
from tests.settling import PATIENCE
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import User
from workflowplatform.ids import uuid7

DUMP = Path(__file__).parents[1] / "upgrades" / "0.2.0.sql.gz"
NAME = "test_upgraded"
HISTORY = """
SELECT 'audit', count(*), max(id)::text, md5(string_agg(hash, ' ' ORDER BY subject_id, seq)) FROM wf_audit
UNION ALL
SELECT 'events', count(*), max(id::text), md5(string_agg(id || kind || at, ' ' ORDER BY task_id, id)) FROM wf_task_events
"""
"""What the tables hold that become partitions."""


@pytest.fixture(scope="module")
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Any, Any]]:
    """Restore the dump into a database of its own, migrate it, and work there; give the history before and after."""
    with django_db_blocker.unblock():
        own = connection.settings_dict["NAME"]
        server = {**connection.get_connection_params(), "user": "postgres", "dbname": "postgres"}
        with psycopg.connect(**server, autocommit=True) as owner:
            owner.execute(f"CREATE DATABASE {NAME} OWNER workflow")
        try:
            with psycopg.connect(**{**server, "dbname": NAME, "user": "workflow"}, autocommit=True) as filling:
                filling.execute(gzip.decompress(DUMP.read_bytes()).decode())
            with psycopg.connect(**{**server, "dbname": NAME}) as looking:
                before = looking.execute(HISTORY).fetchall()
            connection.close()
            connection.settings_dict["NAME"] = NAME
            call_command("migrate", verbosity=0)
            yield before, asked(HISTORY)
        finally:
            connection.close()
            connection.settings_dict["NAME"] = own
            with psycopg.connect(**server, autocommit=True) as owner:
                owner.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


pytestmark = pytest.mark.usefixtures("upgraded")


def asked(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall()


@pytest.fixture(autouse=True)
def keyed(settings: Any, django_db_blocker: Any) -> Iterator[None]:
    """Have the key with which that release hashed."""
    settings.WORKFLOW_AUDIT_KEYS = ("upgrade",)
    with django_db_blocker.unblock():
        yield


def actor(name: str) -> Actor:
    return actor_of(User.objects.get(username=name))


def test_nothing_of_the_old_audit_is_lost_and_all_of_it_verifies() -> None:
    assert verify_everything().broken == verify_folds().broken == ()
    rows = JournalRow.objects.filter(acts=None).order_by("id")
    told = Audit.objects.filter(row_id__in=rows.values("pk")).order_by("id")
    names = ("id", "seq", "action", "step", "iteration", "attempt", "cause", "old", "new", "actor_name", "hash")
    assert rows.exists()
    assert list(told.values_list(*names)) == list(rows.values_list(*names))


WHERE = "SELECT DISTINCT tableoid::regclass::text, subject_kind = 'instance' FROM wf_audit WHERE acts IS NULL"


def test_the_tables_of_before_are_partitions_with_the_rows_that_they_had(upgraded: tuple[Any, Any]) -> None:
    before, after = upgraded
    assert after == before
    assert {kind: count > 10 for kind, count, _, _ in before} == {"audit": True, "events": True}
    assert set(asked(WHERE)) == {("wf_audit_before", True), ("wf_audit_rest", False)}
    assert asked(
        "SELECT DISTINCT tableoid::regclass::text FROM wf_task_events WHERE at < now() - interval '1 hour'"
    ) == [("wf_task_events_before",)]
    assert (
        asked("SELECT relname FROM pg_class WHERE relispartition AND relkind IN ('r', 'p') AND NOT relforcerowsecurity")
        == []
    )
    last = int(before[0][2])
    ((given,),) = asked("SELECT nextval('wf_audit_id_seq')")
    assert last < given
    assert asked("SELECT nextval('wf_audit_id_seq')") == [(given + ACTS_A_ROW,)]


def test_a_name_is_redacted_by_what_the_release_before_says_too() -> None:
    """It names neither the subject of a row nor the task of an event, which lead to the partition."""
    number, tenant = asked("SELECT id, tenant_id FROM wf_audit WHERE subject_kind = 'instance' ORDER BY id LIMIT 1")[0]
    event = asked("SELECT id FROM wf_task_events ORDER BY id LIMIT 1")[0][0]
    with transaction.atomic():
        row = {"id": number, "tenant_id": str(tenant), "actor_name": "former", "cause": "", "seal": "s"}
        assert asked("SELECT wf_redact_audit(%s, %s)", uuid7(), json.dumps([row])) == [(1,)]
        row = {"id": str(event), "actor_name": "former", "cause": ""}
        assert asked("SELECT wf_redact_task_events(%s)", json.dumps([row])) == [(1,)]
        transaction.set_rollback(True)


def test_stored_steps_are_told_as_they_were() -> None:
    names = (
        "instance_id",
        "run",
        "attempt",
        "step",
        "kind",
        "path",
        "status",
        "started_at",
        "ended_at",
        "output",
        "reason",
    )
    rows = StoredStepRun.objects.filter(instance__reference="APP-1").order_by("run", "attempt")
    assert rows.exists()
    told = StepRun.objects.filter(instance__reference="APP-1").order_by("run", "attempt")
    assert list(told.values_list(*names)) == list(rows.values_list(*names))


def test_what_waited_comes_to_its_end_and_the_chain_goes_on() -> None:
    stored = StoredStepRun.objects.count()
    waiting = list(Instance.objects.live())
    assert len(waiting) >= 7
    skip_step(actor=actor("ada"), instance_id=Instance.objects.get(status="incident").pk, reason="it is done by hand")
    until = database_now().timestamp() + PATIENCE
    while Instance.objects.live().exists():
        assert database_now().timestamp() < until, list(Instance.objects.live().values_list("template__name", "status"))
        for task in Task.objects.open():
            outcome = {"outcome": "approve", "values": {"note": "ok"}} if task.name == "review" else {}
            complete_task(actor=actor("ada"), task_id=task.pk, **outcome)
        drain()
    assert {Instance.objects.get(pk=one.pk).status for one in waiting} == {"completed"}
    assert verify_everything().broken == verify_folds().broken == ()
    assert StoredStepRun.objects.count() == stored
    assert not StepRun.objects.filter(status__in=("running", "pending", "retrying")).exists()
    assert {replay(one) for one in waiting} == {None}
