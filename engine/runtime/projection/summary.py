"""Rows of the present: the summary that people see and the engine's own truth."""

from collections.abc import Iterable
from uuid import UUID

from engine.audit.chain import Chain
from engine.kernel.effects import WaitKind
from engine.kernel.errors import error_names
from engine.kernel.signals import Json
from engine.kernel.snapshot import SCHEMA_VERSION
from engine.kernel.transitions import RESULT_OF, TERMINAL_INSTANCE
from engine.runtime.commit import Row
from engine.runtime.projection.queued_instances import birth_row
from engine.runtime.projection.stage import PROVIDER, Stage


def add_instance(stage: Stage, chain: Chain) -> None:
    """Write the summary that people see."""
    loaded, result = stage.loaded, stage.result
    row: Row = {
        "id": stage.instance_id,
        "status": result.status,
        "result": RESULT_OF[result.status],
        "outcome": result.outcome,
        "reference": stage.reference,
        "reference_parts": result.reference_parts,
        "state": result.snapshot.state,
        "output": result.output,
        "error": error_names(result.error) if result.error else None,
        "ended_at": stage.now if result.status in TERMINAL_INSTANCE else None,
        "updated_at": stage.now,
        "audit_seq": chain.seq,
        "audit_hash": chain.hash,
    }
    if not stage.is_birth:
        stage.batch.add("instances", row)
        return
    stage.batch.add("new_instances", row | birth_row(loaded))


def add_runtime(stage: Stage, task_ids: dict[int, UUID]) -> None:
    """Write the engine's truth, under the version that it was computed from."""
    loaded, result = stage.loaded, stage.result
    row = {
        "instance_id": stage.instance_id,
        "snapshot_schema_version": SCHEMA_VERSION,
        "snapshot": result.snapshot.to_json(),
        "runtime_status": result.status,
        "business_reference": stage.reference,
        "last_signal_id": stage.deliveries[-1].signal_id if stage.deliveries else None,
        "last_error_code": result.last_error.code if result.last_error else None,
        "last_error_json": error_names(result.last_error) if result.last_error else None,
        "last_executed_by": stage.node,
        "last_executed_on": stage.now,
        "updated_at": stage.now,
        "completed_at": stage.now if result.status in TERMINAL_INSTANCE else None,
    } | _next_wait(stage, task_ids)
    if not stage.is_birth:
        waited = {"expected_version": loaded.state_version, "task_token": _next_task(stage)}
        stage.batch.add("runtimes", row | waited)
        return
    stage.batch.add(
        "new_runtimes",
        row
        | {
            "tenant_id": stage.tenant_id,
            "state_version": stage.next_version,
            "runtime_provider": PROVIDER,
            "runtime_instance_id": stage.instance_id,
            "created_at": stage.now,
        },
    )


def _next(waits: Iterable[dict[str, Json]]) -> dict[str, Json] | None:
    return min(waits, key=lambda wait: (wait["side"], wait["dueAt"] or "9", wait["token"]), default=None)


def _next_task(stage: Stage) -> int | None:
    """Return the token of the open task that is due next; the statement finds a task that an earlier slice opened by it."""
    wait = _next(wait for wait in stage.result.snapshot.waits if wait["kind"] == WaitKind.TASK)
    return wait["token"] if wait else None


def _next_wait(stage: Stage, task_ids: dict[int, UUID]) -> Row:
    """Fill the single-wait columns with the wait that is due next; they are for people, the engine never reads them."""
    snapshot = stage.result.snapshot
    wait = _next(snapshot.waits)
    if wait is None:
        return {}
    return {
        "waiting_kind": wait["kind"],
        "waiting_token": wait["token"],
        "waiting_until": wait["dueAt"],
        "active_task_id": task_ids.get(_next_task(stage) or 0),
        "resume_pointer": snapshot.resume_pointer(wait["token"]),
    }
