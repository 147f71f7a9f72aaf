"""Do one act to many rows: each in a transaction of its own, each with its own result, so that one refusal stops no other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from engine.errors import Invalid, WorkflowError
from engine.models import Instance
from engine.services import operations
from engine.services.instances import cancel_instance
from workflowplatform.accounts.actor import Actor

MOST = 500
"""How many instances one request may mend."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one row."""

    id: UUID
    ok: bool
    text: str


def _retry(actor: Actor, instance_id: UUID, reason: str) -> str:
    return _told(operations.retry_step(actor=actor, instance_id=instance_id, reason=reason))


def _skip(actor: Actor, instance_id: UUID, reason: str) -> str:
    return _told(operations.skip_step(actor=actor, instance_id=instance_id, reason=reason))


def _cancel(actor: Actor, instance_id: UUID, reason: str) -> str:
    return _told(cancel_instance(actor=actor, instance_id=instance_id, reason=reason))


def _told(instance: Instance) -> str:
    return f"{instance}: {instance.status}"


ACTS: dict[str, Callable[[Actor, UUID, str], str]] = {"retry": _retry, "skip": _skip, "cancel": _cancel}


def mend_instances(*, actor: Actor, action: str, instance_ids: Iterable[UUID], reason: str = "") -> list[Outcome]:
    """Retry, skip or cancel several instances; tell what became of each."""
    wanted = list(dict.fromkeys(instance_ids))
    if action not in ACTS:
        raise Invalid(f"Use one of {', '.join(ACTS)}.", [])
    if len(wanted) > MOST:
        raise Invalid(f"Choose at most {MOST} at once.", [])
    return [_one(ACTS[action], actor, instance_id, reason) for instance_id in wanted]


def _one(act: Callable[[Actor, UUID, str], str], actor: Actor, instance_id: UUID, reason: str) -> Outcome:
    try:
        return Outcome(instance_id, True, act(actor, instance_id, reason))
    except WorkflowError as refusal:
        return Outcome(instance_id, False, refusal.message)
