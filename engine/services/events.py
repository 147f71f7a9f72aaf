"""Accept events from outside: each starts every active template that listens for it, once per event id."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from engine import access, coordinator
from engine.admission import has_place, is_limited
from engine.audit import Act, database_now, record
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.triggers import EventStart
from engine.models import Event, TemplateVersion
from engine.outward import listeners
from engine.services.instances import queue_start
from engine.transactions import in_one_transaction
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class AcceptedEvent:
    """What an event started; the same for every repetition of its id."""

    started: tuple[UUID, ...]


@in_one_transaction
def accept_event(
    *, actor: Actor, name: str, external_id: str, payload: Any = None, key: str | None = None
) -> AcceptedEvent:
    """Start what listens for this event. The same id again starts nothing and gets the same answer."""
    access.require_level(actor, TO_OPERATE, "send events")
    _refuse_bad(name, external_id, payload)
    _hold(actor.tenant_id, external_id)
    earlier = Event.objects.filter(tenant_id=actor.tenant_id, kind="event", external_id=external_id).first()
    if earlier is not None:
        return AcceptedEvent(tuple(UUID(text) for text in earlier.answer["started"]))
    started = tuple(_start_listeners(actor, name, payload))
    Event.objects.create(
        tenant_id=actor.tenant_id,
        kind="event",
        name=name,
        external_id=external_id,
        key=key,
        payload=payload,
        answer={"started": [str(instance_id) for instance_id in started]},
        actor_name=actor.name,
        at=database_now(),
    )
    return AcceptedEvent(started)


def _start_listeners(actor: Actor, name: str, payload: Any) -> Iterator[UUID]:
    for version, given in listeners(actor.tenant_id, name, payload, database_now()):
        try:
            with transaction.atomic():
                started = _start(actor, version, given)
            yield started
        except Conflict as refusal:
            record(version.template, Act("refuse_event", cause=refusal.message, new={"event": name}), actor=actor)


def _start(actor: Actor, version: TemplateVersion, given: EventStart) -> UUID:
    """Start one listener, or let it wait for its turn; where its author refuses at the limit, the refusal is on record."""
    if is_limited(version) and not has_place(version):
        return queue_start(actor=actor, version=version, values=given.input, reference=given.reference).pk
    name = version.template.name
    advanced = coordinator.start(
        actor=actor, version=version, template=name, values=given.input, reference=given.reference
    )
    return advanced.instance_id


def _hold(tenant_id: UUID, external_id: str) -> None:
    """Let two arrivals of one event wait for each other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{tenant_id}\nevent\n{external_id}"])


def _refuse_bad(name: str, external_id: str, payload: Any) -> None:
    errors = [
        FieldError(f"payload.{error.path}".rstrip("."), error.code, error.message)
        for error in refuse_unsafe_json(payload)
    ]
    for field, text in (("name", name), ("id", external_id)):
        if not 0 < len(text) <= MAX_TEXT:
            errors.append(FieldError(field, "length", f"Use 1 to {MAX_TEXT} characters."))
    if errors:
        raise Invalid("The event cannot be read.", errors)
