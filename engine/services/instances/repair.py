"""Repair instances: suspend and resume, retry or skip what failed, replay or discard dead letters.

Each act is refused in a wrong status with the status named, takes the instance's claim first, and leaves its reason in the audit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Min, QuerySet
from django.db.models.fields.json import KT

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.forms import FieldError, refuse_unsafe_json
from engine.kernel.machine.edited_input import can_be_edited
from engine.kernel.signals import Event, StepRetried, StepSkipped
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus
from engine.models import Audit, DeadLetter, Instance, Signal, SignalReceipt, StepRun
from engine.runtime import claims, coordinator, moves
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import NEVER, Delivery
from engine.services.instances.four_eyes_guard import barred_inside, refuse_barred, refuse_passing
from engine.services.instances.lifecycle import instance_now
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.ids import uuid7


def _claimed(actor: Actor, instance_id: UUID) -> Instance:
    """Return an instance that the actor may operate, claimed, as it is now."""
    instance = access.instance_to_operate(actor, instance_id)
    claims.lock([instance.pk])
    instance.refresh_from_db()
    return instance


def _require_status(instance: Instance, allowed: Sequence[InstanceStatus], act: str) -> None:
    if instance.status not in allowed:
        wanted = " or ".join(allowed)
        message = f"This instance is {instance.status}; only one that is {wanted} can be {act}."
        raise Conflict(message, code="status", status=instance.status)


@in_one_transaction
def suspend_instance(*, actor: Actor, instance_id: UUID, reason: str = "") -> Instance:
    """Suspend an instance: nothing happens to it until it is resumed; its timers keep their time."""
    instance = _claimed(actor, instance_id)
    _require_status(instance, (InstanceStatus.RUNNING, InstanceStatus.INCIDENT), "suspended")
    moves.suspend(instance, actor=actor, reason=reason)
    return instance_now(instance.pk)


@in_one_transaction
def resume_instance(*, actor: Actor, instance_id: UUID, reason: str = "") -> Instance:
    """Resume a suspended instance; what became due meanwhile is delivered now. One with an error is an incident again."""
    instance = _claimed(actor, instance_id)
    _require_status(instance, (InstanceStatus.SUSPENDED,), "resumed")
    moves.resume(instance, actor=actor, reason=reason)
    return instance_now(instance.pk)


@in_one_transaction
def retry_step(
    *,
    actor: Actor,
    instance_id: UUID,
    step: str | None = None,
    input: Mapping[str, Any] | None = None,  # noqa: A002  the domain's own word
    reason: str = "",
) -> Instance:
    """Run the failed step of an incident again, from where it is; with an edited input if one is given."""
    instance = _claimed(actor, instance_id)
    _require_status(instance, (InstanceStatus.INCIDENT,), "retried")
    if input is not None:
        step = step or (instance.error or {}).get("step")
        input = _checked_input(instance, step, input)  # noqa: A001
        refuse_passing(actor, instance, step)
    edit = None if input is None else {"input": input}
    record(instance, Act("retry_workflow", step=step, cause=reason, new=edit), actor=actor)
    return _repair(actor, instance, StepRetried(run=_failed_run(instance, step), input=input, by=actor.name))


def _checked_input(instance: Instance, name: str | None, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse an edit that the step cannot take; fill in what its schema says."""
    step = definition_of(instance.version_id).steps.get(name or "")
    if step is None or not can_be_edited(step):
        message = "This step has no input that can be edited."
        raise Invalid(message, [FieldError("input", "no_input", message)])
    if definition_of(instance.version_id).secrets.get(step.id):
        message = "This step uses secrets, and an edited request could send them elsewhere. Fix the template instead."
        raise Invalid(message, [FieldError("input", "secrets", message)])
    unsafe = tuple(refuse_unsafe_json(given))
    check = step.spec.get("input_schema") if "input" in step.spec else None
    values, errors = check(given) if check is not None and not unsafe else (given, unsafe)
    if errors:
        raise Invalid("The edited input is invalid.", [replace(one, path=f"input.{one.path}") for one in errors])
    return dict(values)


@in_one_transaction
def skip_step(*, actor: Actor, instance_id: UUID, reason: str, step: str | None = None, output: Any = None) -> Instance:
    """Pass over the failed step of an incident, with the output that it should have had."""
    instance = _claimed(actor, instance_id)
    _require_status(instance, (InstanceStatus.INCIDENT,), "skipped over")
    if not reason.strip():
        message = "Enter a reason for skipping the step. It is stored with the instance."
        raise Invalid(message, [FieldError("reason", "required", message)])
    refuse_passing(actor, instance, step or (instance.error or {}).get("step"))
    run = _failed_run(instance, step)
    return _repair(actor, instance, StepSkipped(run=run, output=output, reason=reason, by=actor.name))


def _failed_run(instance: Instance, step: str | None) -> int | None:
    """Return the failed run of a step by name, or None for whichever failed first."""
    if step is None:
        return None
    runs = StepRun.objects.filter(instance=instance, step=step).order_by("run", "attempt")
    last = dict(runs.values_list("run", "status"))
    failed = max((run for run, status in last.items() if status == "failed"), default=None)
    if failed is None:
        message = f"No step named {step} has failed here."
        raise Invalid(message, [FieldError("step", "unknown_step", message)])
    return failed


def _repair(actor: Actor, instance: Instance, event: Event) -> Instance:
    delivery = Delivery(event, None, uuid7(), actor, queued=False)
    inside = barred_inside(actor, instance)
    advanced = coordinator.deliver(instance_id=instance.pk, deliveries=[delivery], actor=actor)
    refuse_barred(actor, instance, advanced, inside)
    if not advanced.applied[0]:
        raise Conflict("No step has failed here. Look at the dead letters of the instance.", code="status")
    return instance_now(instance.pk)


# Dead letters


def list_dead_letters(*, actor: Actor) -> QuerySet[DeadLetter]:
    """Return the tenant's dead letters, for those who operate."""
    access.require_level(actor, TO_OPERATE, "see dead letters")
    return access.visible_dead_letters(actor)


def letter_of(actor: Actor, letter_id: UUID) -> DeadLetter:
    """Return a dead letter of an instance that the actor operates, claimed."""
    _claimed(actor, _visible_letter(actor, letter_id).instance_id)
    return _visible_letter(actor, letter_id)  # another may have acted on it while this one waited


def _visible_letter(actor: Actor, letter_id: UUID) -> DeadLetter:
    letter = list_dead_letters(actor=actor).filter(pk=letter_id).first()
    if letter is None:
        raise NotFound
    return letter


@in_one_transaction
def replay_dead_letter(*, actor: Actor, letter_id: UUID, reason: str = "") -> Instance:
    """Put a dead letter back into the queue, with fresh attempts; its instance continues."""
    letter = letter_of(actor, letter_id)
    instance = Instance.objects.get(pk=letter.instance_id)
    if instance.status in TERMINAL_INSTANCE:
        raise Conflict(f"This instance is {instance.status}: its dead letter can only be discarded.", code="status")
    _requeue(letter)
    letter.delete()
    record(instance, Act("replay_dead_letter", cause=reason, old={"reason": letter.reason}), actor=actor)
    _go_on_after_replay(actor, instance)
    return instance_now(instance.pk)


def _go_on_after_replay(actor: Actor, instance: Instance) -> None:
    """Continue an instance that stopped only for its dead letters, once none is left; a suspended one when resumed."""
    if instance.status == InstanceStatus.RUNNING:
        moves.release_signals(instance)
    elif _is_letters_incident(instance) and not DeadLetter.objects.filter(instance=instance).exists():
        moves.resolve_incident(instance, actor=actor, reason="its dead letter was replayed")


def _was_replayed(instance: Instance) -> bool:
    """Return whether a dead letter was replayed since the instance became an incident."""
    acts = Audit.objects.filter(subject_id=instance.pk, action__in=("raise_incident", "replay_dead_letter"))
    return acts.order_by("-seq").values_list("action", flat=True).first() == "replay_dead_letter"


def _is_letters_incident(instance: Instance) -> bool:
    return (instance.error or {}).get("code") == "dead_letter"


def _requeue(letter: DeadLetter) -> None:
    envelope = letter.envelope
    now = database_now()
    Signal.objects.create(
        id=envelope["id"],
        tenant_id=letter.tenant_id,
        instance_id=letter.instance_id,
        type=envelope["type"],
        expected_version=envelope["expected_version"],
        waiting_token=envelope["waiting_token"],
        occurred_at=datetime.fromisoformat(envelope["occurred_at"]).astimezone(UTC),
        due_at=NEVER,
        held_due_at=now,
        payload=envelope["payload"],
    )


@in_one_transaction
def discard_dead_letter(*, actor: Actor, letter_id: UUID, reason: str = "") -> Instance:
    """Delete a dead letter without applying it. The instance stays an incident: retry, skip or cancel what waited for it.

    If another of its dead letters was replayed, that one waited for this to be settled, and the instance continues.
    """
    letter = letter_of(actor, letter_id)
    instance = Instance.objects.get(pk=letter.instance_id)
    SignalReceipt.objects.update_or_create(
        id=letter.envelope["id"],
        defaults={
            "tenant_id": letter.tenant_id,
            "instance": instance,
            "type": letter.envelope["type"],
            "waiting_token": letter.envelope["waiting_token"],
            "disposition": "discarded",
            "at": database_now(),
        },
    )
    record(instance, Act("discard_dead_letter", cause=reason, old={"reason": letter.reason}), actor=actor)
    letter.delete()
    if _was_replayed(instance):
        _go_on_after_replay(actor, instance)
    return instance_now(instance.pk)


# Incidents


@dataclass(frozen=True, slots=True)
class IncidentGroup:
    """Instances that stopped for the same cause."""

    template: str
    step: str | None
    error_class: str
    code: str
    message: str
    instances: tuple[UUID, ...]

    @property
    def cause(self) -> str:
        """Name the cause in one text, so that a page can ask for all of it."""
        return json.dumps([self.template, self.step, self.error_class, self.code])


def incidents_by_cause(*, actor: Actor) -> list[IncidentGroup]:
    """Return the tenant's incidents, those with one cause together, largest group first."""
    access.require_level(actor, TO_OPERATE, "see incidents")
    incidents = access.visible_instances(actor).filter(status=InstanceStatus.INCIDENT).order_by()
    causes = incidents.values(
        "template__name", step=KT("error__step"), error_class=KT("error__class"), error_code=KT("error__code")
    )
    found = causes.annotate(message=Min(KT("error__message")), members=ArrayAgg("pk", order_by="pk"))
    groups = [
        IncidentGroup(
            row["template__name"],
            row["step"],
            row["error_class"] or "",
            row["error_code"] or "",
            row["message"] or "",
            tuple(row["members"]),
        )
        for row in found
    ]
    return sorted(groups, key=lambda group: (-len(group.instances), group.instances[0]))
