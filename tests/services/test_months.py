"""The audit and the events of tasks by the month: where rows are, when a month goes, and what happens at the edges."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.db.models import QuerySet

from engine.audit.chain import database_now
from engine.checks import check_months
from engine.models import Audit, AuditAnchor, Instance, JournalRow, StepRun, Task, TaskEvent
from engine.services.audit.verification import verify_everything
from engine.services.instances.lifecycle import cancel_instance
from engine.services.retention.months import AHEAD, drop_month, make_months
from engine.services.retention.purge import apply_retention
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.services.test_retention import aged, keep
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform import ids

LONG_AGO = datetime(2025, 3, 9, tzinfo=UTC)
MARCH = {"wf_audit_2025_03", "wf_task_events_2025_03"}


def asked(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall()


def months() -> set[str]:
    return {name for (name,) in asked("SELECT name FROM wf_months()")}


def partitions_of(instance: Instance) -> set[str]:
    """Return where the rows of a case are."""
    found = asked(
        "SELECT DISTINCT tableoid::regclass::text FROM wf_audit WHERE subject_id = %s UNION "
        "SELECT DISTINCT tableoid::regclass::text FROM wf_task_events WHERE instance_id = %s", instance.pk, instance.pk,
    )  # fmt: skip
    return {name for (name,) in found}


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Let ids be made at a moment, as if things began then."""

    def begin(moment: datetime) -> None:
        stamps = count(int(moment.timestamp() * 1000) << 12)
        monkeypatch.setattr(ids, "_next_stamp", lambda: next(stamps))

    return begin


@pytest.fixture
def approvals(committed_cast: Cast) -> Iterator[Cast]:
    """Give Acme its approval template, and leave the partitions as they were."""
    before = months()
    activated(committed_cast.actor("gwen"), APPROVAL)
    yield committed_cast
    made = list(months() - before)
    asked("SELECT set_config('session_replication_role', 'replica', false)")
    for table in made:
        asked(f"WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT count(*) FROM gone")
    asked("SELECT set_config('session_replication_role', 'origin', false)")
    asked("SELECT wf_drop_if_empty(parent, name) FROM wf_months() WHERE name = ANY (%s)", made)


@pytest.fixture
def march(approvals: Cast) -> Cast:
    """Have partitions of a month that is long over."""
    asked("SELECT wf_make_month('wf_audit', 'wf_audit_cases', 'subject_id', '2025-03-01')")
    asked("SELECT wf_make_month('wf_task_events', 'wf_task_events', 'task_id', '2025-03-01')")
    return approvals


def decided(cast: Cast) -> Instance:
    """Give a case that was decided and then ended long ago."""
    instance = started(cast.actor("uri"), "approval", amount=5)
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    return aged(instance, days=400)


def test_a_case_stays_in_the_month_in_which_it_began(march: Cast, at: Callable[[datetime], None]) -> None:
    at(LONG_AGO)
    instance = started(march.actor("uri"), "approval", amount=5)
    now = database_now()
    at(now)
    complete_task(actor=march.actor("ada"), task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    assert partitions_of(instance) == MARCH
    assert partitions_of(decided(march)) == {f"wf_audit_{now:%Y_%m}", f"wf_task_events_{now:%Y_%m}"}
    assert asked("SELECT DISTINCT subject_kind = 'instance' FROM wf_audit_rest") == [(False,)]
    assert verify_everything().broken == ()


def test_a_month_that_is_over_goes_when_nothing_of_it_is_left(march: Cast, at: Callable[[datetime], None]) -> None:
    keep(march, completed_for="P30D", audit_for="P60D")
    at(LONG_AGO)
    old, living = decided(march), started(march.actor("uri"), "approval", amount=5)
    assert apply_retention(dry_run=True).months == apply_retention().months == 0
    assert AuditAnchor.objects.get(pk=old.pk).purged_at is not None
    assert months() > MARCH
    cancel_instance(actor=march.actor("ada"), instance_id=living.pk, reason="no longer wanted")
    keep(march, cancelled_for="P30D")
    aged(living, days=400)
    assert apply_retention().months == 2
    assert not months() & MARCH
    assert verify_everything().broken == ()


def test_no_month_goes_that_is_not_over(approvals: Cast) -> None:
    before = months()
    assert (drop_month(), months()) == (None, before)


def test_a_month_in_use_stays_for_another_day(march: Cast) -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT FROM wf_audit_2025_03")
        assert drop_month() == "wf_task_events_2025_03"
        assert drop_month() is None
    assert drop_month() == "wf_audit_2025_03"


def test_a_month_whose_rows_cannot_be_seen_is_not_taken_for_empty(march: Cast, at: Callable[[datetime], None]) -> None:
    """Its policies are lost: the owner sees nothing there, like everybody else."""
    at(LONG_AGO)
    instance = decided(march)
    with connection.cursor() as cursor:
        cursor.execute("DROP POLICY all_tenants ON wf_audit_2025_03; DROP POLICY own_tenant ON wf_audit_2025_03")
    assert asked("SELECT wf_is_empty('wf_audit_2025_03')") == [(True,)]
    assert (drop_month(), "wf_audit_2025_03" in partitions_of(instance)) == (None, True)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE wf_audit_2025_03 NO FORCE ROW LEVEL SECURITY")


def test_rows_for_whose_month_there_is_no_partition_move_when_there_is(
    approvals: Cast, at: Callable[[datetime], None]
) -> None:
    later = (database_now().replace(day=1) + timedelta(days=31 * (AHEAD + 1))).replace(day=9)
    at(later)
    instance = decided(approvals)
    assert partitions_of(instance) == {"wf_audit_other", "wf_task_events_other"}
    assert make_months(AHEAD + 1) == 2
    assert partitions_of(instance) == {f"wf_audit_{later:%Y_%m}", f"wf_task_events_{later:%Y_%m}"}
    assert make_months(AHEAD + 1) == 0
    assert verify_everything().broken == ()


def relations_in(plan: Any) -> set[str]:
    below = set().union(*(relations_in(node) for node in plan.get("Plans", ())))
    return below | ({plan["Relation Name"]} if "Relation Name" in plan else set())


def planned(rows: QuerySet[Any]) -> set[str]:
    """Return the tables that a query opens."""
    statement, given = rows.query.sql_with_params()
    ((plan,),) = asked(f"EXPLAIN (FORMAT JSON) {statement}", *given)
    return relations_in((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def test_a_read_of_one_case_or_task_opens_its_partition_only(march: Cast) -> None:
    instance = decided(march)
    now = f"{database_now():%Y_%m}"
    task = Task.objects.get(instance=instance)
    assert planned(JournalRow.objects.filter(subject_id=instance.pk)) == {f"wf_audit_{now}", "wf_audit_rest"}
    assert planned(Audit.objects.filter(subject_id=instance.pk, subject_kind="instance")) == {f"wf_audit_{now}"}
    assert planned(StepRun.objects.filter(instance_id=instance.pk)) >= {f"wf_audit_{now}"}
    assert "wf_audit_2025_03" not in planned(StepRun.objects.filter(instance_id=instance.pk))
    assert planned(TaskEvent.objects.filter(task_id=task.pk)) == {f"wf_task_events_{now}"}


LOCKED = """
SELECT relation::regclass::text FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE pid = pg_backend_pid() AND relname ~ '^wf_(audit|task_events)' AND relkind IN ('r', 'p')
"""


def test_an_act_opens_the_partitions_of_its_rows_only(march: Cast) -> None:
    now = f"{database_now():%Y_%m}"
    written = {"wf_audit", "wf_audit_cases", f"wf_audit_{now}", "wf_task_events", f"wf_task_events_{now}"}
    for _ in range(7):  # a plan that is kept opens no more than those for one execution
        with transaction.atomic():
            started(march.actor("uri"), "approval", amount=5)
            assert {name for (name,) in asked(LOCKED)} == written


@pytest.mark.django_db
def test_a_check_warns_of_a_month_without_partition() -> None:
    assert check_months() == []
    following = (database_now().replace(day=1) + timedelta(days=32)).replace(day=1)
    asked("SELECT wf_drop_if_empty('wf_task_events', %s)", f"wf_task_events_{following:%Y_%m}")
    [warning] = check_months()
    assert (warning.id, f"{following:%Y-%m}" in warning.msg) == ("workflow.W013", True)
