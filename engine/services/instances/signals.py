"""Send named signals: to one instance, or to those that wait for a name and key."""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import announce_on_commit, in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.signals import NamedSignal, SignalType
from engine.kernel.timing.periods import parse_period
from engine.kernel.transitions import InstanceStatus
from engine.models import Instance, Signal, SignalReceipt
from engine.runtime import claims, coordinator
from engine.runtime.projection import HELD_STATUSES, Delivery
from engine.runtime.signal_routing import Address, hold_addresses, queue_signal, route
from engine.services.idempotency import digest_of
from engine.services.instances.four_eyes_guard import barred_inside, refuse_barred
from engine.services.instances.sent_ids import earlier_answer, refuse_other_content, remember
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7

MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a signal to one instance."""

    delivered: bool
    kept: bool


@dataclass(frozen=True, slots=True)
class Broadcast:
    """The instances that a keyed signal reached, and whether it is kept for another one."""

    delivered: tuple[UUID, ...]
    kept: bool


@in_one_transaction
def send_signal(
    *,
    actor: Actor,
    instance_id: UUID,
    name: str,
    payload: Any = None,
    signal_id: UUID | str | None = None,
    reason: str = "",
    require: bool = False,
) -> Sent:
    """Send a named signal to an instance. The same id again gets the same answer and has no second effect.

    With `require` a signal that no wait takes at once is refused, and nothing of it stays.
    """
    instance = access.instance_to_operate(actor, instance_id)
    _refuse_bad(name, payload)
    claims.lock([instance.pk])
    instance.refresh_from_db()
    receipt_id, content = uuid7(), None
    if signal_id is not None:
        receipt_id = _receipt_id(instance.pk, actor, name, signal_id)
        content = digest_of({"payload": payload, "require": require})
        if (earlier := _earlier(instance.pk, receipt_id, signal_id, content)) is not None:
            return earlier
    if instance.is_over:
        raise Conflict(
            f"This instance is {instance.status}; nobody waits there.", code="status", status=instance.status
        )
    if instance.status == InstanceStatus.QUEUED:
        raise Conflict("This instance is queued and has not started.", code="status", status=instance.status)
    record(instance, Act("send_signal", cause=reason, new={"name": name}), actor=actor)
    if instance.status in HELD_STATUSES:
        if require:
            raise _nobody_waits(
                f"This instance is {instance.status}: it takes no signals until it runs again.", instance
            )
        return _hold(actor, instance, name, payload, receipt_id, content)
    event = NamedSignal(name, None, payload, by=actor.sender)
    delivery = Delivery(event, SignalType.EXTERNAL_SIGNAL, receipt_id, actor, queued=False, content=content)
    inside = barred_inside(actor, instance)
    advanced = coordinator.deliver(instance_id=instance.pk, deliveries=[delivery], actor=actor)
    refuse_barred(actor, instance, advanced, inside)
    kept = bool(advanced.kept and advanced.kept[0])
    if require and (kept or not advanced.applied[0]):
        raise _nobody_waits(f"No step of this instance waits for {name} now.", instance)
    if kept:
        SignalReceipt.objects.filter(pk=receipt_id).update(disposition="kept")
    return Sent(delivered=advanced.applied[0] and not kept, kept=kept)


def _nobody_waits(message: str, instance: Instance | None = None) -> Conflict:
    """Return the refusal of a signal with `require`; raising it rolls the transaction back."""
    facts = {"status": instance.status} if instance is not None else {}
    return Conflict(f"{message} It was not kept.", code="nobody_waits", **facts)


def _hold(actor: Actor, instance: Instance, name: str, payload: Any, signal_id: UUID, content: str | None) -> Sent:
    """Queue a signal that is held until the instance continues."""
    sent, now = {"name": name, "key": None, "payload": payload, "by": actor.sender}, database_now()
    kind = SignalType.EXTERNAL_SIGNAL
    queue_signal(instance.tenant_id, instance.pk, kind, now, payload=sent, signal_id=signal_id, held=True)
    SignalReceipt.objects.create(  # written now, so that the answer stays the same once it is delivered
        id=signal_id,
        tenant_id=instance.tenant_id,
        instance=instance,
        type=kind,
        disposition="kept",
        at=now,
        content=content,
    )
    return Sent(delivered=False, kept=True)


def _receipt_id(instance_id: UUID, actor: Actor, name: str, signal_id: UUID | str) -> UUID:
    """Derive the receipt's id from instance, sender, name and the sender's id: different senders may choose the same id."""
    return uuid5(uuid5(instance_id, "signals"), json.dumps([actor.name, name, str(signal_id)]))


def _earlier(instance_id: UUID, receipt_id: UUID, signal_id: UUID | str, content: str) -> Sent | None:
    """Return the earlier answer to this id. Older releases derived receipts from instance and id alone, without content."""
    older = uuid5(instance_id, str(signal_id))
    receipt = SignalReceipt.objects.filter(pk__in=[receipt_id, older]).first()
    if receipt is not None:
        refuse_other_content(receipt.content, content)
        return Sent(delivered=receipt.disposition == "applied", kept=receipt.disposition == "kept")
    return Sent(delivered=False, kept=True) if Signal.objects.filter(pk=older).exists() else None


def _refuse_bad(name: str, payload: Any) -> None:
    errors = [
        FieldError(f"payload.{error.path}".rstrip("."), error.code, error.message)
        for error in refuse_unsafe_json(payload)
    ]
    if not 0 < len(name) <= MAX_NAME:
        errors.append(FieldError("name", "length", f"A signal's name has 1 to {MAX_NAME} characters."))
    if errors:
        raise Invalid("The signal is invalid.", errors)


@in_one_transaction
def send_keyed_signal(
    *,
    actor: Actor,
    name: str,
    key: str,
    payload: Any = None,
    external_id: str | None = None,
    ttl: str | None = None,
    everybody: bool = False,
    require: bool = False,
) -> Broadcast:
    """Send a signal to the oldest wait for this name and key, or with `everybody` to all of them.

    If nothing waits, a signal to one is kept for its ttl. With `require` it is refused instead. The same id again gets the same
    answer and has no second effect.
    """
    access.require_level(actor, TO_OPERATE, "send signals")
    _refuse_bad(name, payload)
    _refuse_bad_key(key, ttl)
    address = Address(actor.tenant_id, name, key)
    hold_addresses([address])
    content = digest_of({"payload": payload, "ttl": ttl, "all": everybody, "require": require})
    if external_id is not None and (earlier := _accepted(actor, address, external_id, payload, content)) is not None:
        return earlier
    now = database_now()
    routed = route(address, payload, now=now, ttl=ttl, everybody=everybody, by=actor.sender)
    if require and not routed.delivered:
        raise _nobody_waits(f"Nobody waits for {name} with this key.")
    answer = Broadcast(routed.delivered, routed.kept)
    if external_id is not None:
        kept = {"delivered": [str(instance_id) for instance_id in answer.delivered], "kept": answer.kept}
        remember(actor, "signal", name, external_id, key=key, payload=payload, content=content, answer=kept)
    announce_on_commit([now] if routed.delivered else [], now)
    return answer


def _refuse_bad_key(key: str, ttl: str | None) -> None:
    if not 0 < len(key) <= MAX_NAME:
        message = f"A key has 1 to {MAX_NAME} characters."
        raise Invalid(message, [FieldError("key", "length", message)])
    try:
        parse_period(ttl or "PT0S")
    except ValueError as error:
        message = "Enter the ttl as an ISO duration of at most 200 years, such as P2D or PT30M."
        raise Invalid(message, [FieldError("ttl", "period", message)]) from error


def _accepted(actor: Actor, address: Address, external_id: str, payload: Any, content: str) -> Broadcast | None:
    """Return the earlier answer to this sender's id at this address."""
    answer = earlier_answer(
        actor, "signal", address.name, external_id, key=address.key, payload=payload, content=content
    )
    if answer is None:
        return None
    return Broadcast(tuple(UUID(text) for text in answer["delivered"]), answer["kept"])
