"""Change an instance's status outside a slice: one function per legal move.

A slice changes the status through engine.runtime.projection. Everything else goes through here, and every move writes the same
rows: the audit entry, the instance, its runtime row with the next version, its signals where they are held or released, and the
throttle slots that are free now. Call each move under the instance's claim; a queued instance has no claim, there the lock on its
row takes that place. tests/services/test_moves.py finds any other writer.
"""

from datetime import datetime
from typing import Any

from django.db.models import F

from engine.audit.chain import Act, database_now, record
from engine.db.transactions import announce_on_commit
from engine.kernel.signals import Json, SignalType
from engine.kernel.transitions import INSTANCE_MOVES, InstanceStatus, Result
from engine.models import Instance, RuntimeState, Signal
from engine.runtime.projection import NEVER
from engine.runtime.signal_routing import queue_signal
from engine.runtime.throttles import look_after
from workflowplatform.accounts.actor import Actor, engine_actor


def suspend(instance: Instance, *, actor: Actor, reason: str) -> None:
    """Hold the instance and its signals until it is resumed; timers keep their time."""
    _write(instance, InstanceStatus.SUSPENDED, Act("suspend_workflow", cause=reason), actor)
    _hold_signals(instance)


def resume(instance: Instance, *, actor: Actor, reason: str) -> None:
    """Resume the instance, or make it an incident again if its error is still there."""
    status = InstanceStatus.INCIDENT if instance.error else InstanceStatus.RUNNING
    _write(instance, status, Act("resume_workflow", cause=reason), actor)
    if status is InstanceStatus.RUNNING:
        release_signals(instance)


def resolve_incident(instance: Instance, *, actor: Actor, reason: str) -> None:
    """Clear the error of an instance; one that stopped because of it continues, a suspended one waits to be resumed."""
    continues = instance.status == InstanceStatus.INCIDENT
    act = Act("resume_workflow" if continues else "resolve_incident", cause=reason)
    status = InstanceStatus.RUNNING if continues else InstanceStatus(instance.status)
    runtime = {"last_error_code": None, "last_error_json": None}
    _write(instance, status, act, actor, columns={"error": None}, runtime=runtime)
    instance.error = None
    if continues:
        release_signals(instance)


def raise_incident(instance: Instance, error: dict[str, Json]) -> None:
    """Stop the instance because of an error, and hold its signals until an operator resolves it."""
    act = Act("raise_incident", new={"message": error["message"]})
    runtime = {"last_error_code": error["code"], "last_error_json": error}
    _write(
        instance,
        InstanceStatus.INCIDENT,
        act,
        engine_actor(instance.tenant_id),
        columns={"error": error},
        runtime=runtime,
    )
    _hold_signals(instance)


def admit_queued(instance: Instance, now: datetime) -> None:
    """Start a queued instance."""
    _write(instance, InstanceStatus.RUNNING, Act("admit_workflow"), engine_actor(instance.tenant_id), now=now)
    queue_signal(instance.tenant_id, instance.pk, SignalType.INTERNAL_CONTINUE, now)


def cancel_queued(instance: Instance, *, actor: Actor, reason: str) -> None:
    """End an instance that never ran."""
    now = database_now()
    act = Act("cancel_workflow", cause=reason)
    columns = {"result": Result.CANCELLED, "ended_at": now}
    _write(instance, InstanceStatus.CANCELLED, act, actor, now=now, columns=columns, runtime={"completed_at": now})


def _write(
    instance: Instance,
    status: InstanceStatus,
    act: Act,
    actor: Actor,
    *,
    now: datetime | None = None,
    columns: dict[str, Any] | None = None,
    runtime: dict[str, Any] | None = None,
) -> None:
    """Write a move everywhere it shows; the audit says from which status to which."""
    old = InstanceStatus(instance.status)
    is_resolved = act.action == "resolve_incident" and old == status == InstanceStatus.SUSPENDED
    assert is_resolved or status in INSTANCE_MOVES[old], f"{old} → {status} is not a legal move"
    now = now or database_now()
    new = status if act.new is None else act.new
    record(instance, Act(act.action, cause=act.cause, old=old, new=new), actor=actor)
    Instance.objects.filter(pk=instance.pk).update(status=status, updated_at=now, **columns or {})
    RuntimeState.objects.filter(pk=instance.pk).update(
        runtime_status=status, updated_at=now, state_version=F("state_version") + 1, **runtime or {}
    )
    instance.status = status
    look_after(instance.tenant_id, instance.pk)


def _hold_signals(instance: Instance) -> None:
    """Keep signals from falling due; a parent's end reaches its child all the same."""
    due = Signal.objects.filter(instance_id=instance.pk, held_due_at__isnull=True)
    due.exclude(type=SignalType.PARENT_ENDED).update(held_due_at=F("due_at"), due_at=NEVER)


def release_signals(instance: Instance) -> None:
    """Set held signals back to their own time, and wake the workers for them."""
    Signal.objects.filter(instance_id=instance.pk, held_due_at__isnull=False).update(
        due_at=F("held_due_at"), held_due_at=None
    )
    dues = Signal.objects.filter(instance_id=instance.pk).values_list("due_at", flat=True)
    announce_on_commit(list(dues), database_now())
