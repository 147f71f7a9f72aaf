"""Know up to which row each chain may be hashed without the key: rows written before there was one.

The upgrade (migration 0032) seals where every chain ended then. Processes of the release before may write plain rows until they
are restarted; an operator accepts those once, by command. Anybody else's plain row is an error.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db import connection

from engine.audit.chain import seal

BATCH = 5_000
Plain = tuple[UUID, UUID, str, int, str]
"""Tenant, subject, kind, sequence number, hash."""

ENDS = {
    "wf_tenants": "SELECT id, id, 'tenant', audit_seq, audit_hash FROM wf_tenants WHERE audit_seq > 0",
    "wf_people": "SELECT tenant_id, id, 'person', audit_seq, audit_hash FROM wf_people WHERE audit_seq > 0",
    "wf_templates": "SELECT tenant_id, id, 'template', audit_seq, audit_hash FROM wf_templates WHERE audit_seq > 0",
    "wf_instances": "SELECT tenant_id, id, 'instance', audit_seq, audit_hash FROM wf_instances WHERE audit_seq > 0",
    "wf_audit_anchors": "SELECT tenant_id, subject_id AS id, 'instance', seq, hash FROM wf_audit_anchors "
    "WHERE purged_at IS NULL AND NOT EXISTS (SELECT FROM wf_instances i WHERE i.id = subject_id)",
}
"""Where chains end by their subjects' own rows, so that no row of the audit is read."""

LAST_PLAIN = """
SELECT DISTINCT ON (a.subject_id) a.tenant_id, a.subject_id, a.subject_kind, a.seq, a.hash FROM wf_audit a
LEFT JOIN wf_audit_plain_ends p ON p.subject_id = a.subject_id
WHERE a.hash NOT LIKE 'k%%' AND (p.seq IS NULL OR a.seq > p.seq) ORDER BY a.subject_id, a.seq DESC
"""

KEEP = """
INSERT INTO wf_audit_plain_ends (tenant_id, subject_id, subject_kind, seq, hash, seal)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::bigint[], %s::text[], %s::text[])
ON CONFLICT (subject_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, seal = excluded.seal
"""


def seal_ends() -> None:
    """Seal where all chains end now: for the upgrade alone."""
    for table, statement in ENDS.items():
        key = "subject_id" if table == "wf_audit_anchors" else "id"
        for rows in _walk(f"{statement} AND {key} > %s ORDER BY 2 LIMIT {BATCH}"):
            keep_ends(rows)


def accept_plain_rows() -> list[Plain]:
    """Accept the plain rows that are there now, and return the last one of each chain that has new ones."""
    with connection.cursor() as cursor:
        cursor.execute(LAST_PLAIN)
        rows: list[Plain] = cursor.fetchall()
    keep_ends(rows)
    return rows


def keep_ends(rows: Iterable[Plain]) -> None:
    """Write down until where chains are plain."""
    sealed = [(*row, seal("plain end", row)) for row in rows]
    if sealed:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('workflow.purging', 'on', true)")
            cursor.execute(KEEP, [list(column) for column in zip(*sealed, strict=True)])
            cursor.execute("SELECT set_config('workflow.purging', 'off', true)")


def _walk(statement: str) -> Iterator[list[Any]]:
    last = UUID(int=0)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, [last])
            rows = cursor.fetchall()
        if not rows:
            return
        yield rows
        last = rows[-1][1]
