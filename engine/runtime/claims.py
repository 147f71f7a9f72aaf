"""Claim instances and read them under the claim.

The claim on an instance is the lock on its runtime row, taken with FOR NO KEY UPDATE so that rows may still refer to it. A dead
process releases the lock; there is no claimed state to clean up. Everybody takes locks in one order: runtime rows by instance id,
then what hangs on them.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from engine.audit.chain import Chain
from engine.errors import NotFound
from engine.kernel.json_text import read_json
from engine.kernel.signals import InstanceFacts
from engine.kernel.snapshot import Snapshot
from engine.kernel.transitions import InstanceStatus
from engine.runtime.commit import run_hot, run_hot_together
from engine.runtime.projection import Loaded
from workflowplatform.database.hot import Rows, Values
from workflowplatform.ids import keep_time

LOCK = """
SELECT r.instance_id FROM (SELECT asked.id FROM unnest(%s::uuid[]) asked(id) ORDER BY asked.id) asked
CROSS JOIN LATERAL (SELECT instance_id FROM wf_runtime_states WHERE instance_id = asked.id FOR NO KEY UPDATE) r
"""
"""Lock in one order, so that two transactions that want the same instances never deadlock. One lookup for each: a kept plan
for `= ANY(…)` may walk the whole index instead."""

LOADED = """
r.instance_id, r.tenant_id, i.template_id, i.version_id, r.state_version, r.snapshot, i.status, i.reference,
i.started_by_name, i.started_at, i.started_by_id, i.audit_seq, i.audit_hash, t.name, v.number,
i.parent_id, i.parent_token, i.depth, i.root_id, i.hops,
coalesce(t.concurrent_limit, n.concurrent_limit) IS NOT NULL,
CASE WHEN r.snapshot_schema_version = 0 THEN i.input END, clock_timestamp()
"""
"""The columns of an instance as the kernel needs it, from a runtime row `r` and what `JOINED_TO_RUNTIME` joins to it."""

JOINED_TO_RUNTIME = """
JOIN wf_instances i ON i.id = r.instance_id
JOIN wf_templates t ON t.id = i.template_id
JOIN wf_template_versions v ON v.id = i.version_id
JOIN wf_tenants n ON n.id = i.tenant_id
"""

LOAD = f"""
SELECT {LOADED} FROM unnest(%(claimed)s::uuid[]) asked(id)
CROSS JOIN LATERAL (SELECT * FROM wf_runtime_states WHERE instance_id = asked.id OFFSET 0) r {JOINED_TO_RUNTIME}
"""
LOAD_ONE = f"SELECT {LOADED} FROM wf_runtime_states r {JOINED_TO_RUNTIME} WHERE r.instance_id = %s"

HOLD = f"""
WITH claimed AS MATERIALIZED (SELECT * FROM wf_runtime_states WHERE instance_id = %s FOR NO KEY UPDATE)
SELECT {LOADED}, i.xmin = seen.xmin FROM claimed r {JOINED_TO_RUNTIME} JOIN wf_instances seen ON seen.id = i.id
FOR NO KEY UPDATE OF i
"""
"""Claim and load one instance at once. Locked rows are read as they are now, the others as they were when the statement began.
Every change of an instance changes its row `i` too, so a row that is the same twice proves that everything read is current."""


def lock(instance_ids: Iterable[UUID]) -> list[UUID]:
    """Claim instances by their runtime rows, waiting for current holders. Call inside a transaction."""
    return [row[0] for row in run_hot(LOCK, [list(instance_ids)])]


def lock_and_load(instance_ids: Iterable[UUID]) -> dict[UUID, Loaded]:
    """Claim instances and read them as they are then, on one journey: the second statement begins under the locks."""
    wanted = list(instance_ids)
    _, rows = run_hot_together((LOCK, [wanted]), loading(wanted))
    return loaded_from(rows)


def load(instance_ids: Sequence[UUID]) -> dict[UUID, Loaded]:
    """Read claimed instances as they are now."""
    return loaded_from(run_hot(*loading(instance_ids)))


def loading(instance_ids: Sequence[UUID]) -> tuple[str, Values]:
    """Return the statement that reads claimed instances, and its values."""
    return (LOAD_ONE, instance_ids) if len(instance_ids) == 1 else (LOAD, {"claimed": list(instance_ids)})


def loaded_from(rows: Rows) -> dict[UUID, Loaded]:
    """Read the rows of that statement."""
    return {row[0]: loaded_of(row) for row in rows}


def hold(instance_id: UUID) -> Loaded:
    """Claim one instance, waiting for its current holder, and read it under the lock. Call inside a transaction."""
    rows = run_hot(HOLD, [instance_id])
    if rows and not rows[0][-1]:
        rows = run_hot(HOLD, [instance_id])
    if not rows:
        raise NotFound
    return loaded_of(rows[0][:-1])


def loaded_of(row: tuple[Any, ...]) -> Loaded:
    """Read the columns of `LOADED`."""
    (instance_id, tenant_id, template_id, version_id, state_version, snapshot, status, reference, started_by, started_at,
     started_by_id, audit_seq, audit_hash, template, number,
     parent_id, parent_token, depth, root_id, hops, limited, values, now) = row  # fmt: skip
    keep_time(now)
    return Loaded(
        instance_id=instance_id,
        tenant_id=tenant_id,
        template_id=template_id,
        version_id=version_id,
        state_version=state_version,
        snapshot=_snapshot(snapshot),
        status=InstanceStatus(status),
        facts=InstanceFacts(str(instance_id), template, number, started_by or None, started_at, reference),
        chain=Chain("instance", instance_id, tenant_id, audit_seq, audit_hash),
        now=now,
        started_by_id=started_by_id,
        parent_id=parent_id,
        parent_token=parent_token,
        depth=depth,
        root_id=root_id,
        hops=hops,
        limited=limited,
        input=_json(values),
        weight=len(snapshot),
    )


def _json(value: Any) -> Any:
    """Read a JSON column whichever way the driver hands it over: Django's cursors leave it as text."""
    return json.loads(value) if isinstance(value, str) else value


def _snapshot(stored: str) -> Snapshot | None:
    """Read a snapshot; an instance that waited for admission has none yet."""
    content = read_json(stored)
    return Snapshot.from_json(content) if content else None
