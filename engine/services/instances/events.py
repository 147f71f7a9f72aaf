"""Accept events from outside: each starts every active template that listens for it, once per event id."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.interpreter.triggers import EventStart
from engine.models import TemplateVersion
from engine.runtime import coordinator
from engine.runtime.concurrency_limits import has_place
from engine.runtime.cross_instance import listeners
from engine.runtime.environment import Allowance
from engine.services.idempotency import digest_of
from engine.services.instances.lifecycle import queue_start
from engine.services.instances.sent_ids import earlier_answer, remember
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class RefusedStart:
    """A template that listens for an event and was not started by it, and why."""

    template: str
    code: str
    message: str
    errors: tuple[FieldError, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Write it as it is kept for repetitions."""
        errors = [{"path": one.path, "code": one.code, "message": one.message} for one in self.errors]
        return {"template": self.template, "code": self.code, "message": self.message, "errors": errors}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "RefusedStart":
        """Read what was kept."""
        return cls(**{**kept, "errors": tuple(FieldError(**error) for error in kept["errors"])})


@dataclass(frozen=True, slots=True)
class AcceptedEvent:
    """What an event started and what refused it; the same for every repetition of its id."""

    started: tuple[UUID, ...]
    refused: tuple[RefusedStart, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Write it as it is kept for repetitions."""
        return {"started": [str(one) for one in self.started], "refused": [one.as_json() for one in self.refused]}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "AcceptedEvent":
        """Read what was kept."""
        refused = tuple(RefusedStart.of(one) for one in kept.get("refused", ()))
        return cls(tuple(UUID(text) for text in kept["started"]), refused)


@in_one_transaction
def accept_event(
    *, actor: Actor, name: str, external_id: str, payload: Any = None, key: str | None = None
) -> AcceptedEvent:
    """Start what listens for this event. The same id again from the same sender starts nothing and gets the same answer."""
    access.require_level(actor, TO_OPERATE, "send events")
    _refuse_bad(name, external_id, payload)
    take_locks(lock_name(actor.tenant_id, "event", external_id))  # two arrivals of one event wait for each other
    content = digest_of({"payload": payload, "key": key})
    earlier = earlier_answer(actor, "event", name, external_id, payload=payload, content=content)
    if earlier is not None:
        return AcceptedEvent.of(earlier)
    became = list(_start_listeners(actor, name, payload))
    accepted = AcceptedEvent(
        tuple(one for one in became if isinstance(one, UUID)),
        tuple(one for one in became if isinstance(one, RefusedStart)),
    )
    answer = accepted.as_json()
    remember(actor, "event", name, external_id, key=key, payload=payload, content=content, answer=answer)
    return accepted


def _start_listeners(actor: Actor, name: str, payload: Any) -> Iterator[UUID | RefusedStart]:
    """Start each listener, or say why it was not."""
    allowance = Allowance()
    for version, given, errors in listeners(actor.tenant_id, name, payload, database_now()):
        if errors:
            yield RefusedStart(version.template.name, "invalid", "The payload is invalid.", within_payload(errors))
            continue
        try:
            with transaction.atomic():
                started = _start(actor, version, given, at_once=allowance.take_start())
            yield started
        except Conflict as refusal:
            record(version.template, Act("refuse_event", cause=refusal.message, new={"event": name}), actor=actor)
            yield RefusedStart(version.template.name, refusal.code, refusal.message)


def _start(actor: Actor, version: TemplateVersion, given: EventStart, *, at_once: bool) -> UUID:
    """Start one listener, or let it wait for its turn; where its author refuses at the limit, the refusal is on record.

    Where very many listen, those beyond a transaction's allowance are begun by a worker.
    """
    if version.is_limited and not has_place(version):
        return queue_start(actor=actor, version=version, values=given.input, reference=given.reference).pk
    how: dict[str, Any] = {"template": version.template.name, "values": given.input, "reference": given.reference}
    if not at_once:
        return coordinator.start_later(actor=actor, version=version, **how)
    return coordinator.start(actor=actor, version=version, **how).instance_id


def within_payload(errors: Sequence[FieldError]) -> tuple[FieldError, ...]:
    """Name fields as the sender wrote them."""
    return tuple(replace(error, path=f"payload.{error.path}".rstrip(".")) for error in errors)


def _refuse_bad(name: str, external_id: str, payload: Any) -> None:
    errors = [*within_payload(refuse_unsafe_json(payload))]
    for field, text in (("name", name), ("id", external_id)):
        if not 0 < len(text) <= MAX_TEXT:
            errors.append(FieldError(field, "length", f"Use 1 to {MAX_TEXT} characters."))
    if errors:
        raise Invalid("The event is invalid.", errors)
