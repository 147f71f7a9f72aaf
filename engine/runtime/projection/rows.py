"""Write the rows of a slice: the summary that people see, the engine's own truth, waits, the signals that wake them, receipts,
and the intents of outside calls.

Pure but for fresh ids: a loaded instance, the deliveries and the kernel's slice go in, rows go into a batch.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import datetime
from uuid import UUID

from engine.audit.chain import WITHOUT_NAME, Chain, append
from engine.kernel.effects import SIGNAL_OF_WAIT, ClosedWait, MakeCall, MakeCallLater, Slice, Wait, WaitKind
from engine.kernel.errors import error_names
from engine.kernel.machine.four_eyes import everybody
from engine.kernel.signals import CallFailed, CallSucceeded, ChildEnded, Json, SignalType
from engine.kernel.snapshot import SCHEMA_VERSION, Snapshot
from engine.kernel.transitions import RESULT_OF, TERMINAL_INSTANCE
from engine.runtime.commit import Row
from engine.runtime.projection.history import acts
from engine.runtime.projection.stage import HELD_STATUSES, NEVER, PROVIDER, Delivery, Loaded, Stage
from engine.runtime.projection.tasks import close_task, note_answers, open_task
from workflowplatform.ids import uuid7


def project(stage: Stage) -> None:
    """Add every row of this slice to the stage's batch."""
    _add_receipts(stage)
    _add_closed(stage)
    note_answers(stage)
    task_ids = _add_opened(stage)
    _add_places(stage)
    if stage.result.more:
        stage.batch.add("new_signals", signal_row(stage, SignalType.INTERNAL_CONTINUE, None, stage.now))
    done = list(acts(stage)) or ([WITHOUT_NAME] if stage.is_moved else [])
    rows, chain = append(stage.loaded.chain, done, actor=stage.actor, at=stage.now, told=stage.told)
    stage.batch.add_audit(rows)
    _add_instance(stage, chain)
    _add_runtime(stage, task_ids)
    _hold_or_free_signals(stage)
    _signal_parent(stage)


def _add_instance(stage: Stage, chain: Chain) -> None:
    """Write the summary that people see."""
    loaded, result = stage.loaded, stage.result
    row: Row = {
        "id": stage.instance_id,
        "status": result.status,
        "result": RESULT_OF[result.status],
        "outcome": result.outcome,
        "reference": stage.reference,
        "reference_parts": result.reference_parts,
        **({"title": result.title} if result.title is not None else {}),
        "state": result.snapshot.state,
        "output": result.output,
        "error": error_names(result.error) if result.error else None,
        "ended_at": stage.now if result.status in TERMINAL_INSTANCE else None,
        "updated_at": stage.now,
        "audit_seq": chain.seq,
        "audit_hash": chain.hash,
    }
    if not stage.creates_instance:
        stage.batch.add("instances", row)
        return
    stage.batch.add("new_instances", row | fixed_columns(loaded))


def fixed_columns(born: Loaded) -> Row:
    """Write what never changes of an instance."""
    return {
        "id": str(born.instance_id),
        "tenant_id": str(born.tenant_id),
        "template_id": born.template_id,
        "version_id": born.version_id,
        "parent_id": born.parent_id,
        "parent_token": born.parent_token,
        "depth": born.depth,
        "root_id": born.root_id,
        "hops": born.hops,
        "input": born.input,
        "started_by_id": born.started_by_id,
        "started_by_name": born.facts.started_by or "",
        "started_at": born.facts.started_at,
    }


def _add_runtime(stage: Stage, task_ids: dict[int, UUID]) -> None:
    """Write the engine's truth, under the version that it was computed from."""
    loaded, result = stage.loaded, stage.result
    row = {
        "instance_id": stage.instance_id,
        "snapshot_schema_version": SCHEMA_VERSION,
        "snapshot": _snapshot(stage).to_json(),
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
    if not stage.creates_instance:
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


def _snapshot(stage: Stage) -> Snapshot:
    """Return the snapshot to keep: what is stale changes nothing, not even the moment of the last event."""
    before, after = stage.loaded.snapshot, stage.result.snapshot
    return after if before is None or stage.is_moved else replace(after, now=before.now)


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


def _add_receipts(stage: Stage) -> None:
    """Note what became of each signal, and take those that were queued out of the queue.

    A person's act has an id of its own, so nobody can have noted it before.
    """
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        if delivery.type is None:
            continue
        is_new = not delivery.queued and delivery.content is None
        stage.batch.add(
            "own_receipts" if is_new else "receipts",
            {
                "id": delivery.signal_id,
                "tenant_id": stage.tenant_id,
                "instance_id": stage.instance_id,
                "type": delivery.type,
                "waiting_token": delivery.token,
                "disposition": "applied" if applied else "stale",
                "at": stage.now,
                "content": delivery.content,
            },
        )
    stage.batch.extend("signals_out", ({"id": delivery.signal_id} for delivery in stage.deliveries if delivery.queued))


def _add_closed(stage: Stage) -> None:
    """Take away the waits that are over, each with what hangs on it."""
    answers = {
        delivery.token: delivery
        for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True)
        if applied and delivery.token
    }
    for closed in stage.result.closed:
        stage.batch.add("closed_waits", {"instance_id": stage.instance_id, "token": closed.token})
        if closed.kind is WaitKind.TASK:
            close_task(stage, closed, answers.get(closed.token))
        elif closed.kind is WaitKind.CALL:
            _end_effect(stage, closed, answers.get(closed.token))


def _end_effect(stage: Stage, closed: ClosedWait, delivery: Delivery | None) -> None:
    event = delivery.event if delivery else None
    status, result = "withdrawn", None
    if isinstance(event, CallSucceeded):
        status, result = "succeeded", event.value
    elif isinstance(event, CallFailed):
        status = "failed"
        result = {"class": event.error_class, "code": event.code, "message": event.message}
    stage.batch.add(
        "ended_effects",
        {
            "instance_id": stage.instance_id,
            "token": closed.token,
            "status": status,
            "result": result,
            "ended_at": stage.now,
        },
    )


def _add_places(stage: Stage) -> None:
    """Write which places under throttles the instance asks for, and take away those that it left."""
    before, after = stage.places_before, stage.places_after
    stage.batch.extend(
        "left_places", ({"instance_id": stage.instance_id, "run": run} for run in before if run not in after)
    )
    for run, place in after.items():
        if run not in before:
            row = {"run": run, "key": place.key, "most": place.limit, "asked_at": stage.now}
            stage.batch.add("new_places", row | {"instance_id": stage.instance_id, "tenant_id": stage.tenant_id})


def _add_opened(stage: Stage) -> dict[int, UUID]:
    """Add waits with the rows each needs; return the ids of new tasks by token."""
    task_ids: dict[int, UUID] = {}
    for wait in stage.result.opened:
        stage.batch.add("new_waits", _wait(stage, wait))
        if wait.call:
            _add_call(stage, wait, wait.call)
        elif wait.kind in SIGNAL_OF_WAIT:
            stage.batch.add(
                "new_signals", signal_row(stage, SIGNAL_OF_WAIT[wait.kind], wait.token, wait.due_at or stage.now)
            )
        if wait.task:
            task_ids[wait.token] = open_task(stage, wait, wait.task)
    for effect in stage.result.effects:
        if isinstance(effect, MakeCallLater):
            _call_later(stage, effect)
    return task_ids


def _add_call(stage: Stage, wait: Wait, call: MakeCall) -> None:
    """Write the intent of a call, due at once (the wait's own date is the answer's deadline) unless it is taken on right here."""
    signal = signal_row(stage, SignalType.CALL_DUE, wait.token, stage.now)
    effect = _effect(stage, wait, call)
    if stage.batch.taking is not None and not stage.is_held:
        stage.batch.taking.take_on(signal, effect)
    stage.batch.add("new_signals", signal)
    stage.batch.add("new_effects", effect)


def _call_later(stage: Stage, effect: MakeCallLater) -> None:
    """Write the intent of a call that nobody waits for; a token below zero names no wait."""
    token = -(uuid7().int >> 65)
    wait = Wait(token, WaitKind.CALL, effect.step, effect.path)
    stage.batch.add("new_effects", _effect(stage, wait, effect.call))
    stage.batch.add("new_signals", signal_row(stage, SignalType.CALL_DUE, token, stage.now))


def _wait(stage: Stage, wait: Wait) -> Row:
    return {
        "instance_id": stage.instance_id,
        "tenant_id": stage.tenant_id,
        "token": wait.token,
        "kind": wait.kind,
        "step": wait.step,
        "path": wait.path,
        "iteration": wait.iteration,
        "run": wait.run,
        "due_at": wait.due_at,
        "name": wait.name,
        "key": wait.key,
        "side": wait.side,
        "opened_at": stage.now,
    }


def signal_row(stage: Stage, kind: SignalType, token: int | None, due_at: datetime) -> Row:
    """Write a signal to the instance itself; one that must not run now is held."""
    return {
        "id": uuid7(),
        "tenant_id": stage.tenant_id,
        "instance_id": stage.instance_id,
        "runtime_provider": PROVIDER,
        "type": kind,
        "expected_version": stage.next_version,
        "waiting_token": token,
        "occurred_at": stage.now,
        "due_at": NEVER if stage.is_held else due_at,
        "held_due_at": due_at if stage.is_held else None,
        "payload": {},
        "attempts": 0,
    }


def _effect(stage: Stage, wait: Wait, call: MakeCall) -> Row:
    return {
        "instance_id": stage.instance_id,
        "tenant_id": stage.tenant_id,
        "token": wait.token,
        "path": wait.path,
        "transport": call.transport,
        "request": dict(call.request),
        "key": call.key,
        "secrets": call.secrets,
        "attempt": call.attempt,
        "timeout_seconds": call.timeout_seconds,
        "status": "intended",
        "made": 0,
        "intended_at": stage.now,
    }


def _signal_parent(stage: Stage) -> None:
    """Signal to the parent's wait how this instance ended."""
    if stage.loaded.parent_token is not None and stage.ends and not stage.parent_told:
        signal_child_ended(stage, child_ended(stage.loaded, stage.result), stage.loaded.parent_id)


def child_ended(loaded: Loaded, result: Slice) -> ChildEnded:
    """Return what a parent's wait gets when a child has ended."""
    error = error_names(result.error) if result.error else None
    return ChildEnded(
        loaded.parent_token or 0, result.status.value, result.outcome, result.output, error, str(loaded.instance_id),
        result.snapshot.waited, everybody(result.snapshot.people), result.snapshot.operated,
    )  # fmt: skip


def signal_child_ended(stage: Stage, ended: ChildEnded, parent_id: UUID | None) -> None:
    """Queue what came of a child for the parent that waits for it."""
    row = signal_row(stage, SignalType.SUB_WORKFLOW_COMPLETED, ended.token, stage.now)
    payload = asdict(ended)
    del payload["token"]
    if not ended.operated:  # the release before does not know the word
        del payload["operated"]
    own = {"instance_id": str(parent_id), "expected_version": None, "payload": payload}
    stage.batch.add("new_signals", row | own | {"due_at": stage.now, "held_due_at": None})


def _hold_or_free_signals(stage: Stage) -> None:
    """Hold the signals of a suspended instance or an incident; release them when it continues."""
    was_held = stage.loaded.status in HELD_STATUSES
    if stage.creates_instance or was_held == stage.is_held:
        return
    stage.batch.add(
        "signals_held" if stage.is_held else "signals_freed",
        {
            "instance_id": stage.instance_id,
            "except_ids": [delivery.signal_id for delivery in stage.deliveries],
            "except_tokens": [closed.token for closed in stage.result.closed],
        },
    )
