"""Grow the tables that the hot statements touch, by copies of one real row each: in SQL, past triggers and foreign keys."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection

from workflowplatform.servers.postgres import ROLE, SUPERUSER

INSTANCE = "md5('instance' || n)::uuid"
TASK = "md5('task' || n)::uuid"
OWN_ID = "gen_random_uuid()"
BEGAN = "extract(epoch FROM timestamp '2021-01-05' + mod(n, 36) * interval '1 month')"
OF_A_MONTH = f"(lpad(to_hex(({BEGAN} * 1000)::bigint + n), 12, '0') || '7000' || lpad(to_hex(n), 16, '8'))::uuid"
"""An id of one of 36 months that are over."""

GROWN: dict[str, dict[str, str]] = {
    "wf_people": {
        "id": "md5('person' || n)::uuid",
        "username": "'person-' || n",
        "email": "'p' || n || '@acme.example'",
    },
    "wf_roles": {"id": OWN_ID, "name": "'role-' || n"},
    "wf_memberships": {"id": OWN_ID, "user_id": "md5('person' || n)::uuid"},
    "wf_instances": {"id": INSTANCE, "reference": "'R-' || n"},
    "wf_runtime_states": {"instance_id": INSTANCE, "runtime_instance_id": INSTANCE},
    "wf_waits": {"instance_id": INSTANCE, "name": "'word'", "key": "'K-' || n"},
    "wf_tasks": {
        "id": TASK,
        "instance_id": INSTANCE,
        "status": "CASE WHEN mod(n, 5) = 0 THEN 'open' ELSE 'completed' END",
    },
    "wf_task_candidates": {"task_id": TASK},
    "wf_task_drafts": {"id": OWN_ID, "task_id": TASK},
    "wf_signals": {"id": OWN_ID, "instance_id": INSTANCE, "due_at": "now() + n * interval '1 hour'"},
    "wf_effects": {"instance_id": INSTANCE},
    "wf_places": {"instance_id": INSTANCE, "key": "'door-' || n"},
    "wf_signal_receipts": {"id": OWN_ID, "instance_id": INSTANCE},
    "wf_kept_signals": {"id": OWN_ID, "key": "'K-' || n"},
    "wf_audit": {"subject_kind": "'instance'", "subject_id": OF_A_MONTH},
    "wf_task_events": {"id": OWN_ID, "task_id": OF_A_MONTH},
    "wf_task_comments": {"id": OWN_ID, "task_id": TASK, "instance_id": INSTANCE},
}
"""The tables, and what tells a copy from its model: an expression over `n` for each column that does."""
AT_ONCE = 20_000
"""Rows in one transaction: a long one would hold up those that follow the audit in the other databases of this server."""


@contextmanager
def owner() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Connect as the owner, whatever role the test has."""
    with psycopg.connect(**{**connection.get_connection_params(), "user": ROLE}, autocommit=True) as own:
        yield own


def grow(rows: int) -> None:
    """Add so many rows to each table; each must have one."""
    with owner() as own:
        own.execute("SET session_replication_role = replica")
        for table, changes in GROWN.items():
            copies = _copies(own, table, changes)
            for first in range(0, rows, AT_ONCE):
                own.execute(copies, [first + 1, min(first + AT_ONCE, rows)])


def _copies(own: psycopg.Connection[tuple[object, ...]], table: str, changes: dict[str, str]) -> str:
    found = own.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
        "AND attidentity = '' AND attgenerated = ''",
        [table],
    )
    columns = [str(name) for (name,) in found]
    assert changes.keys() <= set(columns), changes.keys() - set(columns)
    values = ", ".join(changes.get(name, f'model."{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {values} "
        f"FROM (SELECT * FROM {table} LIMIT 1) model, generate_series(%s, %s) n"
    )


LEAVES = """
SELECT coalesce(pg_partition_root(oid), oid)::regclass::text, oid::regclass::text FROM pg_class
WHERE relkind = 'r' AND coalesce(pg_partition_root(oid), oid) = ANY (%s::regclass[])
"""


def _leaves() -> list[tuple[str, str]]:
    """Return the tables with their partitions: a table without any is its own."""
    with owner() as own:
        return own.execute(LEAVES, [list(GROWN)]).fetchall()  # type: ignore[return-value]


@contextmanager
def past_months(number: int) -> Iterator[None]:
    """Have partitions of so many months that are over."""
    with owner() as own:
        for month in range(number):
            for root, parent, key in (
                ("wf_audit", "wf_audit_cases", "subject_id"),
                ("wf_task_events", "wf_task_events", "task_id"),
            ):
                began = f"{2021 + month // 12}-{month % 12 + 1}-01"
                own.execute("SELECT wf_make_month(%s, %s, %s, %s)", [root, parent, key, began])
        yield
        while own.execute("SELECT wf_drop_month()").fetchone() != (None,):
            pass


def analyze() -> None:
    """Let the planner know the tables as they are."""
    with owner() as own:
        for table in GROWN:
            own.execute(f"ANALYZE {table}")


def forget_statistics() -> None:
    """Let the planner know nothing but the size of the files."""
    known = connection.get_connection_params()
    with psycopg.connect(host=known["host"], dbname=known["dbname"], user=SUPERUSER, autocommit=True) as superuser:
        tables = [*GROWN, *(leaf for _, leaf in _leaves())]
        superuser.execute("DELETE FROM pg_statistic WHERE starelid = ANY (%s::regclass[])", [tables])
        superuser.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = ANY (%s::regclass[])", [tables])


def rest() -> None:
    """Bring the tables into one state, whatever tests ran before, and keep autovacuum from them.

    It would tell the planner what a test wants it not to know; and how much free space a small table has changes its plans.
    """
    with owner() as own:
        for _, table in _leaves():
            own.execute(f"VACUUM FULL {table}")
            own.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")


def empty() -> None:
    """Give the disk back: deleted rows would stay in the files, whose size the planner reads."""
    with owner() as own:
        own.execute("SET session_replication_role = replica")
        own.execute(f"TRUNCATE {', '.join(GROWN)} CASCADE")
