"""The filters of lists among 100,000 open tasks: each is found by an index, none reads a large table whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from engine.access.task_filters import FILTERS, Asked
from engine.db.query_shapes import forget_shapes
from engine.models import Task
from engine.services.tasks.lists import list_named
from tests.application import as_application
from tests.cast import Cast
from tests.coordinator import growth
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.database.tenancy import acting_for

ROWS, PEOPLE = 100_000, 400
DESK = """
workflow: desk
starters: {min_level: 2}
steps:
  - id: look
    task: {title: Look, roles: [finance]}
"""
GROW = """
INSERT INTO wf_people SELECT (jsonb_populate_record(p, jsonb_build_object(
    'id', md5('clerk' || n)::uuid, 'username', 'clerk-' || n, 'full_name', 'Clerk ' || n, 'email', n || '@acme.example'))).*
  FROM wf_people p, generate_series(1, {people}) n WHERE p.username = 'uri';
INSERT INTO wf_instances SELECT (json_populate_record(i, json_build_object(
    'id', md5('case' || n)::uuid, 'started_by_id', md5('clerk' || 1 + n % {people})::uuid))).*
  FROM wf_instances i, generate_series(1, {rows}) n WHERE i.id = '{instance}';
INSERT INTO wf_tasks SELECT (json_populate_record(t, json_build_object(
    'id', md5('task' || n)::uuid, 'instance_id', md5('case' || n)::uuid, 'priority', n % 4,
    'due_at', now() + n * interval '1 minute', 'created_at', now() - n * interval '80 seconds',
    'status', CASE WHEN n % 2 = 0 THEN 'claimed' ELSE 'open' END,
    'assignee_id', CASE WHEN n % 2 = 0 THEN md5('clerk' || 1 + n / 2 % {people})::uuid END))).*
  FROM wf_tasks t, generate_series(1, {rows}) n WHERE t.id = '{task}';
INSERT INTO wf_task_candidates SELECT (jsonb_populate_record(c, jsonb_build_object(
    'task_id', t.id, 'due_at', t.due_at, 'rank', 4 - t.priority))).*
  FROM wf_task_candidates c, wf_tasks t WHERE c.task_id = '{task}' AND t.id <> c.task_id;
"""
LARGE = {"wf_tasks", "wf_instances", "wf_task_candidates"}
MOST_PAGES = 150_000
"""Of 8 kB, for a page of a list."""
WALKED = {"available person", "available starter"}
"""What is rare among the offers to a person is found by walking them all: an index each, but many."""


@pytest.fixture
def crowd(committed_cast: Cast) -> Iterator[Actor]:
    """Provide an admin of a tenant with very many open tasks."""
    activated(committed_cast.actor("gwen"), DESK)
    model: Task = only_task(started(committed_cast.actor("uri"), "desk"))
    with growth.owner() as own:
        own.execute("SET session_replication_role = replica")
        own.execute("SET statement_timeout = 0")
        own.execute(GROW.format(people=PEOPLE, rows=ROWS, task=model.pk, instance=model.instance_id))
        own.execute("ANALYZE")
    forget_shapes()
    yield committed_cast.actor("ada")
    connection.close()
    growth.empty()


@pytest.mark.slow
def test_filters_by_person_starter_and_age_use_indexes(crowd: Actor, record_property: Any) -> None:
    asked = {
        "": "",
        "person": "clerk-77",
        "starter": "clerk 99",
        "age": "quarter",
    }
    costs: dict[str, tuple[int, float]] = {}
    whole: dict[str, list[str]] = {}
    with as_application(), acting_for(crowd.tenant_id):
        for view, order in (("team", ""), ("team", "oldest"), ("available", ""), ("overdue", ""), ("mine", "")):
            for name, text in asked.items():
                filters = [Asked(name, FILTERS[name][0](text), FILTERS[name][1])] if name else []
                shown = list_named(crowd, view, filters, order)
                plans = _plans(lambda shown=shown: shown.page(None, 24))  # type: ignore[misc]
                words = " ".join(filter(None, (view, order, name)))
                costs[words], whole[words] = _cost(plans), _whole_reads(plans)
    record_property("figure", str(costs))
    assert {words: reads for words, reads in whole.items() if reads} == {}
    assert {words: pages for words, (pages, _ms) in costs.items() if pages > MOST_PAGES}.keys() <= WALKED


def _plans(read: Any) -> list[dict[str, Any]]:
    plans: list[dict[str, Any]] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().startswith("SELECT") and "wf_tasks" in sql:
            with context["connection"].connection.cursor() as cursor:
                found = cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params).fetchone()[0]
            plans.append((json.loads(found) if isinstance(found, str) else found)[0])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        read()
    assert plans
    return plans


def _cost(plans: list[dict[str, Any]]) -> tuple[int, float]:
    pages = sum(each["Plan"]["Shared Hit Blocks"] + each["Plan"]["Shared Read Blocks"] for each in plans)
    return pages, sum(each["Execution Time"] for each in plans)


def _whole_reads(plans: list[dict[str, Any]]) -> list[str]:
    return [
        f"{node['Node Type']} of {node['Relation Name']}"
        for each in plans
        for node in _nodes(each["Plan"])
        if node["Node Type"] == "Seq Scan" and node.get("Relation Name") in LARGE
    ]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)
