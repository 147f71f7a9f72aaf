"""The first page of Available, with its capped count, among a million tasks: what it costs inside the database.

It is compared with the obvious way: the roles of a task in a JSON column, filtered, sorted and counted. That table has an index
on every foreign key and on the status, and fresh statistics. Times are the database's own, planning included, as EXPLAIN shows.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from statistics import median
from typing import Any

from django.core.management import call_command
from django.db import connection

from benchmarks.inbox_rows import PEOPLE_A_TENANT, TENANTS, Crowd, gather, load, owner, send_away
from benchmarks.measuring import percentile
from benchmarks.report import Report, at_least, at_most
from engine.services.tasks.lists import list_named
from tasks_inbox.presenters.lists import PAGE
from tasks_inbox.views.lists import UNSEEN
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Role

EMPTY = "bench_inbox"
AWAY_SHARE = 0.05
JSON_TABLE = """
CREATE TABLE json_tasks AS SELECT * FROM wf_tasks;
ALTER TABLE json_tasks ADD PRIMARY KEY (id);
CREATE INDEX ON json_tasks (tenant_id);
CREATE INDEX ON json_tasks (instance_id);
CREATE INDEX ON json_tasks (version_id);
CREATE INDEX ON json_tasks (assignee_id);
CREATE INDEX ON json_tasks (status);
GRANT SELECT ON json_tasks TO PUBLIC;
"""
JSON_FITS = "FROM json_tasks WHERE tenant_id = %s AND status = 'open' AND assignee_id IS NULL AND effective_roles ?| %s"
JSON_COUNT = f"SELECT count(*) {JSON_FITS}"
JSON_PAGE = f"SELECT * {JSON_FITS} ORDER BY priority DESC, due_at NULLS LAST, id LIMIT {PAGE}"

Statement = tuple[str, Sequence[Any]]


def run(short: bool) -> Report:
    """Measure both ways for the same people, one after the other, and the walk in a small database too."""
    sizes, people, rounds = ((2_000, 40_000), 20, 3) if short else ((10_000, 1_000_000), 100, 5)
    crowds = _furnish()
    chosen = Random(3).sample([person for crowd in crowds for person in crowd.people], people)  # noqa: S311
    small, large = (_fill(crowds, size) for size in sizes)
    in_small = _rounds(small, chosen, rounds, walked)
    with owner(large) as own:
        own.execute(JSON_TABLE)
        own.execute("VACUUM ANALYZE json_tasks")
        own.execute("CHECKPOINT")
    found = {name: _rounds(large, chosen, rounds, way) for name, way in (("walk", walked), ("json", by_json))}
    send_away(crowds, AWAY_SHARE)
    away = _rounds(large, chosen, rounds, walked)
    rows = tuple(
        (name, f"{median(times):.2f}", f"{percentile(times, 0.99):.2f}", f"{max(times):.2f}")
        for name, times in (
            (f"offers walked, {sizes[1]:,} tasks", found["walk"]),
            (f"the same with {AWAY_SHARE:.0%} of the people away, each with a deputy", away),
            (f"offers walked, {sizes[0]:,} tasks", in_small),
            (f"JSON roles and count(*), {sizes[1]:,} tasks", found["json"]),
        )
    )
    goals = (
        at_most("first page with capped count, p99", 5, percentile(found["walk"], 0.99), "ms"),
        at_least("how much faster than JSON roles with count(*)", 30, median(found["json"]) / median(found["walk"])),
        at_most(f"{sizes[1]:,} against {sizes[0]:,} tasks", 3, median(found["walk"]) / median(in_small), "×"),
        at_most(
            f"with {AWAY_SHARE:.0%} of the people away against nobody", 1.1, median(away) / median(found["walk"]), "×"
        ),
    )
    house = (
        f"{TENANTS} tenants, {TENANTS * PEOPLE_A_TENANT} people with two roles each, loaded by COPY, tenants in turn."
    )
    notes = (
        f"A fifth of the tasks is open, a fifth of those claimed; {house}",
        f"{rounds} rounds of {people} people after one to warm up, the two ways one after the other.",
    )
    return Report("inbox", "The first page of Available", ("way", "p50 ms", "p99 ms", "most ms"), rows, goals, notes)


def _furnish() -> list[Crowd]:
    """Create the people once, in a database of which the small and the large one are copies."""
    _create(EMPTY, "template0")
    _enter(EMPTY)
    call_command("migrate", verbosity=0)
    crowds = gather()
    connection.close()
    return crowds


def _fill(crowds: Sequence[Crowd], size: int) -> str:
    name = f"{EMPTY}_{size}"
    _create(name, EMPTY)
    _enter(name)
    load(crowds, size)
    return name


def _create(name: str, model: str) -> None:
    with owner("postgres") as own:
        own.execute(f"CREATE DATABASE {name} OWNER workflow TEMPLATE {model}")


def _enter(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


def _rounds(
    database: str, people: Sequence[Actor], rounds: int, way: Callable[[Actor], list[Statement]]
) -> list[float]:
    """Ask for everybody's page, round by round; the first round only warms up."""
    _enter(database)
    asked = [way(person) for person in people]
    times = [[sum(map(_milliseconds, statements)) for statements in asked] for _round in range(rounds + 1)]
    return [spent for one in times[1:] for spent in one]


def walked(person: Actor) -> list[Statement]:
    """Return the statements with which the product reads the page."""
    with _heard() as statements:
        list_named(person, "available").opening(PAGE, without=UNSEEN)
    return statements


def by_json(person: Actor) -> list[Statement]:
    """Return the two statements of the obvious way."""
    roles = list(Role.objects.filter(pk__in=person.roles).values_list("name", flat=True))
    return [(statement, (person.tenant_id, roles)) for statement in (JSON_COUNT, JSON_PAGE)]


@contextmanager
def _heard() -> Iterator[list[Statement]]:
    heard: list[Statement] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        heard.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        yield heard


def _milliseconds(statement: Statement) -> float:
    """Let the database tell how long it planned and worked."""
    sql, params = statement
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)
        told = cursor.fetchone()[0]
    plan = (json.loads(told) if isinstance(told, str) else told)[0]
    return float(plan["Planning Time"] + plan["Execution Time"])
