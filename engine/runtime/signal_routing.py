"""Deliver a named signal to the instances that wait for its name and key, or keep it for a later wait.

Opening a wait and accepting a signal both take the same advisory lock before they look at each other; otherwise a kept signal and
an open wait could miss each other for ever. What is addressed to an instance becomes a row in the queue, like everything that
concerns another instance; nobody's claim is taken here, so that no two locks can cross.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from engine.db.advisory_locks import lock_name, take_locks
from engine.kernel.effects import Emit, Wait, WaitKind
from engine.kernel.signals import SignalType
from engine.kernel.timing.periods import parse_period
from engine.models import KeptSignal, Signal
from engine.runtime.projection.stage import NEVER
from workflowplatform.ids import uuid7

OPEN_WAITS = """
SELECT w.instance_id, w.token FROM wf_waits w
WHERE w.tenant_id = %(tenant)s AND w.name = %(name)s AND w.key = %(key)s AND NOT EXISTS (
  SELECT FROM wf_signals s WHERE s.instance_id = w.instance_id AND s.waiting_token = w.token AND s.type = 'ExternalSignal')
ORDER BY w.side, w.opened_at, w.instance_id, w.token
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a keyed signal goes, or what a keyed wait listens for."""

    tenant_id: UUID
    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Routed:
    """The instances that a signal reached, and whether it is kept for a later wait."""

    delivered: tuple[UUID, ...]
    kept: bool


def hold_addresses(addresses: Iterable[Address]) -> None:
    """Take the locks of these addresses until the transaction ends, in one order."""
    take_locks(*(lock_name(address.tenant_id, address.name, address.key) for address in addresses))


def route(
    address: Address,
    payload: Any,
    *,
    now: datetime,
    ttl: str | None = None,
    everybody: bool = False,
    by: str | None = None,
) -> Routed:
    """Queue a signal for the oldest open wait of its address (or for every one), else keep it while its ttl lasts.

    The caller holds the address.
    """
    found = _open_waits(address)
    for instance_id, token in found if everybody else found[:1]:
        _queue(address, instance_id, token, payload, now, by)
    reached = tuple(instance_id for instance_id, _ in (found if everybody else found[:1]))
    kept = not reached and not everybody and _keep(address, payload, now, ttl, by)
    return Routed(reached, kept)


def _open_waits(address: Address) -> list[tuple[UUID, int]]:
    with connection.cursor() as cursor:
        cursor.execute(OPEN_WAITS, {"tenant": address.tenant_id, "name": address.name, "key": address.key})
        found: list[tuple[UUID, int]] = cursor.fetchall()
    return found


def _queue(address: Address, instance_id: UUID, token: int, payload: Any, now: datetime, by: str | None) -> None:
    """Queue a signal with its sender, whom four eyes may keep from what it would end."""
    content = {"name": address.name, "key": address.key, "payload": payload, **({"by": by} if by else {})}
    queue_signal(address.tenant_id, instance_id, SignalType.EXTERNAL_SIGNAL, now, token=token, payload=content)


def queue_signal(
    tenant_id: UUID,
    instance_id: UUID,
    kind: SignalType,
    now: datetime,
    *,
    token: int | None = None,
    payload: Any = None,
    signal_id: UUID | None = None,
    held: bool = False,
) -> bool:
    """Queue a signal to an instance.

    The drain asks under its claim whether the instance is suspended. Without it one could read "suspended" while the
    instance is being resumed, and the signal would be held forever. Only the holder of the claim may pass `held`.
    """
    Signal.objects.create(
        id=signal_id or uuid7(),
        tenant_id=tenant_id,
        instance_id=instance_id,
        type=kind,
        waiting_token=token,
        occurred_at=now,
        due_at=NEVER if held else now,
        held_due_at=now if held else None,
        payload=payload or {},
    )
    return True


def queue_signals(tenant_id: UUID, instance_ids: Iterable[UUID], kind: SignalType, now: datetime) -> int:
    """Queue the same signal to many instances, in few statements; return how many."""
    rows = (
        Signal(id=uuid7(), tenant_id=tenant_id, instance_id=one, type=kind, occurred_at=now, due_at=now, payload={})
        for one in instance_ids
    )
    return len(Signal.objects.bulk_create(rows, batch_size=1_000))


def _keep(address: Address, payload: Any, now: datetime, ttl: str | None, by: str | None) -> bool:
    expires_at = parse_period(ttl).after(now) if ttl else now
    if expires_at <= now:
        return False
    KeptSignal.objects.create(
        tenant_id=address.tenant_id,
        name=address.name,
        key=address.key,
        payload=payload,
        sent_by_name=by or "",
        sent_at=now,
        expires_at=expires_at,
    )
    return True


def addresses_of(tenant_id: UUID, opened: Sequence[Wait], emits: Sequence[Emit]) -> list[Address]:
    """Return the addresses that a slice listens at or sends to."""
    listened = [Address(tenant_id, wait.name, wait.key) for wait in opened if wait.name and wait.key is not None]
    sent = [Address(tenant_id, emit.name, emit.key) for emit in emits if emit.kind == "signal" and emit.key is not None]
    return listened + sent


def take_kept_signals(tenant_id: UUID, instance_id: UUID, opened: Sequence[Wait], now: datetime) -> int:
    """Deliver to each newly opened keyed wait the oldest kept signal of its address, if there is one; return how many."""
    taken = 0
    for wait in opened:
        if wait.kind is not WaitKind.SIGNAL or wait.side or not wait.name or wait.key is None:
            continue
        address = Address(tenant_id, wait.name, wait.key)
        kept = KeptSignal.objects.filter(tenant_id=tenant_id, name=wait.name, key=wait.key, expires_at__gt=now).first()
        if kept is not None and (instance_id, wait.token) in _open_waits(address):
            _queue(address, instance_id, wait.token, kept.payload, now, kept.sent_by_name)
            kept.delete()
            taken += 1
    return taken
