"""How much disk a finished case keeps: W1, an approval of eight steps, with everything that tables and indexes hold of it."""

import psycopg
from django.db import connection

from benchmarks.bench_tenant import set_up_tenant
from benchmarks.report import Report, at_most
from benchmarks.w1 import one_case

SIZES = """
SELECT whole.relname, sum(pg_table_size(c.oid)), sum(pg_indexes_size(c.oid))
FROM pg_class c JOIN pg_class whole ON whole.oid = coalesce(pg_partition_root(c.oid), c.oid)
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace GROUP BY 1
"""
"""The bytes of every table and its indexes; partitions count for their table."""
KILO = 1024
SHOWN = 0.02


def run(short: bool) -> Report:
    """Play cases in rounds, with a VACUUM after each as autovacuum would, and divide what the database has grown by."""
    bench = set_up_tenant()
    cases, rounds = (300, 3) if short else (5_000, 10)
    one_case(bench)
    before = _sizes()
    for _ in range(rounds):
        for _ in range(cases // rounds):
            one_case(bench)
        after = _sizes()
    grown = {name: tuple((after[name][side] - before[name][side]) / cases / KILO for side in (0, 1)) for name in after}
    total = sum(map(sum, grown.values()))
    rows = [
        (name, f"{table:.2f}", f"{indexes:.2f}")
        for name, (table, indexes) in sorted(grown.items(), key=lambda one: -sum(one[1]))
        if table + indexes > SHOWN
    ]
    rows.append(("all", *(f"{sum(one[side] for one in grown.values()):.2f}" for side in (0, 1))))
    goals = (at_most("database bytes per finished 8-step instance", 6, total, "KB"),)
    notes = (
        f"{cases:,} cases of W1 that have ended, in {rounds} rounds with a VACUUM after each; nothing was deleted by retention.",
    )
    return Report(
        "growth", "What a finished case keeps", ("table", "rows, KB", "indexes, KB"), tuple(rows), goals, notes
    )


def _sizes() -> dict[str, tuple[int, int]]:
    """Ask as the server's owner, who may vacuum every table."""
    known = connection.settings_dict
    with psycopg.connect(host=known["HOST"], user="postgres", dbname=known["NAME"], autocommit=True) as own:
        own.execute("VACUUM")
        return {str(name): (int(table), int(indexes)) for name, table, indexes in own.execute(SIZES).fetchall()}
