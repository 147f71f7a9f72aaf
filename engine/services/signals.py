"""Send named signals: to one instance, or to whoever waits for a name and key."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from engine import access, coordinator
from engine.audit import Act, database_now, record
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.periods import parse_period
from engine.kernel.signals import NamedSignal, SignalType
from engine.kernel.transitions import InstanceStatus
from engine.models import Event, Instance, Signal, SignalReceipt
from engine.outbox import announce_on_commit
from engine.projection import STANDING_STILL, Delivery
from engine.routing import Address, hold_addresses, queue_signal, route
from engine.transactions import in_one_transaction
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
    """Whom a keyed signal reached, and whether it is kept for somebody else."""

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
) -> Sent:
    """Send a named signal to an instance. The same id again gets the same answer and has no second effect."""
    instance = access.instance_to_operate(actor, instance_id)
    _refuse_bad(name, payload)
    coordinator.lock([instance.pk])
    instance.refresh_from_db()
    receipt_id = uuid7() if signal_id is None else _receipt_id(instance.pk, signal_id)
    if (earlier := _earlier(receipt_id)) is not None:
        return earlier
    if instance.is_over:
        raise Conflict(
            f"This instance is {instance.status}; nobody waits there.", code="status", status=instance.status
        )
    if instance.status == InstanceStatus.QUEUED:
        raise Conflict("This instance is queued and has not begun.", code="status", status=instance.status)
    record(instance, Act("send_signal", cause=reason, new={"name": name}), actor=actor)
    if instance.status in STANDING_STILL:
        return _hold(instance, name, payload, receipt_id)
    happening = NamedSignal(name, None, payload)
    delivery = Delivery(happening, SignalType.EXTERNAL_SIGNAL, receipt_id, actor, queued=False)
    advanced = coordinator.deliver(instance_id=instance.pk, deliveries=[delivery], actor=actor)
    kept = bool(advanced.kept and advanced.kept[0])
    if kept:
        SignalReceipt.objects.filter(pk=receipt_id).update(disposition="kept")
    return Sent(delivered=advanced.applied[0] and not kept, kept=kept)


def _hold(instance: Instance, name: str, payload: Any, signal_id: UUID) -> Sent:
    """Let a signal wait until the instance goes on; it moves nothing that stands still."""
    content, now = {"name": name, "key": None, "payload": payload}, database_now()
    kind = SignalType.EXTERNAL_SIGNAL
    queue_signal(instance.tenant_id, instance.pk, kind, now, payload=content, signal_id=signal_id, held=True)
    SignalReceipt.objects.create(  # written now, so that the answer stays the same once it is delivered
        id=signal_id, tenant_id=instance.tenant_id, instance=instance, type=kind, disposition="kept", at=now
    )
    return Sent(delivered=False, kept=True)


def _receipt_id(instance_id: UUID, signal_id: UUID | str) -> UUID:
    """Make a sender's id one of this instance: two senders may choose the same for two instances."""
    return uuid5(instance_id, str(signal_id))


def _earlier(receipt_id: UUID) -> Sent | None:
    if Signal.objects.filter(pk=receipt_id).exists():
        return Sent(delivered=False, kept=True)
    receipt = SignalReceipt.objects.filter(pk=receipt_id).first()
    return Sent(delivered=receipt.disposition == "applied", kept=receipt.disposition == "kept") if receipt else None


def _refuse_bad(name: str, payload: Any) -> None:
    errors = [
        FieldError(f"payload.{error.path}".rstrip("."), error.code, error.message)
        for error in refuse_unsafe_json(payload)
    ]
    if not 0 < len(name) <= MAX_NAME:
        errors.append(FieldError("name", "length", f"A signal's name has 1 to {MAX_NAME} characters."))
    if errors:
        raise Invalid("The signal cannot be read.", errors)


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
) -> Broadcast:
    """Send a signal to the oldest wait for this name and key (or to every one); keep it for its ttl if nobody waits yet."""
    access.require_level(actor, TO_OPERATE, "send signals")
    _refuse_bad(name, payload)
    _refuse_bad_key(key, ttl)
    address = Address(actor.tenant_id, name, key)
    hold_addresses([address])
    if external_id is not None and (earlier := _accepted(actor, external_id)) is not None:
        return earlier
    now = database_now()
    routed = route(address, payload, now=now, ttl=ttl, everybody=everybody)
    answer = Broadcast(routed.delivered, routed.kept)
    if external_id is not None:
        _accept(actor, address, external_id, payload, answer)
    announce_on_commit([now] if routed.delivered else [], now)
    return answer


def _refuse_bad_key(key: str, ttl: str | None) -> None:
    if not 0 < len(key) <= MAX_NAME:
        message = f"A key has 1 to {MAX_NAME} characters."
        raise Invalid(message, [FieldError("key", "length", message)])
    try:
        parse_period(ttl or "PT0S")
    except ValueError as error:
        message = "Write the ttl as an ISO duration of at most 200 years, such as P2D or PT30M."
        raise Invalid(message, [FieldError("ttl", "period", message)]) from error


def _accepted(actor: Actor, external_id: str) -> Broadcast | None:
    event = Event.objects.filter(tenant_id=actor.tenant_id, kind="signal", external_id=external_id).first()
    if event is None:
        return None
    return Broadcast(tuple(UUID(text) for text in event.answer["delivered"]), event.answer["kept"])


def _accept(actor: Actor, address: Address, external_id: str, payload: Any, answer: Broadcast) -> None:
    Event.objects.create(
        tenant_id=actor.tenant_id,
        kind="signal",
        name=address.name,
        external_id=external_id,
        key=address.key,
        payload=payload,
        answer={"delivered": [str(instance_id) for instance_id in answer.delivered], "kept": answer.kept},
        actor_name=actor.name,
        at=database_now(),
    )
