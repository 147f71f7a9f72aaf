"""The wall in PostgreSQL: what the application's role sees and may do, on every table, and what it costs in journeys."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, transaction
from psycopg.pq import TransactionStatus

from engine.models import Audit, Instance, Task, Wait
from engine.runtime.commit import run_hot, run_hot_together
from tests.application import as_application
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, started
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.database import row_security, tenancy
from workflowplatform.database.hot import Hot
from workflowplatform.database.tenancy import acting_for, crossing
from workflowplatform.database.tenant_setting import teller_of
from workflowplatform.servers.paths import PROJECT
from workflowplatform.servers.postgres import APPLICATION, CROSSING, ROLE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.security("the database keeps tenants apart")]

EVERY_TABLE = (
    "SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c WHERE c.relkind IN ('r', 'p') AND \
c.relnamespace = current_schema()::regnamespace"
)


def rows(asked: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(asked, values or None)
        return cursor.fetchall() if cursor.description else []


def value(asked: str, *values: Any) -> Any:
    return rows(asked, *values)[0][0]


# What is walled


@pytest.mark.parametrize("table", ["wf_people", "wf_tenants", "wf_roles"])
def test_the_planner_expects_as_many_rows_behind_the_wall_as_without_it(committed_cast: Cast, table: str) -> None:
    """A rule that is thought to hide half of each joined table turns a walk along an index into a sort of everything."""
    rows(f"ANALYZE {table}")
    asked = f"EXPLAIN (FORMAT JSON) SELECT * FROM {table}"
    without = value(asked)[0]["Plan"]["Plan Rows"]
    with as_application(), acting_for(committed_cast.acme.pk):
        assert value(asked)[0]["Plan"]["Plan Rows"] == without > 1


def test_every_table_is_walled_or_says_why_not() -> None:
    """A new table without `tenant_id` needs a line in walls.SPECIAL; one with it is walled by itself."""
    has_tenant = {name: found for name, _, found in rows(row_security.TABLES)}
    found = {name: (enabled, forced) for name, enabled, forced in rows(EVERY_TABLE)}
    assert {name for name in found if not has_tenant[name]} <= row_security.SPECIAL.keys(), (
        "a table without tenant_id says why"
    )
    assert row_security.SPECIAL.keys() <= found.keys()
    walled = {name for name in found if row_security.rule_of(name, has_tenant[name])}
    assert {name: found[name] for name in walled} == dict.fromkeys(walled, (True, True))
    assert {name for name in found if found[name][0]} == walled
    assert {name for name in found if name.startswith("wf_")} - walled == {
        "wf_audit_roots",
        "wf_host_locks",
        "wf_sign_in_tallies",
    }
    policies = {(table, policy) for table, policy, _ in rows(row_security.POLICIES)}
    assert policies == {(table, policy) for table in walled for policy in ("own_tenant", "all_tenants")}
    assert all(wall.why for wall in row_security.SPECIAL.values())


def test_every_function_runs_as_somebody_who_was_chosen() -> None:
    found = dict(
        rows(
            "SELECT proname, prosecdef FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname ~ '^wf_'"
        )
    )
    assert found.keys() == row_security.AS_OWNER | row_security.AS_CALLER.keys(), (
        "a new function needs a line in walls.AS_OWNER or AS_CALLER"
    )
    assert {name for name, as_owner in found.items() if as_owner} == row_security.AS_OWNER
    searched = rows("SELECT proname, proconfig FROM pg_proc WHERE prosecdef AND proname ~ '^wf_'")
    assert {config[0] for _, config in searched} == {"search_path=public, pg_temp"}


def test_a_second_run_finds_nothing_to_do_and_a_lost_policy_is_found() -> None:
    assert row_security.raise_walls(connection, APPLICATION) == 0
    rows("DROP POLICY own_tenant ON wf_tasks; REVOKE SELECT ON wf_tasks FROM workflow_app")
    rows("ALTER FUNCTION wf_check_instance SECURITY INVOKER")
    try:
        assert row_security.raise_walls(connection, APPLICATION) > 3
    finally:
        assert row_security.raise_walls(connection, APPLICATION) == 0


# What the application sees


def test_without_a_tenant_nothing_is_seen_and_with_one_only_its_own(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    started(cast.actor("uri"), "approval", amount=12)
    partitions = {name for (name,) in rows(row_security.PARTITIONS)}
    walled = [name for name, _, found in rows(row_security.TABLES) if row_security.rule_of(name, found)]
    walled = [name for name in walled if name not in partitions]
    counts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in walled)
    with as_application(outside=tenancy.NOBODY):
        assert value("SELECT current_user") == APPLICATION
        assert {count for _, count in rows(counts)} == {0}
        with acting_for(cast.globex.pk):
            assert {table for table, count in rows(counts) if count} == {
                "wf_tenants", "wf_people", "wf_roles", "wf_memberships", "wf_audit",
            }  # fmt: skip
            assert set(User.objects.values_list("username", flat=True)) == {"sam", "stan"}
            assert Instance.objects.count() == Task.objects.count() == 0
        with acting_for(cast.acme.pk):
            assert Task.objects.count() == 1
            with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
                Tenant.objects.create(name="other")
            assert User.objects.filter(pk=cast.sam.pk).update(level=1) == 0
        with crossing("drain"):
            assert User.objects.count() == 7
            assert value("SELECT current_user") == CROSSING
        assert User.objects.count() == 0


def test_a_guest_of_level_6_keeps_their_own_row_and_no_other_of_their_home(committed_cast: Cast) -> None:
    scope = tenancy.VisibleTenants(committed_cast.acme.pk, guest=committed_cast.zoe.pk)
    with as_application(outside=scope):
        assert set(User.objects.values_list("username", flat=True)) == {"gwen", "ada", "adam", "uri", "zoe"}
        assert list(Tenant.objects.all()) == [committed_cast.acme]


def test_the_scope_changes_inside_a_transaction_and_survives_a_savepoint(committed_cast: Cast) -> None:
    acme, globex = committed_cast.acme.pk, committed_cast.globex.pk

    def break_in_globex() -> None:
        with transaction.atomic(), acting_for(globex):
            assert run_hot("SELECT count(*) FROM wf_people", []) == [(2,)]
            User.objects.create(tenant_id=globex, username="sam", level=2)

    with as_application(outside=tenancy.NOBODY), acting_for(acme), transaction.atomic():
        assert User.objects.count() == 4
        with pytest.raises(IntegrityError):
            break_in_globex()
        assert run_hot("SELECT count(*) FROM wf_people", []) == [(4,)]
        with crossing("drain"):
            assert run_hot_together(("SELECT count(*) FROM wf_people", []), ("SELECT 1", [])) == [[(7,)], [(1,)]]
        assert User.objects.count() == 4


def test_long_lists_are_told_too(committed_cast: Cast) -> None:
    with as_application(outside=tenancy.NOBODY), acting_for(committed_cast.acme.pk):
        assert sum(1 for _ in User.objects.iterator(chunk_size=2)) == 4
        with transaction.atomic():
            assert sum(1 for _ in User.objects.iterator(chunk_size=2)) == 4
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE wf_people SET theme = %s WHERE username = %s", [("dark", "uri"), ("dark", "sam")]
            )
    assert list(User.objects.filter(theme="dark").values_list("username", flat=True)) == ["uri"]


def test_nothing_told_outlives_its_transaction(committed_cast: Cast) -> None:
    """Another request, or another client of a pooler, gets the same session next."""
    with as_application(outside=tenancy.NOBODY):
        for scope in (acting_for(committed_cast.acme.pk), crossing("drain")):
            with scope:
                assert User.objects.exists()
                assert run_hot("SELECT count(*) > 0 FROM wf_people", []) == [(True,)]
                with transaction.atomic():
                    assert User.objects.exists()
            driver = connection.connection
            assert driver.pgconn.transaction_status == TransactionStatus.IDLE
            left = driver.execute("SELECT coalesce(current_setting('wf.tenant', true), ''), current_user").fetchone()
            assert left == ("", APPLICATION)


def test_the_owner_of_a_single_role_house_is_told_nothing(committed_cast: Cast) -> None:
    assert value("SELECT current_user") == ROLE
    assert teller_of(connection.connection) is None
    with acting_for(committed_cast.acme.pk):
        assert User.objects.count() == 7


# What the application may do


@pytest.mark.parametrize("table", sorted(row_security.APPEND_ONLY))
@pytest.mark.parametrize("verb", ["DELETE FROM {}", "UPDATE {} SET {column} = {column}", "TRUNCATE {}", "DROP TABLE {}",
    "ALTER TABLE {} DISABLE TRIGGER ALL", "ALTER TABLE {} DISABLE ROW LEVEL SECURITY"])  # fmt: skip
def test_history_cannot_be_changed_by_the_application(committed_cast: Cast, table: str, verb: str) -> None:

    def try_it() -> None:
        with transaction.atomic():
            rows("SET LOCAL workflow.purging = 'on'")
            rows(verb.format(table, column="signature" if table == "wf_audit_roots" else "tenant_id"))

    with as_application():
        for scope in (acting_for(committed_cast.acme.pk), crossing("drain")):
            with scope, pytest.raises(ProgrammingError) as refused:
                try_it()
            assert isinstance(refused.value.__cause__, psycopg.errors.InsufficientPrivilege)
    assert Audit.objects.exists()


def test_a_partition_is_read_through_its_table_and_by_nobody_directly(committed_cast: Cast) -> None:
    """A policy of the table does not cover its partitions: rows of all tenants are in each of them."""
    partitions = {name for (name,) in rows(row_security.PARTITIONS)}
    assert {"wf_audit_cases", "wf_audit_rest", "wf_audit_other", "wf_task_events_other"} <= partitions
    with as_application():
        for scope in (acting_for(committed_cast.acme.pk), crossing("drain")):
            with scope:
                assert Audit.objects.exists()
                for table in partitions:
                    assert not value("SELECT has_table_privilege(%s, 'SELECT, INSERT, UPDATE, DELETE')", table), table


def test_a_month_made_later_has_the_same_walls(committed_cast: Cast) -> None:
    with as_application():
        with acting_for(committed_cast.acme.pk), pytest.raises(ProgrammingError, match="permission denied"):
            rows("SELECT wf_make_months(9)")
        with acting_for(committed_cast.acme.pk), pytest.raises(ProgrammingError, match="permission denied"):
            rows("SELECT wf_drop_month()")
        with crossing("background"):
            made = value("SELECT wf_make_months(9)")
    try:
        assert made == 12
        assert row_security.raise_walls(connection, APPLICATION) == 0
    finally:
        rows(
            "SELECT wf_drop_if_empty(m.parent, m.name) FROM (SELECT *, row_number() OVER (PARTITION BY root ORDER BY low DESC) n "
            "FROM wf_months()) m WHERE m.n <= 6"
        )


def test_no_table_is_the_applications_to_empty_or_alter(committed_cast: Cast) -> None:
    with as_application():
        for table, _, _ in rows(EVERY_TABLE):
            assert not value("SELECT has_table_privilege(%s, 'TRUNCATE, TRIGGER, REFERENCES')", table), table
        assert (
            rows("SELECT relname FROM pg_class WHERE pg_has_role(current_user, relowner, 'USAGE') AND relname ~ '^wf_'")
            == []
        )
        assert not value("SELECT has_schema_privilege(current_schema(), 'CREATE')")


def test_ended_work_is_purged_by_those_who_cross_and_nobody_else(committed_cast: Cast) -> None:
    with as_application():
        with acting_for(committed_cast.acme.pk), pytest.raises(ProgrammingError, match="permission denied"):
            rows("SELECT wf_purge_instances(ARRAY[]::uuid[])")
        with crossing("background"):
            assert value("SELECT wf_purge_instances(ARRAY[]::uuid[])") == 0


# Checks at the commit see everything


@contextmanager
def as_the_caller(function: str) -> Iterator[None]:
    """Take a function its owner's eyes, as it was before there were walls."""
    rows(f"ALTER FUNCTION {function} SECURITY INVOKER")
    try:
        yield
    finally:
        rows(f"ALTER FUNCTION {function} SECURITY DEFINER")


def leave_in_limbo(cast: Cast, instance: Instance) -> None:
    """Delete all that a running instance waits for, and have no tenant's scope at the commit."""
    with as_application(outside=tenancy.NOBODY), transaction.atomic():
        with acting_for(cast.acme.pk):
            Wait.objects.filter(instance=instance).delete()
        with acting_for(cast.globex.pk):
            assert not Instance.objects.exists()


def test_a_check_at_the_commit_does_not_fail_open(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    instance = started(committed_cast.actor("uri"), "approval", amount=12)
    with pytest.raises(DatabaseError, match="neither wait nor signal"):
        leave_in_limbo(committed_cast, instance)
    assert Wait.objects.filter(instance=instance).exists()
    with as_the_caller("wf_check_instance"):
        leave_in_limbo(committed_cast, instance)  # it passes: this is what the owner's eyes are for
    assert not Wait.objects.filter(instance=instance).exists()


# Journeys and plans


def journeys(act: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count how often an act waits for the server."""
    count: list[str] = []
    with monkeypatch.context() as watched:
        receive, wait = Hot._receive, psycopg.Connection.wait

        def waited(self: Any, *args: Any, **kwargs: Any) -> Any:
            count.append("wait")
            return wait(self, *args, **kwargs)

        watched.setattr(Hot, "_receive", receive)
        watched.setattr(psycopg.Connection, "wait", waited)
        act()
    return len(count)


def test_telling_costs_no_journey(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = committed_cast.acme.pk

    def acts() -> None:
        with acting_for(tenant):
            list(User.objects.all())
            run_hot("SELECT count(*) FROM wf_people", [])
            with transaction.atomic():
                list(User.objects.all())
            with transaction.atomic():
                run_hot("SELECT count(*) FROM wf_people", [])
                list(User.objects.all())
            list(User.objects.iterator())

    acts()
    before = journeys(acts, monkeypatch)
    with as_application():
        acts()
        assert journeys(acts, monkeypatch) == before


# Crossings

USES = {
    "engine/checks.py": {"operator"},
    "engine/api/authentication.py": {"who asks"},
    "engine/dispatch/drain.py": {"drain"},
    "engine/dispatch/notifications.py": {"background"},
    "engine/dispatch/rq.py": {"background"},
    "engine/services/notifications/push.py": {"push browser"},
    "engine/services/tasks/mail_links.py": {"mail link"},
    "engine/services/tasks/question_links.py": {"mail link"},
    "engine/dispatch/webhooks.py": {"background"},
    "engine/services/people/pseudonyms.py": {"erasure"},
    "engine/services/health.py": {"health"},
    "engine/services/people/sign_in_log.py": {"sign-in"},
    "engine/services/tenants/cross_tenant_access.py": {"tenants"},
    "engine/services/templates/startup_validation.py": {"operator"},
    "engine/streaming/hub.py": {"streams"},
    "manage.py": {"operator"},
    "workflowplatform/accounts/admin/tenants.py": {"tenants"},
    "workflowplatform/accounts/forms.py": {"sign-in"},
    "workflowplatform/accounts/middleware.py": {"who asks"},
    "workflowplatform/accounts/views.py": {"sign-in"},
    "workflowplatform/database/tenancy.py": {"who asks"},
}
"""Every place where the product crosses tenants. A new one is a decision: it belongs here, and its reason into CROSSINGS."""


def crossings_in(source: Path) -> set[str]:
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    named = [node for node in calls if (getattr(node.func, "attr", None) or getattr(node.func, "id", "")) == "crossing"]
    return {ast.literal_eval(node.args[0]) for node in named}


def test_every_crossing_is_known() -> None:
    product = [
        PROJECT / "manage.py",
        *(file for root in ("engine", "tasks_inbox", "workflowplatform") for file in (PROJECT / root).rglob("*.py")),
    ]
    found = {str(file.relative_to(PROJECT)): used for file in product if (used := crossings_in(file))}
    assert found == USES
    assert set().union(*USES.values()) == tenancy.CROSSINGS.keys()
    names = [file for file in product if "EVERYBODY" in file.read_text()]
    assert [str(file.relative_to(PROJECT)) for file in names] == ["workflowplatform/database/tenancy.py"]


def test_a_crossing_needs_a_reason_that_is_listed() -> None:
    with pytest.raises(LookupError, match="no reason"), crossing("because"):
        pass


def test_the_search_of_the_owner_answers_for_the_own_tenant_only(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    started(cast.actor("uri"), "approval", amount=12)
    Task.objects.update(answered_by=["ada"])
    asked = f"SELECT count(*) FROM wf_answered_by('{cast.acme.pk}', 'ada')"
    assert value(asked) == 1
    with as_application(outside=tenancy.NOBODY):
        assert value(asked) == 0
        with acting_for(cast.globex.pk):
            assert value(asked) == 0
        with acting_for(cast.acme.pk):
            assert value(asked) == 1
        with crossing("drain"):
            assert value(asked) == 1
