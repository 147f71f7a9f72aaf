"""Fingerprints of all rows of a tenant, over every table that has one."""

from __future__ import annotations

from functools import cache

from django.apps import apps
from django.db import connection

from tests.isolation.scene import Rows

Prints = dict[str, tuple[int, str]]
"""Rows and their checksum, by table."""


@cache
def tenant_tables() -> tuple[str, ...]:
    """List the tables whose rows belong to a tenant, and the table of tenants itself."""
    named = {
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and any(field.name == "tenant" for field in model._meta.get_fields())
    }
    return tuple(sorted(named))


@cache
def _statement() -> str:
    one = "SELECT '{0}', count(*), coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') FROM {0} t WHERE {1} = %(tenant)s"
    parts = [one.format(table, "tenant_id") for table in tenant_tables()]
    return " UNION ALL ".join([*parts, one.format("wf_tenants", "id")])


def fingerprints(rows: Rows) -> Prints:
    """Read what a tenant has now."""
    with connection.cursor() as cursor:
        cursor.execute(_statement(), {"tenant": rows.tenant.pk})
        return {table: (count, checksum) for table, count, checksum in cursor.fetchall()}


def changed(before: Prints, after: Prints) -> list[str]:
    """Name the tables that differ."""
    return [table for table, seen in before.items() if after[table] != seen]


def rows_written() -> int:
    """Count what this transaction wrote into these tables so far, taken back or not: a cheap way to see that nothing was."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"tables": [*tenant_tables(), "wf_tenants"]})
        return int(cursor.fetchone()[0])


_COUNT = """
SELECT sum(pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid)
    + pg_stat_get_xact_tuples_deleted(oid)) FROM unnest(%(tables)s::text[]) AS t, to_regclass(t) AS oid
"""
