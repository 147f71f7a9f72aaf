"""Whether a full house is slower: the same work with ten thousand and with a million instances in the tables."""

from collections.abc import Iterator

import psycopg
from django.core.management import call_command
from django.db import connection

from benchmarks.furnished import House, furnish, give_birth, make_due
from benchmarks.measuring import Lap, interleave, lap
from benchmarks.report import Report, at_least
from benchmarks.w1 import one_case
from benchmarks.w3 import drain_all
from workflowplatform.ids import uuid7

AUDIT_ROWS, STEP_RUNS = 3, 2
CHUNK = 2_000
TABLES = {
    "wf_instances": ("id", ""),
    "wf_runtime_states": ("instance_id", ""),
    "wf_audit": ("subject_id", f"ORDER BY seq LIMIT {AUDIT_ROWS}"),
    "wf_step_runs": ("instance_id", f"ORDER BY run LIMIT {STEP_RUNS}"),
}
"""What is loaded, the column that names the instance, and how many of a finished case's rows are taken."""
MADE_BY_DATABASE = {"wf_audit": ("id", "xid")}


def run(short: bool) -> Report:
    """Measure W1 and a drain in both databases, in turn."""
    sizes = (1_000, 20_000) if short else (10_000, 1_000_000)
    cases, signals, rounds = (20, 200, 3) if short else (100, 1_000, 9)
    houses = {size: _house(size) for size in sizes}
    small, large = sizes
    found = interleave(
        {
            f"{what}, {size:,} instances": lambda size=size, work=work: _visit(size, houses[size], work)
            for what, work in (
                ("W1", lambda house: _cases(house, cases)),
                ("drain", lambda house: _drain(house, signals)),
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
    notes = (f"Loaded by COPY, {AUDIT_ROWS} audit rows and {STEP_RUNS} step runs an instance; {rounds} rounds.",)
    return Report("scale", "A full house", ("work", "units/s", "client ms"), rows, goals, notes)


def _name(size: int) -> str:
    return f"bench_{size}"


def _enter(size: int) -> None:
    """Work in another database from here on."""
    connection.close()
    connection.settings_dict["NAME"] = _name(size)


def _house(size: int) -> House:
    with _owner("postgres") as own:
        own.execute(f"CREATE DATABASE {_name(size)} OWNER workflow")
    _enter(size)
    call_command("migrate", verbosity=0)
    house = furnish()
    give_birth(house, "w3", 1)
    make_due()
    drain_all(50)
    _load(size)
    return house


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
    """Drop what no constraint stands on; return how to make each again."""
    found = own.execute(
        """
        SELECT x.indexrelid::regclass::text, pg_get_indexdef(x.indexrelid) FROM pg_index x
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


def _visit(size: int, house: House, work: object) -> Lap:
    _enter(size)
    for _ in range(8):
        one_case(house)
    assert callable(work)
    return work(house)


def _cases(house: House, cases: int) -> Lap:
    def work() -> int:
        for _ in range(cases):
            one_case(house)
        return cases

    return lap(work)


def _drain(house: House, signals: int) -> Lap:
    give_birth(house, "w3", signals)
    make_due()
    return lap(lambda: drain_all(50))
