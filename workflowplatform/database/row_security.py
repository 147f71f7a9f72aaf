"""Set up the wall between tenants in PostgreSQL: policies, who may do what, and functions that see everything.

The owner of the tables runs this after every `migrate`; it is the same however often it runs, and a new table with a `tenant_id`
is walled without a line here. The owner and the role in which an application role crosses tenants see all rows; everybody else,
those of the tenant that their transaction names. Where one role is owner and application at once, that role sees everything, and
only the filters of engine.access separate tenants.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from workflowplatform.database.tenant_setting import SUFFIX

TENANT = "(SELECT nullif(current_setting('wf.tenant', true), '')::uuid)"
"""The SELECT makes it evaluated once per statement, not once per row. Without a tenant it is null, which equals nothing."""
GUEST = "(SELECT nullif(current_setting('wf.guest', true), '')::uuid)"
OWN = f"CASE WHEN tenant_id = {TENANT} THEN true END IS NOT NULL"
"""The CASE keeps the rule out of the planner's choices: statements carry filters of their own, for which indexes are made, and
a plain comparison on every joined table let it begin with a small one (versions) and read all tasks of a tenant. IS NOT NULL
keeps it out of the estimates: of a CASE alone half of the rows are thought to remain, on every joined table once more."""


@dataclass(frozen=True, slots=True)
class Wall:
    """How the rows of a table that has no `tenant_id`, or whose rule is another, are kept apart."""

    rule: str | None
    why: str


NO_WALL = None
SPECIAL = {
    "wf_tenants": Wall(
        f"CASE WHEN id = {TENANT} THEN true END IS NOT NULL", "a tenant is its own row; the list of all is level 6's"
    ),
    "wf_people": Wall(
        f"CASE WHEN tenant_id = {TENANT} OR id = {GUEST} THEN true END IS NOT NULL",
        "a person of level 6 keeps their own row in another tenant",
    ),
    "django_admin_log": Wall(
        "EXISTS (SELECT FROM wf_people p WHERE p.id = user_id)", "a line belongs to its author's tenant"
    ),
    "wf_audit_roots": Wall(NO_WALL, "one signed number over all chains of all tenants; it names none of them"),
    "wf_sign_in_tallies": Wall(NO_WALL, "failures to sign in by name and address, before anybody knows who asks"),
    "wf_host_locks": Wall(NO_WALL, "locks between processes, named by us"),
    "django_session": Wall(NO_WALL, "found by a secret key only, and read before anybody knows who asks"),
    "django_content_type": Wall(NO_WALL, "names of models, written by migrations"),
    "django_migrations": Wall(NO_WALL, "names of migrations; the application reads them"),
    "auth_group": Wall(NO_WALL, "unused: levels decide"),
    "auth_group_permissions": Wall(NO_WALL, "unused: levels decide"),
    "auth_permission": Wall(NO_WALL, "written by migrations, read by nobody"),
    "axes_accessattempt": Wall(NO_WALL, "failed sign-ins by name and address, before anybody knows who asks"),
    "axes_accessattemptexpiration": Wall(NO_WALL, "as axes_accessattempt"),
    "axes_accessfailurelog": Wall(NO_WALL, "as axes_accessattempt"),
    "axes_accesslog": Wall(NO_WALL, "as axes_accessattempt"),
}

READ_ONLY = frozenset({"django_migrations"})
APPEND_ONLY = frozenset({"wf_audit", "wf_task_events", "wf_audit_redactions", "wf_audit_roots"})
"""What the application adds to and never changes. Retention deletes through functions of the owner."""

AS_OWNER = frozenset(
    {
        "wf_check_instance",
        "wf_check_limits",
        "wf_check_orphans",
        "wf_is_limited",
        "wf_purge_instances",
        "wf_purge_runtime",
        "wf_purge_chains",
        "wf_seal_anchors",
        "wf_redact_audit",
        "wf_redact_task_events",
        "wf_answered_by",
    }
)
"""Functions that run as the owner. A check that saw the rows of one tenant only would let pass what it should refuse; retention
deletes what the application's role may not; and what searches by an operator that no policy lets use its index asks for the
transaction's tenant itself."""
CROSSING_ONLY = frozenset(name for name in AS_OWNER if name.startswith(("wf_purge_", "wf_redact_", "wf_seal_")))
"""Of these, what deletes or changes: for those who cross tenants, as workers and erasures do, and nobody else."""
AS_CALLER = {
    "wf_legal_move": "reads no table",
    "wf_check_move": "reads no table",
    "wf_keep_definition": "reads no table",
    "wf_append_only": "reads no table",
    "wf_only_redacted": "reads no table",
    "wf_require_moved": "reads no table",
    "wf_check_bulk_row": "reads no table",
    "wf_check_instance_once": "calls wf_check_instance, which runs as the owner",
    "wf_check_own_instance": "calls wf_check_instance, which runs as the owner",
    "wf_check_new_rows_instance": "calls wf_check_instance, which runs as the owner",
    "wf_check_old_rows_instance": "calls wf_check_instance, which runs as the owner",
    "wf_require_ended": "is called by the purge, which runs as the owner",
    "wf_delete_referring": "is called by the purge, which runs as the owner",
    "wf_asked_before": "reads for the person who asks: the wall applies to it too",
    "wf_absence_scope": "reads no table",
    "wf_stands_in": "reads for the person who asks: the wall applies to it too",
    "wf_took_part_inside": "reads for the person who asks: the wall applies to it too",
    "wf_checked_from_outside": "reads for the person who asks: the wall applies to it too",
}
"""All other functions, and why they need not see more than their caller."""

TABLES = """
SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, EXISTS (
  SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped)
FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
  AND pg_has_role(current_user, c.relowner, 'USAGE') ORDER BY 1
"""
VIEWS = """
SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = current_schema()::regnamespace
  AND pg_has_role(current_user, relowner, 'USAGE') ORDER BY 1
"""
"""Views read with the rights of who asks (`security_invoker`): the walls of their tables apply."""
POLICIES = """
SELECT c.relname, p.polname, obj_description(p.oid, 'pg_policy') FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
WHERE c.relnamespace = current_schema()::regnamespace
"""
RIGHTS = """
SELECT c.relname, r.rolname, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
FROM pg_class c CROSS JOIN aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.relkind IN ('r', 'p', 'S', 'v') AND c.relnamespace = current_schema()::regnamespace AND r.rolname = ANY(%s) GROUP BY 1, 2
"""
FUNCTIONS = """
SELECT p.proname, p.oid::regprocedure::text,
  p.prosecdef AND EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%%, pg_temp'),
  has_function_privilege('public', p.oid, 'EXECUTE')
FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = ANY(%s)
  AND pg_has_role(current_user, p.proowner, 'USAGE') ORDER BY 1
"""
SEQUENCES = """
SELECT relname FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace
  AND pg_has_role(current_user, relowner, 'USAGE') ORDER BY 1
"""


def rule_of(table: str, has_tenant: bool) -> str | None:
    """Return the condition under which a row of a table is seen; None: always."""
    if table in SPECIAL:
        return SPECIAL[table].rule
    return OWN if has_tenant else None


def raise_walls(connection: BaseDatabaseWrapper, application: str = "") -> int:
    """Bring policies, functions and rights up to date, as the owner of the tables; return how many statements that took.

    Where all is as it should be nothing is locked. `application` is the application's role; empty where there is none.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        wanted = list(_Walls(cursor, connection.ops.quote_name, application).statements())
        if wanted:
            cursor.execute("; ".join(wanted))
    return len(wanted)


class _Walls:
    """The walls of one database as they are, and what is missing."""

    def __init__(self, cursor: Any, quote: Callable[[str], str], application: str) -> None:
        self._cursor, self._quote = cursor, quote
        ((self._owner, self._schema),) = self._rows("SELECT current_user, current_schema()")
        self._roles = self._known([application, f"{application}{SUFFIX}"], application)

    def _rows(self, asked: str, *values: Any) -> list[Any]:
        self._cursor.execute(asked, values or None)
        found: list[Any] = self._cursor.fetchall()
        return found

    def _known(self, roles: list[str], application: str) -> list[str]:
        """Return the application's role and the one in which it crosses tenants, where both exist."""
        found = {name for (name,) in self._rows("SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", roles)}
        return roles if application not in ("", self._owner) and found == set(roles) else []

    def statements(self) -> Iterator[str]:
        """Yield the statements that are missing for the walls to be complete."""
        tables = self._rows(TABLES)
        yield from self._walls(tables)
        yield from self._functions()
        if self._roles:
            yield from self._rights([name for name, *_ in tables])

    def _walls(self, tables: list[Any]) -> Iterator[str]:
        """Wall tables: everybody by a table's rule, the owner and those who cross without one."""
        kept = {(table, policy): comment for table, policy, comment in self._rows(POLICIES)}
        seeing = ", ".join(map(self._quote, [self._owner, *self._roles[1:]]))
        for name, is_walled, has_tenant in tables:
            rule, table = rule_of(name, has_tenant), self._quote(name)
            if rule is None:
                continue
            for policy, words in (
                ("own_tenant", f"TO PUBLIC USING ({rule})"),
                ("all_tenants", f"TO {seeing} USING (true)"),
            ):
                if kept.get((name, policy)) != words:
                    yield f"DROP POLICY IF EXISTS {policy} ON {table}"
                    yield f"CREATE POLICY {policy} ON {table} {words}"
                    yield f"COMMENT ON POLICY {policy} ON {table} IS {_literal(words)}"
            if not is_walled:
                yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"

    def _functions(self) -> Iterator[str]:
        for name, signature, is_set_up, is_public in self._rows(FUNCTIONS, list(AS_OWNER)):
            if not is_set_up:
                yield (
                    f"ALTER FUNCTION {signature} SECURITY DEFINER SET search_path = {self._quote(self._schema)}, pg_temp"
                )
            if name in CROSSING_ONLY and is_public:
                yield f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC"
            if name in CROSSING_ONLY and self._roles and (is_public or not self._may(self._roles[1], signature)):
                yield f"GRANT EXECUTE ON FUNCTION {signature} TO {self._quote(self._roles[1])}"

    def _may(self, role: str, signature: str) -> bool:
        ((may,),) = self._rows("SELECT has_function_privilege(%s, %s, 'EXECUTE')", role, signature)
        return bool(may)

    def _rights(self, tables: list[str]) -> Iterator[str]:
        both = ", ".join(map(self._quote, self._roles))
        held = {(name, role): rights for name, role, rights in self._rows(RIGHTS, self._roles)}
        wanted = {table: ", ".join(rights_on(table)) for table in tables}
        wanted |= {name: "SELECT" for (name,) in self._rows(VIEWS)}
        sequences = {name: "SELECT, USAGE" for (name,) in self._rows(SEQUENCES)}
        wanted |= sequences
        for role in self._roles:
            ((may,),) = self._rows("SELECT has_schema_privilege(%s, %s, 'USAGE')", role, self._schema)
            if not may:
                yield f"GRANT USAGE ON SCHEMA {self._quote(self._schema)} TO {self._quote(role)}"
        for name, rights in wanted.items():
            if any(held.get((name, role)) != rights for role in self._roles):
                kind = "SEQUENCE" if name in sequences else "TABLE"
                yield f"REVOKE ALL ON {kind} {self._quote(name)} FROM {both}"
                yield f"GRANT {rights} ON {kind} {self._quote(name)} TO {both}"


def rights_on(table: str) -> list[str]:
    """Return what the application may do with a table, by name."""
    if table in READ_ONLY:
        return ["SELECT"]
    return ["INSERT", "SELECT"] if table in APPEND_ONLY else ["DELETE", "INSERT", "SELECT", "UPDATE"]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
