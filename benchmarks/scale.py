"""Whether full tables make it slower: the same work with ten thousand and with a million instances in the tables."""

from collections.abc import Iterator

import psycopg
from django.core.management import call_command
from django.db import connection

from benchmarks.bench_tenant import BenchTenant, make_due, set_up_tenant, start_instances
from benchmarks.measuring import Lap, interleave, lap
from benchmarks.report import Report, at_least
from benchmarks.w1 import one_case
from benchmarks.w3 import drain_all
from workflowplatform.ids import uuid7

AUDIT_ROWS = 3
CHUNK = 2_000
TABLES = {
    "wf_instances": ("id", ""),
    "wf_runtime_states": ("instance_id", ""),
    "wf_audit": ("subject_id", f"ORDER BY seq LIMIT {AUDIT_ROWS}"),
}
"""What is loaded, the column that names the instance, and how many of a finished case's rows are taken."""
MADE_BY_DATABASE = {"wf_audit": ("id", "xid")}


def run(short: bool) -> Report:
    """Measure W1 and a drain in both databases, in turn."""
    sizes = (1_000, 20_000) if short else (10_000, 1_000_000)
    cases, signals, rounds = (20, 200, 3) if short else (100, 1_000, 9)
    houses = {size: _bench_tenant(size) for size in sizes}
    small, large = sizes
    found = interleave(
        {
            f"{what}, {size:,} instances": lambda size=size, work=work: _visit(size, houses[size], work)
            for what, work in (
                ("W1", lambda bench: _cases(bench, cases)),
                ("drain", lambda bench: _drain(bench, signals)),
            )
            for size in sizes
        },
        rounds,
    )
    rows = tuple((name, f"{result.rate:,.0f}", f"{result.cpu:.2f}") for name, result in found.items())
    goals = tuple(
        at_least(
            f"{what} with {large:,} instances: share of {small:,}",
            75,
            100 * found[f"{what}, {large:,} instances"].against(found[f"{what}, {small:,} instances"]),
            "%",
        )
        for what in ("W1", "drain")
    )
    notes = (f"Loaded by COPY, {AUDIT_ROWS} audit rows per instance; {rounds} rounds.",)
    return Report("scale", "Full tables", ("work", "units/s", "client ms"), rows, goals, notes)


def _name(size: int) -> str:
    return f"bench_{size}"


def _enter(size: int) -> None:
    """Work in another database from here on."""
    connection.close()
    connection.settings_dict["NAME"] = _name(size)


def _bench_tenant(size: int) -> BenchTenant:
    with _owner("postgres") as own:
        own.execute(f"CREATE DATABASE {_name(size)} OWNER workflow")
    _enter(size)
    call_command("migrate", verbosity=0)
    bench = set_up_tenant()
    start_instances(bench, "w3", 1)
    make_due()
    drain_all(50)
    _load(size)
    return bench


def _owner(database: str) -> psycopg.Connection[tuple[object, ...]]:
    """Connect as the server's owner, who may leave triggers aside while loading."""
    host = connection.settings_dict["HOST"]
    return psycopg.connect(host=host, user="postgres", dbname=database, autocommit=True)


def _load(size: int) -> None:
    """Copy a finished case so many times. Indexes are made afterwards: filling them row by row takes most of the time."""
    with _owner(_name(size)) as own:
        own.execute("SET session_replication_role = replica")
        own.execute("SET synchronous_commit = off")
        own.execute("SET maintenance_work_mem = '512MB'")
        model = str(own.execute("SELECT id FROM wf_instances").fetchone()[0])  # type: ignore[index]
        ids = [str(uuid7()) for _ in range(size)]
        for table, (column, some) in TABLES.items():
            indexes = _drop_indexes(own, table)
            _copy(own, table, column, some, model, ids)
            for definition in indexes:
                own.execute(definition)
        own.execute("SET session_replication_role = DEFAULT")
        own.execute("VACUUM ANALYZE")
        own.execute("CHECKPOINT")


def _drop_indexes(own: psycopg.Connection[tuple[object, ...]], table: str) -> list[str]:
    """Drop the indexes that no constraint needs; return their definitions."""
    found = own.execute(
        """
        SELECT x.indexrelid::regclass::text, replace(pg_get_indexdef(x.indexrelid), ' ON ONLY ', ' ON ') FROM pg_index x
        WHERE x.indrelid = %s::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.indexrelid)
        """,
        [table],
    ).fetchall()
    for name, _ in found:
        own.execute(f"DROP INDEX {name}")
    return [str(definition) for _, definition in found]


def _copy(
    own: psycopg.Connection[tuple[object, ...]], table: str, column: str, some: str, model: str, ids: list[str]
) -> None:
    skipped = MADE_BY_DATABASE.get(table, ())
    found = own.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped", [table]
    )
    columns = ", ".join(f'"{name}"' for (name,) in found if name not in skipped)
    with own.cursor() as cursor:
        with cursor.copy(f"COPY (SELECT {columns} FROM {table} WHERE {column} = '{model}' {some}) TO STDOUT") as out:
            rows = b"".join(bytes(piece) for piece in out).decode()
        with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as into:
            for text in _copies(rows, model, ids):
                into.write(text)


def _copies(rows: str, model: str, ids: list[str]) -> Iterator[str]:
    for first in range(0, len(ids), CHUNK):
        yield "".join(rows.replace(model, one) for one in ids[first : first + CHUNK])


def _visit(size: int, bench: BenchTenant, work: object) -> Lap:
    _enter(size)
    for _ in range(8):
        one_case(bench)
    assert callable(work)
    return work(bench)


def _cases(bench: BenchTenant, cases: int) -> Lap:
    def work() -> int:
        for _ in range(cases):
            one_case(bench)
        return cases

    return lap(work)


def _drain(bench: BenchTenant, signals: int) -> Lap:
    start_instances(bench, "w3", signals)
    make_due()
    return lap(lambda: drain_all(50))
