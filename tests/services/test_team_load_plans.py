"""The load of a team of 500 people with 10,000 open tasks: how the database finds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from engine.models import Task
from engine.services.insights.team_load import TeamLoad, team_load
from tests.application import as_application
from tests.cast import Cast
from tests.coordinator import growth
from tests.services.test_leads import DESK, lead, person
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.tenancy import acting_for

PEOPLE, OPEN, CLOSED = 500, 10_000, 100_000
READ_WHOLE = {"wf_people", "wf_memberships", "wf_roles", "wf_tenants"}
"""Small tables, of which a large team is most."""
GROW = r"""
INSERT INTO wf_people SELECT (jsonb_populate_record(p, jsonb_build_object(
    'id', md5('clerk' || n)::uuid, 'username', 'clerk-' || n))).*
  FROM wf_people p, generate_series(1, {people}) n WHERE p.username = 'lena';
INSERT INTO wf_memberships SELECT (jsonb_populate_record(m, jsonb_build_object(
    'id', gen_random_uuid(), 'user_id', md5('clerk' || n)::uuid, 'leads', false))).*
  FROM wf_memberships m, generate_series(1, {people}) n WHERE m.user_id = (SELECT id FROM wf_people WHERE username = 'lena');
INSERT INTO wf_tasks SELECT (json_populate_record(t, json_build_object(
    'id', wf_test_id(now() - n * interval '1 minute', n), 'token', 100 + n, 'created_at', now() - n * interval '1 minute',
    'due_at', now() + (n - 3000) * interval '1 minute', 'instance_id', md5('case' || n)::uuid,
    'assignee_id', CASE WHEN n % 2 = 0 THEN md5('clerk' || 1 + n % {people})::uuid END,
    'status', CASE WHEN n % 2 = 0 THEN 'claimed' ELSE 'open' END))).*
  FROM wf_tasks t, generate_series(1, {open}) n WHERE t.id = '{model}';
INSERT INTO wf_tasks SELECT (json_populate_record(t, json_build_object(
    'id', wf_test_id(now() - n * interval '10 minutes' - interval '1 hour', n), 'token', 1, 'status', 'completed',
    'created_at', now() - n * interval '10 minutes' - interval '1 hour', 'instance_id', md5('old' || n)::uuid,
    'completed_by_id', md5('clerk' || 1 + n % {people})::uuid,
    'completed_at', now() - n * interval '10 minutes'))).*
  FROM wf_tasks t, generate_series(1, {closed}) n WHERE t.id = '{model}';
INSERT INTO wf_task_candidates SELECT (jsonb_populate_record(c, jsonb_build_object(
    'task_id', t.id, 'due_at', t.due_at))).*
  FROM wf_task_candidates c, wf_tasks t WHERE c.task_id = '{model}' AND t.status IN ('open', 'claimed') AND t.token > 100;
INSERT INTO wf_task_candidates SELECT (jsonb_populate_record(c, jsonb_build_object(
    'task_id', gen_random_uuid(), 'principal', md5('role' || n % 9)::uuid))).*
  FROM wf_task_candidates c, generate_series(1, {closed}) n WHERE c.task_id = '{model}';
INSERT INTO wf_absences (id, tenant_id, person_id, starts_at, ends_at, entered_by, entered_at)
  SELECT gen_random_uuid(), tenant_id, id, now() - n * interval '9 days', now() - (n - 1) * interval '9 days', 'lena', now()
  FROM wf_people, generate_series(-1, 20) n WHERE username LIKE 'clerk-%';
"""
TEST_ID = """
CREATE FUNCTION pg_temp.wf_test_id(at timestamptz, n int) RETURNS uuid LANGUAGE sql AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000a' || lpad(to_hex(n), 15, '0'))::uuid
$$
"""


@pytest.fixture
def crowd(committed_cast: Cast) -> Iterator[Actor]:
    """Provide the lead of a large team, and what the planner knows of its tables."""
    activated(committed_cast.actor("gwen"), DESK)
    person(committed_cast, "lena")
    lena = lead(committed_cast, "lena")
    model = Task.objects.get(instance=started(committed_cast.actor("uri"), "desk"), step="pay")
    with growth.owner() as own:
        own.execute("SET session_replication_role = replica; SET statement_timeout = 0")
        own.execute(TEST_ID)
        grown = GROW.format(people=PEOPLE, open=OPEN, closed=CLOSED, model=model.pk)
        own.execute(grown.replace("wf_test_id", "pg_temp.wf_test_id"))
        own.execute("ANALYZE")
    yield lena
    connection.close()
    growth.empty()
    with growth.owner() as own:
        own.execute("TRUNCATE wf_absences")


@pytest.mark.slow
def test_a_large_team_is_counted_by_indexes_whoever_asks(crowd: Actor, committed_cast: Cast) -> None:
    with as_application(), acting_for(crowd.tenant_id):
        for actor, role in ((crowd, ""), (committed_cast.actor("ada"), ""), (committed_cast.actor("ada"), "finance")):
            load, plans = _watched(actor, role)
            assert (load.open, len(load.people) >= PEOPLE) == (OPEN // 2, True)
            finance = next(queue for queue in load.queues if queue.role.name == "finance")
            assert finance.waiting == OPEN // 2 + (2 if actor.level >= 4 else 1)
            assert sum(day.done for day in finance.days) > 0
            assert _whole_reads(plans) == []
            assert len(plans) <= 8


def _watched(actor: Actor, role: str) -> tuple[TeamLoad, list[tuple[str, Any]]]:
    """Count, with every statement explained."""
    plans: list[tuple[str, Any]] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT") and "wf_" in sql:
            with context["connection"].connection.cursor() as cursor:
                found = cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params).fetchone()[0]
            plans.append((sql, (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        load = team_load(actor=actor, role=role)
    return load, plans


def _whole_reads(plans: list[tuple[str, Any]]) -> list[str]:
    return sorted(
        f"{node['Node Type']} of {node.get('Relation Name')} in {sql[:200]}"
        for sql, plan in plans
        for node in _nodes(plan)
        if node["Node Type"] == "Seq Scan" and node.get("Relation Name") not in READ_WHOLE
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)
