"""Watch how PostgreSQL plans the hot statements, where and when they are sent.

Each statement is explained in the transaction and with the settings in which it runs: once with its values, as one of the first
executions of a prepared statement is planned, and once as the plan that the connection keeps for it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from django.db import connection

from workflowplatform.database import hot
from workflowplatform.database.hot import Hot, Rows, Values

WALKED = {"wf_tenants"}
"""Tables that a statement may read whole: a claim takes its turns by tenant."""
SCANS = {"Seq Scan", "Sample Scan"}
INDEX_SCANS = {"Index Scan", "Index Only Scan", "Bitmap Index Scan"}


@dataclass(slots=True)
class Watched:
    """The plans of what was sent."""

    plans: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """The statement, "values" or "kept", and the plan."""

    def statements(self) -> set[str]:
        return {statement for statement, _, _ in self.plans}

    def whole_reads(self, *, kept_only: bool = False) -> list[str]:
        """Return which plans read a table from end to end: by a scan, or through an index without a condition.

        In a table of a few rows that costs no more than a lookup, so a plan for one execution may do it; a kept one may not.
        """
        found = {
            f"{node['Node Type']} of {_table(node)} ({how}) in {' '.join(statement.split())[:90]}"
            for statement, how, plan in self.plans
            if how == "kept" or not kept_only
            for node in _nodes(plan)
            if _is_whole(node)
        }
        return sorted(found)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)


def _table(node: dict[str, Any]) -> str:
    return str(node.get("Relation Name") or node.get("Index Name"))


def _is_whole(node: dict[str, Any]) -> bool:
    if _table(node) in WALKED:
        return False
    return node["Node Type"] in SCANS or (node["Node Type"] in INDEX_SCANS and "Index Cond" not in node)


@contextmanager
def watched() -> Iterator[Watched]:
    """Explain every hot statement within the block; the connection keeps one plan for each, whatever its values are."""
    found = Watched()
    run, run_together, send = Hot.run, Hot.run_together, Hot.send

    def explain(way: Hot, statement: str, values: Values) -> None:
        ((plan,),) = run(way, f"EXPLAIN (FORMAT JSON) {statement}", values, prepare=False)
        found.plans.append((statement, "values", _read(plan)))

    def explain_kept(way: Hot, statement: str) -> None:
        text = hot._numbered(statement)[0]
        for plan in [plan for (sql, _), plan in way._plans.items() if sql == text and plan.is_prepared]:
            given = f"({', '.join(['NULL'] * len(plan.types))})" if plan.types else ""
            ((kept,),) = run(way, f"EXPLAIN (FORMAT JSON) EXECUTE {plan.name.decode()}{given}", (), prepare=False)
            found.plans.append((statement, "kept", _read(kept)))

    def watch_run(self: Hot, statement: str, values: Values, *, prepare: bool) -> Rows:
        explain(self, statement, values)
        rows = run(self, statement, values, prepare=prepare)
        explain_kept(self, statement)
        return rows

    def watch_together(self: Hot, asked: Any, *, prepare: bool) -> list[Rows]:
        for statement, values in asked:
            explain(self, statement, values)
        rows = run_together(self, asked, prepare=prepare)
        for statement, _ in asked:
            explain_kept(self, statement)
        return rows

    def watch_send(self: Hot, statement: str, values: Values, *, prepare: bool) -> None:
        explain(self, statement, values)
        send(self, statement, values, prepare=prepare)
        explain_kept(self, statement)

    with (
        patch.multiple(Hot, run=watch_run, run_together=watch_together, send=watch_send),
        patch.object(hot, "MOST_PLANS", 2_000),
    ):
        yield found


def _read(plan: Any) -> dict[str, Any]:
    content = json.loads(plan) if isinstance(plan, str) else plan
    found: dict[str, Any] = content[0]["Plan"]
    return found


def keep_plans() -> None:
    """Let the connection plan each prepared statement once, as one does that has run it a few times."""
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_generic_plan")
