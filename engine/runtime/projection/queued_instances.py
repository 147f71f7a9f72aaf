"""Rows of an instance that is to begin in a transaction of its own: it is there, nothing of it has run, a signal waits for it."""

from engine.audit.chain import Act, append
from engine.kernel.signals import SignalType
from engine.kernel.transitions import RESULT_OF
from engine.runtime.commit import Batch, Row
from engine.runtime.projection.rows import fixed_columns
from engine.runtime.projection.stage import PROVIDER, Loaded
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7


def project_deferred_start(batch: Batch, born: Loaded, actor: Actor) -> Row:
    """Add the rows of an instance that a worker begins later; return that of the instance."""
    act = Act("start_workflow", new={"input": born.input, "reference": born.facts.reference})
    rows, chain = append(born.chain, [act], actor=actor, at=born.now)
    batch.add_audit(rows)
    instance = fixed_columns(born) | {
        "status": born.status,
        "result": RESULT_OF[born.status],
        "reference": born.facts.reference,
        "state": {},
        "updated_at": born.now,
        "audit_seq": chain.seq,
        "audit_hash": chain.hash,
    }
    batch.add("new_instances", instance)
    batch.add("new_runtimes", _runtime(born))
    batch.add("new_signals", _signal(born))
    return instance


def _runtime(born: Loaded) -> Row:
    return {
        "instance_id": str(born.instance_id),
        "tenant_id": str(born.tenant_id),
        "state_version": 1,
        "runtime_provider": PROVIDER,
        "runtime_instance_id": born.instance_id,
        "snapshot_schema_version": 0,
        "snapshot": {},
        "runtime_status": born.status,
        "business_reference": born.facts.reference,
        "created_at": born.now,
        "updated_at": born.now,
    }


def _signal(born: Loaded) -> Row:
    return {
        "id": uuid7(),
        "tenant_id": str(born.tenant_id),
        "instance_id": str(born.instance_id),
        "runtime_provider": PROVIDER,
        "type": SignalType.INTERNAL_CONTINUE,
        "occurred_at": born.now,
        "due_at": born.now,
        "payload": {},
        "attempts": 0,
    }
