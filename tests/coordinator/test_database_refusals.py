"""What the database itself refuses, each tried by hand past every rule above it."""

import itertools
from collections.abc import Callable
from uuid import UUID

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import ForeignKey, QuerySet

from engine.kernel.transitions import INSTANCE_MOVES, TASK_MOVES, VERSION_MOVES
from engine.models import (
    Instance,
    JournalRow,
    RuntimeState,
    ScheduleFire,
    Signal,
    Task,
    TaskCandidate,
    TaskEvent,
    Template,
    TemplateVersion,
    Wait,
)
from engine.models.base import NEVER
from engine.services.instances.lifecycle import cancel_instance
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, TIMER, activated, only_task, started
from workflowplatform.accounts.models import Membership, User
from workflowplatform.ids import uuid7

pytestmark = pytest.mark.usefixtures("committed_cast")

PARENT = """
workflow: parent
title: Parent
steps:
  - id: sub
    workflow: {name: approval, input: {amount: 3}}
"""

WITHOUT_TENANT = {"wf_tenants", "wf_host_locks", "wf_audit_roots", "wf_sign_in_tallies"}
"""Tables that belong to no tenant."""

DESIGNED = {
    "wf_templates", "wf_template_versions", "wf_instances", "wf_runtime_states", "wf_waits", "wf_step_runs", "wf_tasks",
    "wf_task_candidates", "wf_task_events", "wf_task_comments", "wf_task_drafts", "wf_signals", "wf_signal_receipts",
    "wf_kept_signals", "wf_dead_letters", "wf_effects", "wf_schedules", "wf_schedule_fires", "wf_events", "wf_audit",
    "wf_host_locks", "wf_idempotency_keys", "wf_calendars", "wf_secrets", "wf_retention_rules", "wf_audit_anchors",
    "wf_bulk_acts", "wf_bulk_rows",
    "wf_webhooks", "wf_webhook_deliveries", "wf_delivery_attempts",
}  # fmt: skip
"""The tables of the design."""


def refused(constraint: str, act: Callable[[], object]) -> None:
    """Expect the act to be refused by that constraint, at its statement or at the commit."""
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        act()
    diagnosis = getattr(caught.value.__cause__, "diag", None)
    assert diagnosis is not None
    assert diagnosis.constraint_name == constraint


@pytest.fixture
def waiting(committed_cast: Cast) -> Instance:
    """Return an instance that waits for its review."""
    activated(committed_cast.actor("gwen"), APPROVAL)
    return started(committed_cast.actor("uri"), "approval", amount=5)


@pytest.fixture
def sleeping(committed_cast: Cast) -> Instance:
    """Return an instance that waits for a timer."""
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    return started(committed_cast.actor("gwen"), "timer")


@pytest.mark.parametrize(
    ("noun", "moves"), [("version", VERSION_MOVES), ("instance", INSTANCE_MOVES), ("task", TASK_MOVES)]
)
def test_the_database_knows_the_same_moves_as_the_kernel(noun: str, moves: dict[str, frozenset[str]]) -> None:
    with connection.cursor() as cursor:
        for old, new in itertools.product(moves, moves):
            cursor.execute("SELECT wf_legal_move(%s, %s, %s)", [noun, old, new])
            assert cursor.fetchone()[0] == (old == new or new in moves[old]), (old, new)


def test_an_illegal_move_is_refused(waiting: Instance) -> None:
    refused("legal_move", lambda: Instance.objects.filter(pk=waiting.pk).update(status="queued"))
    refused("legal_move", lambda: TemplateVersion.objects.filter(pk=waiting.version_id).update(status="draft"))


def test_a_second_version_in_force_is_refused(waiting: Instance) -> None:
    version = TemplateVersion.objects.get(pk=waiting.version_id)
    version.pk, version.number = uuid7(), 99
    refused("one_version_in_force", lambda: version.save(force_insert=True))


def test_a_changed_definition_is_refused(waiting: Instance) -> None:
    version = TemplateVersion.objects.filter(pk=waiting.version_id)
    refused("frozen_definition", lambda: version.update(source="x"))
    refused("frozen_definition", lambda: version.update(canonical={}))
    refused("frozen_definition", lambda: version._raw_delete(version.db))  # type: ignore[attr-defined]


def test_a_running_instance_without_wait_or_signal_is_refused(waiting: Instance) -> None:
    refused("no_limbo", lambda: Wait.objects.filter(instance=waiting).delete())


def test_a_running_instance_whose_last_signal_goes_is_refused(sleeping: Instance) -> None:
    Wait.objects.filter(instance=sleeping).delete()
    refused("no_limbo", lambda: Signal.objects.filter(instance=sleeping).delete())


def test_an_incident_that_goes_on_with_nothing_to_wait_for_is_refused(waiting: Instance) -> None:
    with transaction.atomic():
        Instance.objects.filter(pk=waiting.pk).update(status="incident")
        Wait.objects.filter(instance=waiting).delete()
    refused("no_limbo", lambda: Instance.objects.filter(pk=waiting.pk).update(status="running"))


def test_a_watch_alone_is_nothing_to_wait_for(waiting: Instance) -> None:
    wait = Wait.objects.get(instance=waiting)

    def keep_only_a_watch() -> None:
        Wait.objects.filter(instance=waiting).delete()
        wait.side = True
        wait.save(force_insert=True)

    refused("no_limbo", keep_only_a_watch)


def test_a_timer_without_its_signal_is_refused(sleeping: Instance) -> None:
    refused("timer_has_signal", lambda: Signal.objects.filter(instance=sleeping).delete())


def test_a_new_timer_without_a_signal_is_refused(waiting: Instance) -> None:
    wait = Wait.objects.get(instance=waiting)
    wait.token, wait.kind = wait.token + 1000, "timer"
    refused("timer_has_signal", lambda: wait.save(force_insert=True))


def test_an_ended_instance_with_open_work_is_refused(waiting: Instance) -> None:
    refused("terminal_is_clean", lambda: Instance.objects.filter(pk=waiting.pk).update(status="completed"))


def test_an_ended_instance_with_an_open_task_is_refused(waiting: Instance) -> None:
    def end() -> None:
        Wait.objects.filter(instance=waiting).delete()
        Instance.objects.filter(pk=waiting.pk).update(status="completed")

    refused("terminal_is_clean", end)


def test_a_new_wait_of_an_ended_instance_is_refused(committed_cast: Cast, waiting: Instance) -> None:
    wait = Wait.objects.get(instance=waiting)
    cancel_instance(actor=committed_cast.actor("ada"), instance_id=waiting.pk, reason="over")
    refused("terminal_is_clean", lambda: wait.save(force_insert=True))


def test_an_ended_instance_that_leaves_a_child_behind_is_refused(committed_cast: Cast, waiting: Instance) -> None:
    activated(committed_cast.actor("gwen"), PARENT)
    parent = started(committed_cast.actor("gwen"), "parent")

    def end() -> None:
        Wait.objects.filter(instance=parent).delete()
        Instance.objects.filter(pk=parent.pk).update(status="completed")

    refused("no_orphans", end)


@pytest.mark.parametrize("limited", ["tenant", "template"])
def test_more_instances_than_a_limit_allows_are_refused(waiting: Instance, limited: str) -> None:
    row = getattr(waiting, limited)
    type(row)._default_manager.filter(pk=row.pk).update(concurrent_limit=1)
    another = Instance.objects.get(pk=waiting.pk)
    wait = Wait.objects.get(instance=waiting)

    def admit() -> None:
        another.pk = wait.instance_id = uuid7()
        another.save(force_insert=True)
        wait.save(force_insert=True)

    refused(f"{limited}_limit", admit)


def test_a_queued_instance_admitted_over_the_limit_is_refused(waiting: Instance) -> None:
    Template.objects.filter(pk=waiting.template_id).update(concurrent_limit=1)
    another = Instance.objects.get(pk=waiting.pk)
    another.pk, another.status = uuid7(), "queued"
    another.save(force_insert=True)
    refused("template_limit", lambda: Instance.objects.filter(pk=another.pk).update(status="running"))


def test_a_second_fire_of_one_slot_is_refused(committed_cast: Cast, waiting: Instance) -> None:
    schedule = create_schedule(
        actor=committed_cast.actor("ada"), template="approval", cron="0 9 * * *", input={"amount": 3}
    )
    slot = {"tenant": committed_cast.acme, "schedule": schedule, "slot": schedule.next_at, "at": schedule.next_at}
    ScheduleFire.objects.create(**slot, outcome="started")
    refused("wf_schedule_fires_pkey", lambda: ScheduleFire.objects.create(**slot, outcome="skipped"))


def test_two_tasks_for_one_wait_are_refused(waiting: Instance) -> None:
    task = only_task(waiting)
    task.pk = uuid7()
    refused("one_task_a_wait", lambda: task.save(force_insert=True))


def test_a_claimed_task_without_its_person_is_refused(waiting: Instance) -> None:
    refused("claimed_task_has_assignee", lambda: Task.objects.filter(instance=waiting).update(status="claimed"))


@pytest.mark.parametrize("model", [JournalRow, TaskEvent])
def test_history_cannot_be_changed_or_deleted(waiting: Instance, model: type[JournalRow] | type[TaskEvent]) -> None:
    rows = model._default_manager.all()
    assert rows.exists()
    refused("append_only", lambda: rows.update(actor_name="nobody"))
    refused("append_only", lambda: rows._raw_delete(rows.db))  # type: ignore[attr-defined]


def test_a_level_outside_one_to_six_is_refused(committed_cast: Cast) -> None:
    refused("person_level_1_to_6", lambda: User.objects.filter(username="uri").update(level=7))
    refused("person_level_1_to_6", lambda: User.objects.filter(username="uri").update(level=0))


def test_rows_of_two_tenants_cannot_be_joined(committed_cast: Cast, waiting: Instance) -> None:
    cast = committed_cast
    refused("wf_tasks_assignee_id_same_tenant", lambda: Task.objects.filter(instance=waiting).update(assignee=cast.sam))
    role = cast.globex.roles.first()
    refused(
        "wf_memberships_role_id_same_tenant",
        lambda: Membership.objects.create(tenant=cast.acme, user=cast.ada, role=role),
    )


CARRYING = """
SELECT c.relname, a.attname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_attribute t ON t.attrelid = c.oid AND t.attname = 'tenant_id' AND t.attnum = ANY (k.conkey)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey) AND a.attname <> 'tenant_id'
WHERE k.contype = 'f' AND NOT c.relispartition AND c.relnamespace = current_schema()::regnamespace
  AND cardinality(k.conkey) = 2
"""


BY_ANOTHER_ROW = {("wf_tasks", "version_id"), ("wf_task_events", "instance_id")}
"""A task's version is its instance's, whose check compares them; an event's instance is its task's."""


def test_every_reference_between_tenant_rows_carries_its_tenant() -> None:
    expected = {
        (model._meta.db_table, field.column)
        for app in ("engine", "accounts")
        for model in apps.get_app_config(app).get_models()
        if model._meta.managed
        for field in model._meta.local_fields
        if isinstance(field, ForeignKey) and not field.db_constraint and field.name != "tenant"
    } - BY_ANOTHER_ROW
    with connection.cursor() as cursor:
        cursor.execute(CARRYING)
        assert set(cursor.fetchall()) == expected


OF_EVERY_ACT = (
    "wf_instances", "wf_runtime_states", "wf_waits", "wf_tasks", "wf_task_candidates", "wf_task_events", "wf_signals",
    "wf_signal_receipts", "wf_effects",
)  # fmt: skip
TENANT_KEYS = """
SELECT c.relname, EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'
  AND k.confrelid = 'wf_tenants'::regclass),
  EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.conname LIKE '%%\\_same\\_tenant'
    AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (k.conkey) AND NOT a.attnotnull))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
"""


def test_each_table_has_its_tenant_from_its_parent_or_from_the_tenants() -> None:
    """One key or the other: both would look the tenant up twice, neither would take rows of a tenant that is not there."""
    with connection.cursor() as cursor:
        cursor.execute(TENANT_KEYS)
        found = {table: (to_tenants, to_parent) for table, to_tenants, to_parent in cursor.fetchall()}
    assert {table for table, keys in found.items() if keys == (False, False)} == set()
    assert {table for table, keys in found.items() if keys == (True, True)} & set(OF_EVERY_ACT) == set()


def test_rows_of_a_parent_in_another_tenant_are_refused(committed_cast: Cast, waiting: Instance) -> None:
    other, task, wait = committed_cast.globex.pk, only_task(waiting), Wait.objects.get(instance=waiting)
    moved = {
        "wf_waits_instance_id_same_tenant": Wait.objects.filter(instance=waiting),
        "wf_runtime_states_instance_id_same_tenant": RuntimeState.objects.filter(instance=waiting),
        "wf_task_candidates_task_id_same_tenant": TaskCandidate.objects.filter(task=task),
        "wf_signals_instance_id_same_tenant": _signals(wait),
    }
    for constraint, rows in moved.items():
        refused(constraint, lambda rows=rows: rows.update(tenant_id=other))  # type: ignore[misc]
    event = TaskEvent.objects.filter(task=task).latest("id")
    event.pk, event.tenant_id = uuid7(), other
    refused("wf_task_events_task_id_same_tenant", lambda: event.save(force_insert=True))
    task.pk, task.tenant_id, task.token = uuid7(), other, task.token + 1000
    refused("wf_tasks_instance_id_same_tenant", lambda: task.save(force_insert=True))
    waiting.pk, waiting.tenant_id = uuid7(), other
    refused("wf_instances_template_id_same_tenant", lambda: waiting.save(force_insert=True))


def test_an_open_task_of_another_version_than_its_instance_is_refused(committed_cast: Cast, waiting: Instance) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL.replace("title: ", "title: Another "))
    other = TemplateVersion.objects.exclude(pk=waiting.version_id).latest("id")
    tasks = Task.objects.filter(instance=waiting)
    refused("task_of_its_version", lambda: tasks.update(version=other))
    refused("task_of_its_version", lambda: tasks.update(version_id=uuid7()))
    refused("task_of_its_version", lambda: Instance.objects.filter(pk=waiting.pk).update(version=other))
    task = only_task(waiting)
    task.pk, task.token, task.version_id = uuid7(), task.token + 1000, other.pk
    refused("task_of_its_version", lambda: task.save(force_insert=True))


def test_a_task_moves_to_another_version_with_its_instance(committed_cast: Cast, waiting: Instance) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL.replace("title: ", "title: Another "))
    other = TemplateVersion.objects.exclude(pk=waiting.version_id).latest("id")
    with transaction.atomic():
        Instance.objects.filter(pk=waiting.pk).update(version=other)
        Task.objects.filter(instance=waiting).update(version=other)


def _signals(wait: Wait) -> QuerySet[Signal]:
    Signal.objects.create(
        tenant_id=wait.tenant_id,
        instance_id=wait.instance_id,
        type="TimerDue",
        waiting_token=wait.token + 1000,
        occurred_at=wait.opened_at,
        due_at=NEVER,
    )
    return Signal.objects.filter(instance_id=wait.instance_id)


def test_rows_of_no_tenant_are_refused(waiting: Instance) -> None:
    wait = Wait.objects.filter(instance=waiting)
    refused("wf_waits_instance_id_same_tenant", lambda: wait.update(tenant_id=uuid7()))
    refused("wf_instances_template_id_same_tenant", lambda: _as_of(waiting, uuid7()).save(force_insert=True))


def _as_of(instance: Instance, tenant_id: UUID) -> Instance:
    instance.pk, instance.tenant_id = uuid7(), tenant_id
    return instance


def test_an_instance_that_was_checked_before_the_commit_is_checked_again(waiting: Instance) -> None:
    """The mark that spares a second check is of one moment."""

    def check_and_break() -> None:
        Instance.objects.filter(pk=waiting.pk).update(status="incident")
        Instance.objects.filter(pk=waiting.pk).update(status="running")
        connection.check_constraints()
        Wait.objects.filter(instance=waiting).delete()

    refused("no_limbo", check_and_break)


def test_each_instance_of_a_transaction_is_checked(committed_cast: Cast, waiting: Instance) -> None:
    another = started(committed_cast.actor("uri"), "approval", amount=6)

    def break_the_second() -> None:
        for instance in (waiting, another):
            Instance.objects.filter(pk=instance.pk).update(status="incident")
            Instance.objects.filter(pk=instance.pk).update(status="running")
        Wait.objects.filter(instance=another).delete()

    refused("no_limbo", break_the_second)


def test_an_open_task_that_appears_in_an_ended_instance_is_refused(committed_cast: Cast, waiting: Instance) -> None:
    task = only_task(waiting)
    cancel_instance(actor=committed_cast.actor("ada"), instance_id=waiting.pk, reason="over")
    task.pk, task.token = uuid7(), task.token + 1000
    refused("terminal_is_clean", lambda: task.save(force_insert=True))


def test_a_timer_of_a_resumed_instance_without_its_signal_is_refused(sleeping: Instance) -> None:
    def lose_it() -> None:
        Instance.objects.filter(pk=sleeping.pk).update(status="suspended")
        Signal.objects.filter(instance=sleeping).delete()

    with transaction.atomic():
        lose_it()
    refused("timer_has_signal", lambda: Instance.objects.filter(pk=sleeping.pk).update(status="running"))


def test_every_table_carries_its_tenant() -> None:
    """Row-level security can become the second wall only where each row says whose it is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, a.attnotnull FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid "
            "AND a.attname = 'tenant_id' WHERE c.relkind IN ('r', 'p') AND c.relname LIKE 'wf\\_%%' "
            "AND c.relnamespace = current_schema()::regnamespace"
        )
        found = dict(cursor.fetchall())
    assert {table for table, needed in found.items() if not needed} == WITHOUT_TENANT
    assert found.keys() >= DESIGNED


def test_a_completed_task_stays_completed(committed_cast: Cast, waiting: Instance) -> None:
    task = only_task(waiting)
    complete_task(actor=committed_cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    refused("legal_move", lambda: Task.objects.filter(pk=task.pk).update(status="open"))
