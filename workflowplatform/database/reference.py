"""Write down what a migrated database enforces: functions, tables with constraints, indexes, triggers and row-level policies,
and views.

All of it is read from PostgreSQL's catalogue, not from the migrations: the page shows what their sum has left. It is ordered by
name and does not depend on object ids or on the names of roles, so that every migrated database gives the same. Partitions are
left out: they have what their table has, and which there are depends on the day.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.backends.base.base import BaseDatabaseWrapper

from workflowplatform.database.tenant_setting import SUFFIX

HEADER = """\
-- What the database enforces: all functions, tables, constraints, indexes, triggers, row-level policies and views, by name.
-- Generated from the catalogue of a migrated database; do not edit. Renew it with: manage.py database_reference
--
-- This page is for reading; the migrations and workflowplatform/database/row_security.py are the source. "owner" is the role
-- that owns the tables. Where the application has a role of its own, the policies all_tenants also name the role in which
-- it crosses tenants, and both have the rights that row_security.py lists.
"""

OUR_SCHEMA = "current_schema()::regnamespace"
FUNCTIONS = f"""
SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid), has_function_privilege('public', p.oid, 'EXECUTE')
FROM pg_proc p WHERE p.pronamespace = {OUR_SCHEMA} AND p.prokind IN ('f', 'p')
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""
COLUMNS = f"""
SELECT c.relname, quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
  || CASE WHEN a.attidentity = '' THEN '' ELSE ' GENERATED '
       || CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END || ' AS IDENTITY' END
  || coalesce(CASE WHEN a.attgenerated = '' THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)
       ELSE ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid) || ') STORED' END, '')
  || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = {OUR_SCHEMA} ORDER BY c.relname, a.attnum
"""
CONSTRAINTS = f"""
SELECT c.relname, 'CONSTRAINT ' || quote_ident(o.conname) || ' ' || pg_get_constraintdef(o.oid, true)
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
WHERE c.relnamespace = {OUR_SCHEMA} AND o.contype IN ('c', 'f', 'p', 'u', 'x')
ORDER BY c.relname, array_position('{{p,u,x,f,c}}'::"char"[], o.contype), o.conname
"""
"""Rules for NULL are left out here: they are part of a column, and a constraint of their own only since PostgreSQL 18."""
PARTED = f"""
SELECT c.relname, ' PARTITION BY ' || pg_get_partkeydef(c.oid) FROM pg_class c
WHERE c.relkind = 'p' AND NOT c.relispartition AND c.relnamespace = {OUR_SCHEMA}
"""
INDEXES = f"""
SELECT c.relname, replace(pg_get_indexdef(x.indexrelid, 0, true), ' ON ONLY ', ' ON ')
FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class named ON named.oid = x.indexrelid
WHERE c.relnamespace = {OUR_SCHEMA} AND x.indisvalid AND NOT EXISTS (
  SELECT FROM pg_constraint o WHERE o.conindid = x.indexrelid AND o.conrelid = c.oid AND o.contype IN ('p', 'u', 'x'))
ORDER BY c.relname, named.relname
"""
TRIGGERS = f"""
SELECT c.relname, pg_get_triggerdef(g.oid, true) FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
WHERE c.relnamespace = {OUR_SCHEMA} AND NOT g.tgisinternal AND g.tgenabled <> 'D' ORDER BY c.relname, g.tgname
"""
VIEWS = f"""
SELECT c.relname, 'CREATE VIEW ' || quote_ident(c.relname)
  || coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') || ' AS' || chr(10)
  || pg_get_viewdef(c.oid, true)
FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = {OUR_SCHEMA} ORDER BY c.relname
"""
SECURITY = f"""
SELECT c.relname, 'ALTER TABLE ' || quote_ident(c.relname) || ' ENABLE ROW LEVEL SECURITY'
  || CASE WHEN c.relforcerowsecurity THEN ', FORCE ROW LEVEL SECURITY' ELSE '' END
FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = {OUR_SCHEMA} AND c.relrowsecurity
"""
POLICIES = f"""
SELECT c.relname, 'CREATE POLICY ' || quote_ident(p.polname) || ' ON ' || quote_ident(c.relname)
  || CASE WHEN p.polpermissive THEN '' ELSE ' AS RESTRICTIVE' END
  || CASE p.polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE'
       WHEN 'd' THEN ' FOR DELETE' ELSE '' END
  || ' TO ' || (SELECT string_agg(named, ', ' ORDER BY named) FROM (
       SELECT CASE WHEN one = 0 THEN 'PUBLIC' WHEN one = c.relowner THEN 'owner' ELSE quote_ident(r.rolname) END AS named
       FROM unnest(p.polroles) one LEFT JOIN pg_roles r ON r.oid = one
       WHERE one = c.relowner OR coalesce(r.rolname NOT LIKE %(crossing)s, true)) roles)
  || coalesce(' USING (' || ltrim(pg_get_expr(p.polqual, p.polrelid, true)) || ')', '')
  || coalesce(' WITH CHECK (' || ltrim(pg_get_expr(p.polwithcheck, p.polrelid, true)) || ')', '')
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = {OUR_SCHEMA} ORDER BY c.relname, p.polname
"""


def database_reference(connection: BaseDatabaseWrapper) -> str:
    """Return the page for the database of a connection."""
    catalogue = _Catalogue(connection)
    parts = [
        HEADER,
        "-- Functions\n",
        *catalogue.functions(),
        "-- Tables\n",
        *catalogue.tables(),
        "-- Views\n",
        *catalogue.views(),
    ]
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Catalogue:
    connection: BaseDatabaseWrapper

    def functions(self) -> Iterator[str]:
        ((schema,),) = self._rows("SELECT quote_ident(current_schema())")
        for signature, definition, is_public in sorted(self._rows(FUNCTIONS)):
            yield definition.replace(f"FUNCTION {schema}.", "FUNCTION ", 1).rstrip() + ";"
            yield "" if is_public else f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC;\n"

    def tables(self) -> Iterator[str]:
        columns, constraints, parted = (self._by_table(asked) for asked in (COLUMNS, CONSTRAINTS, PARTED))
        others = [self._by_table(asked) for asked in (INDEXES, TRIGGERS, SECURITY, POLICIES)]
        for table in sorted(columns):
            inside = ",\n  ".join([*columns[table], *constraints[table]])
            yield f"CREATE TABLE {table} (\n  {inside}\n){''.join(parted[table])};"
            yield from (f"{statement};" for kind in others for statement in kind[table])
            yield ""

    def views(self) -> Iterator[str]:
        for _, definition in self._rows(VIEWS):
            yield f"{definition}\n"

    def _by_table(self, asked: str) -> dict[str, list[str]]:
        found = defaultdict[str, list[str]](list)
        for table, text in self._rows(asked):
            found[table].append(re.sub(r"\s*\n\s*", " ", text))
        return found

    def _rows(self, asked: str) -> list[tuple[str, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(asked, {"crossing": f"%{SUFFIX}"})
            rows: list[tuple[str, ...]] = cursor.fetchall()
        return rows
