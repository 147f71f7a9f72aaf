"""Write a batch of slices in one statement.

This is the hot path, and the only place of its kind: the ORM is 6–8 times slower here. A batch holds rows by *part*; every part
is one common table expression fed by one JSON document, so that fifty slices cost one round trip. A slice writes rows of its own
instance only. The statement's one question is whether each runtime row still had the version that the slice was computed from;
if not, the database refuses all of it.

A part that changes rows has two forms. PostgreSQL expects 100 rows of a JSON array, whatever is in it, and would rather read
whole tables than look 100 rows up. So the one row of a person's act comes as an object, of which it expects one, and several come
with their keys as arrays besides, for an index (docs/decisions/0045-plans-that-never-scan.md). A part that inserts rows looks up
what it needs for each in a query of its own.

Two rules keep the statement honest. A row is touched by at most one part: of two changes PostgreSQL would silently drop one.
And references between parts go by what the earlier part returns, never by reading the table again: all parts see the tables as
they were before.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Any, cast
from uuid import UUID

from django.db import connection
from msgspec import Raw

from engine.conf import conf
from engine.db.transactions import wake_streams_on_commit
from engine.kernel.json_text import write_json
from engine.runtime.taken_calls import TakenCalls
from workflowplatform.database.base import DatabaseWrapper, Way
from workflowplatform.database.hot import Rows, Values

Row = dict[str, Any]

INSTANCE = (
    "status text, result text, outcome text, reference text, reference_parts jsonb, state jsonb, output jsonb, error jsonb, "
    "ended_at timestamptz, updated_at timestamptz, audit_seq bigint, audit_hash text"
)
RUNTIME = (
    "snapshot_schema_version smallint, snapshot jsonb, runtime_status text, business_reference text, waiting_kind text, "
    "waiting_token bigint, waiting_until timestamptz, active_task_id uuid, resume_pointer jsonb, last_signal_id uuid, "
    "last_error_code text, last_error_json jsonb, last_executed_by text, last_executed_on timestamptz, updated_at timestamptz, "
    "completed_at timestamptz"
)
RECEIPT = (
    "id uuid, tenant_id uuid, instance_id uuid, type text, waiting_token bigint, disposition text, at timestamptz, "
    "content text"
)
EVENT = (
    "id uuid, tenant_id uuid, instance_id uuid, kind text, at timestamptz, actor_id uuid, actor_name text, "
    "actor_level smallint, cause text, old jsonb, new jsonb"
)
TASK = (
    "id uuid, tenant_id uuid, instance_id uuid, version_id uuid, token bigint, step text, path text, iteration text, "
    "status text, name text, type text, route text, title text, description text, instructions text, payload json, "
    "form json, outcomes json, columns json, comment_rule text, effective_roles jsonb, users jsonb, min_level smallint, "
    "excluded jsonb, familiar jsonb, extra jsonb, owner text, business_reference text, priority smallint, due_at timestamptz, "
    "follow_up_at timestamptz, sla_at timestamptz, created_at timestamptz, completed_by_name text, comment text"
)

PARTS: dict[str, str] = {
    "new_instances": "id uuid, title text, tenant_id uuid, template_id uuid, version_id uuid, parent_id uuid, "
    "parent_token bigint, depth smallint, root_id uuid, hops integer, input jsonb, "
    "started_by_id uuid, started_by_name text, started_at timestamptz, " + INSTANCE,
    "instances": "id uuid, title text, " + INSTANCE,
    "new_runtimes": "instance_id uuid, tenant_id uuid, state_version bigint, runtime_provider text, "
    "runtime_instance_id uuid, created_at timestamptz, " + RUNTIME,
    "runtimes": "instance_id uuid, expected_version bigint, task_token bigint, " + RUNTIME,
    "closed_waits": "instance_id uuid, token bigint",
    "new_waits": "instance_id uuid, token bigint, tenant_id uuid, kind text, step text, path text, iteration text, "
    "run bigint, due_at timestamptz, name text, key text, side boolean, opened_at timestamptz",
    "left_places": "instance_id uuid, run bigint",
    "new_places": "instance_id uuid, run bigint, tenant_id uuid, key text, most int, asked_at timestamptz",
    "chains": "id uuid, audit_seq bigint, audit_hash text",
    "claimed_tasks": "id uuid, assignee_id uuid, claimed_at timestamptz",
    "answered_tasks": "instance_id uuid, token bigint, names jsonb",
    "answering_events": "token bigint, " + EVENT,
    "closed_tasks": "instance_id uuid, token bigint, status text, outcome text, answer jsonb, comment text, "
    "completed_at timestamptz, completed_by_id uuid, completed_by_name text, completed_for_name text, assignee_id uuid, "
    "claimed_at timestamptz",
    "closing_events": "token bigint, " + EVENT,
    "new_tasks": TASK + ", assignee_name text",
    "new_candidates": "tenant_id uuid, task_id uuid, role text, person text, everybody boolean, rank smallint, "
    "due_at timestamptz",
    "new_events": "task_id uuid, " + EVENT,
    "signals_out": "id uuid",
    "signals_held": "instance_id uuid, except_ids uuid[], except_tokens bigint[]",
    "signals_freed": "instance_id uuid, except_ids uuid[], except_tokens bigint[]",
    "new_signals": "id uuid, tenant_id uuid, instance_id uuid, runtime_provider text, type text, expected_version bigint, "
    "waiting_token bigint, occurred_at timestamptz, due_at timestamptz, held_due_at timestamptz, payload jsonb, "
    "attempts smallint",
    "receipts": RECEIPT,
    "own_receipts": RECEIPT,
    "new_effects": "instance_id uuid, token bigint, tenant_id uuid, path text, transport text, request jsonb, key text, "
    "secrets jsonb, "
    "attempt smallint, timeout_seconds float8, status text, made smallint, intended_at timestamptz",
    "ended_effects": "instance_id uuid, token bigint, status text, result jsonb, ended_at timestamptz",
    "audit": "tenant_id uuid, subject_kind text, subject_id uuid, seq bigint, at timestamptz, actor_id uuid, "
    "actor_name text, actor_level smallint, acts json, told json, hash text",
}
"""What each part's rows look like: the columns of its JSON records."""

PLAIN_INSERTS = {
    "new_instances": "wf_instances",
    "new_runtimes": "wf_runtime_states",
    "new_waits": "wf_waits",
    "new_places": "wf_places",
    "new_events": "wf_task_events",
    "new_signals": "wf_signals",
    "new_effects": "wf_effects",
    "own_receipts": "wf_signal_receipts",
    "audit": "wf_audit",
}

KEYS: dict[str, dict[str, str]] = {
    "instances": {"id": "t.id"},
    "runtimes": {"instance_id": "t.instance_id"},
    "closed_waits": {"instance_id": "t.instance_id", "token": "t.token"},
    "left_places": {"instance_id": "t.instance_id", "run": "t.run"},
    "chains": {"id": "t.id"},
    "claimed_tasks": {"id": "t.id"},
    "answered_tasks": {"instance_id": "t.instance_id", "token": "t.token"},
    "closed_tasks": {"instance_id": "t.instance_id", "token": "t.token"},
    "signals_out": {"id": "t.id"},
    "signals_held": {"instance_id": "t.instance_id"},
    "signals_freed": {"instance_id": "t.instance_id"},
    "ended_effects": {"instance_id": "t.instance_id", "token": "t.token"},
}
"""By which columns a part finds the rows that it changes, and what those are called there."""

WANTED = "wanted"
ALL_MOVED = f"SELECT wf_require_moved(%({WANTED})s::bigint, (SELECT count(*) FROM runtimes))"
"""The statement's one question, which the database answers by refusing the whole."""

SILENCED = "('TimerDue', 'RetryDue', 'CallDue')"
"""What nobody waits for any more goes with its wait; whatever else came for it is still told that it is stale."""
ACTIVE_TASK = (
    "CASE WHEN s.task_token IS NOT NULL THEN coalesce(s.active_task_id, (SELECT k.id FROM wf_tasks k WHERE "
    "k.instance_id = s.instance_id AND k.token = s.task_token AND k.status IN ('open', 'claimed', 'suspended'))) END"
)
"""The open task that is due next: opened by this very slice, or found by its token."""
HELD_UNTIL = "'9999-01-01 00:00:00+00'::timestamptz"


@dataclass(slots=True)
class Batch:
    """Rows to write, by part. Empty when made; projection fills it, `write` empties it into the database."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {part: [] for part in PARTS})
    began_at: float = field(default_factory=perf_counter)
    references: dict[tuple[UUID, str], UUID] = field(default_factory=dict)
    """Unique references of a template that new instances of this batch hold."""
    versions: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Versions looked up for new instances of this batch: a long list usually starts the same one."""
    taking: TakenCalls | None = None
    """In a worker's batch: takes on the calls that its slices ask for."""

    def add(self, part: str, row: Row) -> None:
        self.rows[part].append(row)

    def extend(self, part: str, rows: Iterable[Row]) -> None:
        self.rows[part].extend(rows)

    def add_audit(self, rows: Iterable[Row]) -> None:
        """Add rows of the audit; their JSON is sent exactly as it was hashed."""
        self.extend("audit", (row | {name: Raw(row[name]) for name in ("acts", "told") if row[name]} for row in rows))


def write(batch: Batch) -> None:
    """Write the batch inside the caller's transaction; the server begins at once and is not waited for.

    What it says against the rows comes up with the next statement or the commit; a version that has moved on as a serialization
    failure, after which the act is done again.
    """
    filled = {part: rows for part, rows in batch.rows.items() if rows}
    single = _single(filled)
    values = {part: write_json(rows[0] if part in single else rows) for part, rows in filled.items()}
    for part in KEYS.keys() & filled.keys() - single:
        values |= {
            f"{part}_{key}": _array(row.get(key) for row in filled[part]) for key in KEYS[part] if key != "token"
        }
    if "runtimes" in filled:
        values[WANTED] = str(len(filled["runtimes"]))
    send_hot(statement_of(tuple(filled), single), values)
    wake_streams_on_commit()


def _single(filled: dict[str, list[Row]]) -> frozenset[str]:
    """Return the parts to write in their form for one row: none in a batch of several slices, or shapes would multiply."""
    if len(filled.get("runtimes", ())) + len(filled.get("new_runtimes", ())) > 1:
        return frozenset()
    return frozenset(part for part, rows in filled.items() if part in KEYS and len(rows) == 1)


def _array(values: Iterable[Any]) -> str:
    """Write an array as PostgreSQL reads it, each value once."""
    texts = dict.fromkeys(str(value) for value in values if value is not None)
    return "{" + ",".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts) + "}"


def run_hot(statement: str, values: Values) -> Rows:
    """Run a hot statement inside Django's transaction and return its rows. It is planned once per connection."""
    return _database().run_hot(statement, values, way=_way())


def send_hot(statement: str, values: Values) -> None:
    """Send a hot statement that answers nothing; it is not waited for, and travels with the commit if nothing else is asked."""
    _database().send_hot(statement, values, way=_way())


def run_hot_together(*asked: tuple[str, Values]) -> list[Rows]:
    """Run hot statements that do not need each other's rows on one journey."""
    return _database().run_hot_together(asked, way=_way())


def _database() -> DatabaseWrapper:
    return cast(DatabaseWrapper, connection)


def _way() -> Way:
    return "plain" if not conf.hot_path else "prepared" if conf.prepare else "unprepared"


@cache
def statement_of(parts: tuple[str, ...], single: frozenset[str]) -> str:
    """Compose the statement for the parts that have rows: the same few shapes recur, and each is prepared once."""
    expressions = [f"{part} AS ({_part(part, part in single)})" for part in parts]
    expressions += [f"{name} AS ({text})" for name, (needed, text) in FOLLOWERS.items() if needed in parts]
    return f"WITH {', '.join(expressions)} {ALL_MOVED if 'runtimes' in parts else 'SELECT NULL WHERE false'}"


def _part(part: str, is_single: bool) -> str:
    if part in PLAIN_INSERTS:
        columns = _listed(PARTS[part])
        return f"INSERT INTO {PLAIN_INSERTS[part]} ({columns}) SELECT {columns} FROM {_records(part)}"
    matched = {key: _matched(part, key, column, is_single) for key, column in KEYS.get(part, {}).items()}
    return SPECIAL[part].format(records=_records(part, is_single), **matched)


def _matched(part: str, key: str, column: str, is_single: bool) -> str:
    """Compare a key of the rows with a table's column, in a way that the planner can look up.

    Several rows come with an array of the key besides; of a token not, or the planner expects every instance with every token.
    One row by token is compared with its value besides: few rows fit, and a small table would be read whole to find them.
    """
    kind, joined = dict(column.split() for column in PARTS[part].split(", "))[key], f"{column} = s.{key}"
    if is_single:
        return f"{joined} AND {column} = (%({part})s::json ->> '{key}')::{kind}" if "token" in KEYS[part] else joined
    return joined if key == "token" else f"{joined} AND {column} = ANY (%({part}_{key})s::{kind}[])"


def _names(signature: str) -> list[str]:
    return [column.split()[0] for column in signature.split(", ")]


def _listed(signature: str, alias: str = "") -> str:
    return ", ".join(f'{alias}"{name}"' for name in _names(signature))


def _assigned(signature: str) -> str:
    return ", ".join(f'"{name}" = s."{name}"' for name in _names(signature))


def _records(part: str, is_single: bool = False) -> str:
    typed = ", ".join('"{}" {}'.format(*column.split()) for column in PARTS[part].split(", "))
    return f"{'json_to_record' if is_single else 'json_to_recordset'}(%({part})s::json) AS s({typed})"


def _person(name: str) -> str:
    """Find a person by name within the row's tenant, compared so that no kept plan reads by the tenant alone."""
    return (
        f"(SELECT p.id FROM wf_people p WHERE p.username = s.{name} AND p.tenant_id IS NOT DISTINCT FROM s.tenant_id)"
    )


SPECIAL: dict[str, str] = {
    "instances": f"UPDATE wf_instances t SET title = coalesce(s.title, t.title), {_assigned(INSTANCE)} "
    "FROM {records} WHERE {id}",
    "runtimes": "UPDATE wf_runtime_states t SET state_version = t.state_version + 1, "
    + _assigned(RUNTIME).replace('s."active_task_id"', ACTIVE_TASK)
    + " FROM {records} "
    "WHERE {instance_id} AND t.state_version = s.expected_version RETURNING t.instance_id",
    "closed_waits": "DELETE FROM wf_waits t USING {records} WHERE {instance_id} AND {token} "
    "RETURNING t.instance_id, t.token",
    "left_places": "DELETE FROM wf_places t USING {records} WHERE {instance_id} AND {run}",
    "closed_tasks": "UPDATE wf_tasks t SET status = s.status, outcome = s.outcome, answer = s.answer, "
    "comment = coalesce(s.comment, ''), completed_at = s.completed_at, completed_by_id = s.completed_by_id, "
    "completed_by_name = s.completed_by_name, completed_for_name = coalesce(s.completed_for_name, ''), "
    "assignee_id = coalesce(s.assignee_id, t.assignee_id), "
    "due_at = coalesce(t.due_at, t.clock_due_at), "
    "claimed_at = coalesce(t.claimed_at, s.claimed_at), answered_by = CASE WHEN t.extra ? 'several' AND s.outcome IS NOT NULL "
    "THEN t.answered_by || to_jsonb(s.completed_by_name) ELSE t.answered_by END FROM {records} "
    "WHERE {instance_id} AND {token} AND t.status IN ('open', 'claimed', 'suspended') "
    "RETURNING t.id, t.instance_id, t.token, t.status, t.completed_by_id",
    "chains": "UPDATE wf_instances t SET audit_seq = s.audit_seq, audit_hash = s.audit_hash FROM {records} WHERE {id}",
    "claimed_tasks": "UPDATE wf_tasks t SET status = 'claimed', assignee_id = s.assignee_id, claimed_at = s.claimed_at, "
    "follow_up_at = CASE WHEN t.follow_up_at <= s.claimed_at THEN t.follow_up_at END FROM {records} WHERE {id}",
    "answered_tasks": "UPDATE wf_tasks t SET answered_by = t.answered_by || s.names FROM {records} "
    "WHERE {instance_id} AND {token} AND t.status IN ('open', 'claimed', 'suspended') "
    "RETURNING t.id, t.instance_id, t.token",
    "answering_events": f"INSERT INTO wf_task_events (task_id, {_listed(EVENT)}) SELECT c.id, {_listed(EVENT, 's.')} "
    "FROM {records} JOIN answered_tasks c ON c.instance_id = s.instance_id AND c.token = s.token",
    "closing_events": f"INSERT INTO wf_task_events (task_id, {_listed(EVENT)}) SELECT c.id, {_listed(EVENT, 's.')} "
    "FROM {records} JOIN closed_tasks c ON c.instance_id = s.instance_id AND c.token = s.token",
    "new_tasks": f"INSERT INTO wf_tasks ({_listed(TASK)}, assignee_id) SELECT {_listed(TASK, 's.')}, "
    + _person("assignee_name")
    + " FROM {records}",
    "new_candidates": "INSERT INTO wf_task_candidates (tenant_id, task_id, principal, rank, due_at) "
    "SELECT DISTINCT c.tenant_id, c.task_id, c.principal, c.rank, c.due_at FROM (SELECT s.*, coalesce("
    "(SELECT r.id FROM wf_roles r WHERE r.tenant_id = s.tenant_id AND r.name = s.role), "
    + _person("person")
    + ", CASE WHEN s.everybody THEN s.tenant_id END) AS principal FROM {records} OFFSET 0) c WHERE c.principal IS NOT NULL",
    "signals_out": "DELETE FROM wf_signals t USING {records} WHERE {id}",
    "signals_held": f"UPDATE wf_signals t SET held_due_at = t.due_at, due_at = {HELD_UNTIL} FROM {{records}} "
    "WHERE {instance_id} AND t.held_due_at IS NULL AND t.type <> 'ParentEnded' AND t.id <> ALL (s.except_ids) "
    "AND coalesce(t.waiting_token, 0) <> ALL (s.except_tokens)",
    "signals_freed": "UPDATE wf_signals t SET due_at = t.held_due_at, held_due_at = NULL FROM {records} "
    "WHERE {instance_id} AND t.held_due_at IS NOT NULL AND t.id <> ALL (s.except_ids) "
    f"AND NOT (t.type IN {SILENCED} AND coalesce(t.waiting_token, 0) = ANY (s.except_tokens))",
    "receipts": f"INSERT INTO wf_signal_receipts ({_listed(PARTS['receipts'])}) SELECT {_listed(PARTS['receipts'])} "
    "FROM {records} ON CONFLICT (id) DO NOTHING",
    "ended_effects": "UPDATE wf_effects t SET status = s.status, result = s.result, ended_at = s.ended_at FROM {records} "
    "WHERE {instance_id} AND {token}",
}

FOLLOWERS: dict[str, tuple[str, str]] = {
    "withdrawn": (
        "closed_tasks",
        "DELETE FROM wf_task_candidates t WHERE t.task_id = ANY (ARRAY(SELECT id FROM closed_tasks))",
    ),
    "sent_drafts": (
        "closed_tasks",
        (
            "DELETE FROM wf_task_drafts t USING closed_tasks c WHERE t.task_id = ANY (ARRAY(SELECT id FROM closed_tasks)) "
            "AND t.task_id = c.id AND c.status = 'completed' "
            "AND (t.owner_id IS NULL OR t.owner_id = c.completed_by_id)"
        ),
    ),
    "silenced": (
        "closed_waits",
        (
            "DELETE FROM wf_signals t USING closed_waits c "
            "WHERE t.instance_id = ANY (ARRAY(SELECT instance_id FROM closed_waits)) AND t.instance_id = c.instance_id "
            f"AND t.waiting_token = c.token AND t.type IN {SILENCED}"
        ),
    ),
}
"""What follows from a part: offers of closed tasks go, drafts of answered ones, and timers whose wait is gone. A signal
that is applied in this very statement is deleted twice, which is harmless. They too are looked up by an array: how many
rows a part returns is not known when the statement is planned."""
