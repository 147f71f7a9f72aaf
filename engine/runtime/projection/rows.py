"""Rows beside an instance: waits, the signals that wake them, receipts, and the intents of outside calls."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from engine.kernel.effects import SIGNAL_OF_WAIT, ClosedWait, MakeCall, MakeCallLater, Slice, Wait, WaitKind
from engine.kernel.errors import error_names
from engine.kernel.machine.four_eyes import everybody
from engine.kernel.machine.throttle_slots import places_of
from engine.kernel.signals import CallFailed, CallSucceeded, ChildEnded, SignalType
from engine.runtime.commit import Row
from engine.runtime.projection.stage import NEVER, PROVIDER, STANDING_STILL, Delivery, Loaded, Stage
from engine.runtime.projection.tasks import close_task, open_task
from workflowplatform.ids import uuid7


def add_receipts(stage: Stage) -> None:
    """Note what became of each signal, and take those that were queued out of the queue."""
    for delivery, applied in zip(stage.deliveries, stage.result.applied, strict=True):
        if delivery.type is None:
            continue
        stage.batch.add(
            "receipts",
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


def add_closed(stage: Stage) -> None:
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
    happening = delivery.happening if delivery else None
    status, result = "withdrawn", None
    if isinstance(happening, CallSucceeded):
        status, result = "succeeded", happening.value
    elif isinstance(happening, CallFailed):
        status = "failed"
        result = {"class": happening.error_class, "code": happening.code, "message": happening.message}
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


def add_places(stage: Stage) -> None:
    """Write which places under throttles the instance asks for, and take away those that it left."""
    before, after = places_of(stage.loaded.snapshot), places_of(stage.result.snapshot)
    stage.batch.extend(
        "left_places", ({"instance_id": stage.instance_id, "run": run} for run in before if run not in after)
    )
    for run, place in after.items():
        if run not in before:
            row = {"run": run, "key": place.key, "most": place.limit, "asked_at": stage.now}
            stage.batch.add("new_places", row | {"instance_id": stage.instance_id, "tenant_id": stage.tenant_id})


def add_opened(stage: Stage) -> dict[int, UUID]:
    """Add waits with what each needs beside it; return the ids of new tasks by token."""
    task_ids: dict[int, UUID] = {}
    for wait in stage.result.opened:
        stage.batch.add("new_waits", _wait(stage, wait))
        if wait.kind in SIGNAL_OF_WAIT:
            stage.batch.add(
                "new_signals", signal_row(stage, SIGNAL_OF_WAIT[wait.kind], wait.token, _wakes_at(stage, wait))
            )
        if wait.call:
            stage.batch.add("new_effects", _effect(stage, wait, wait.call))
        if wait.task:
            task_ids[wait.token] = open_task(stage, wait, wait.task)
    for effect in stage.result.effects:
        if isinstance(effect, MakeCallLater):
            _call_later(stage, effect)
    return task_ids


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


def _wakes_at(stage: Stage, wait: Wait) -> datetime:
    """Say when a wait's signal is due: a call at once (its own date is the answer's deadline), a timer at its time."""
    return stage.now if wait.kind is WaitKind.CALL else wait.due_at or stage.now


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


def tell_parent(stage: Stage) -> None:
    """Tell the parent's wait how this instance ended."""
    if stage.loaded.parent_token is not None and stage.ends and not stage.parent_told:
        tell_of_child(stage, child_ended(stage.loaded, stage.result), stage.loaded.parent_id)


def child_ended(loaded: Loaded, result: Slice) -> ChildEnded:
    """Say to a parent's wait what came of a child."""
    error = error_names(result.error) if result.error else None
    return ChildEnded(
        loaded.parent_token or 0, result.status.value, result.outcome, result.output, error, str(loaded.instance_id),
        result.snapshot.waited, everybody(result.snapshot.people), result.snapshot.operated,
    )  # fmt: skip


def tell_of_child(stage: Stage, ended: ChildEnded, parent_id: UUID | None) -> None:
    """Queue what came of a child for the parent that waits for it."""
    row = signal_row(stage, SignalType.SUB_WORKFLOW_COMPLETED, ended.token, stage.now)
    payload = asdict(ended)
    del payload["token"]
    if not ended.operated:  # the release before does not know the word
        del payload["operated"]
    own = {"instance_id": str(parent_id), "expected_version": None, "payload": payload}
    stage.batch.add("new_signals", row | own | {"due_at": stage.now, "held_due_at": None})


def hold_or_free_signals(stage: Stage) -> None:
    """Keep the signals of an instance that stands still; give them back their time when it goes on."""
    was_held = stage.loaded.status in STANDING_STILL
    if stage.is_birth or was_held == stage.is_held:
        return
    stage.batch.add(
        "signals_held" if stage.is_held else "signals_freed",
        {
            "instance_id": stage.instance_id,
            "except_ids": [delivery.signal_id for delivery in stage.deliveries],
            "except_tokens": [closed.token for closed in stage.result.closed],
        },
    )
