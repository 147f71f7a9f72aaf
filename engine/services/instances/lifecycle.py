"""Start instances and end them by hand."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from engine import access
from engine.audit.chain import database_now
from engine.db.hydration import as_read, hydrate_written, link, link_many
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError, check_values
from engine.kernel.signals import CancelCase
from engine.kernel.transitions import InstanceStatus
from engine.models import Instance, Task, TemplateVersion, Wait
from engine.models.status_labels import status_word
from engine.runtime import claims, coordinator
from engine.runtime.claims import version_to_start
from engine.runtime.concurrency_limits import admit_waiting, has_place, queue_new_instance, refuses_at_limit
from engine.runtime.coordinator import Advanced
from engine.runtime.definition_cache import definition_of
from engine.runtime.moves import cancel_queued
from engine.runtime.projection import NEVER, Delivery, new_instance
from engine.services.instances.four_eyes_guard import refuse_ending
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.ids import uuid7

MAX_REFERENCE = 200


@dataclass(frozen=True, slots=True)
class StartedInstance:
    """A new instance and the tasks that it opened."""

    instance: Instance
    tasks: tuple[Task, ...]


@in_one_transaction
def start_instance(
    *,
    actor: Actor,
    template: str,
    input: Any,  # noqa: A002  the domain's own word
    reference: str | None = None,
    version: int | None = None,
    way: access.Way = "manual",
) -> StartedInstance:
    """Start an instance and run it, here and now, up to its first wait or outside call."""
    found = version_to_start(actor, template, version, way=way)
    actor, chosen = found.actor, found.version
    definition = definition_of(chosen.pk)
    values, errors = check_values(definition.input_schema, {} if input is None else input)
    _refuse_errors((*errors, *_reference_errors(reference)))
    now: datetime | None = found.now
    if chosen.is_limited:
        if not has_place(chosen):
            return StartedInstance(queue_start(actor=actor, version=chosen, values=values, reference=reference), ())
        now = None  # it may have waited for its place: it begins now, not before what made room ended
    advanced = coordinator.start(
        actor=actor, version=chosen, template=template, values=values, reference=reference, now=now
    )
    born = with_waits(hydrate_written(Instance, advanced.written), advanced)
    link(born, template=chosen.template, version=chosen, tenant=chosen.tenant)
    return StartedInstance(born, tasks_after(actor, born, advanced))


def input_errors(version: TemplateVersion, given: Any) -> tuple[FieldError, ...]:
    """Return all that a version would refuse about what it is to be started with."""
    return check_values(definition_of(version.pk).input_schema, given)[1]


def instance_after(instance: Instance, advanced: Advanced) -> Instance:
    """Bring an instance in hand up to the slice just written, without asking for it again."""
    instance.__dict__.update(as_read(Instance, advanced.written))
    return with_waits(instance, advanced)


def with_waits(instance: Instance, advanced: Advanced) -> Instance:
    """Return an instance with what it waits for, where the slice just written opened all of it."""
    if advanced.new_waits is None:
        return instance
    return link_many(instance, "waits", [hydrate_written(Wait, row) for row in advanced.new_waits])


def tasks_after(actor: Actor, instance: Instance, advanced: Advanced) -> tuple[Task, ...]:
    """Return the open tasks that the actor sees after a slice, urgent first; those just written need not be asked for."""
    if not advanced.has_tasks:
        return ()
    if advanced.new_tasks is None or actor.level < TO_SEE_TENANT:
        return next_tasks(actor, advanced.instance_id)
    tasks = [hydrate_written(Task, row) for row in advanced.new_tasks]
    for task in tasks:
        link(task, instance=instance, version=instance.version, assignee=None)
    return tuple(sorted(tasks, key=lambda task: (-task.priority, task.due_at or NEVER, task.pk)))


def queue_start(*, actor: Actor, version: TemplateVersion, values: Any, reference: str | None) -> Instance:
    """Queue a start until its turn, or refuse it where the author says so."""
    if refuses_at_limit(version):
        raise Conflict(_("As many cases of this workflow run as are allowed at once. Try again later."), code="limit")
    name, now = version.template.name, database_now()
    born = new_instance(version, name, values, now=now, started_by=actor.name, started_by_id=actor.person_id)
    given = replace(born, facts=replace(born.facts, reference=reference))
    queue_new_instance(coordinator.with_reference(given), actor=actor)
    admit_waiting(version.tenant_id, version.template_id)
    return instance_now(born.instance_id)


def _reference_errors(reference: str | None) -> tuple[FieldError, ...]:
    if reference is not None and not 0 < len(reference) <= MAX_REFERENCE:
        return (
            FieldError("reference", "length", _("A reference has 1 to %(most)s characters.") % {"most": MAX_REFERENCE}),
        )
    return ()


def attention_words(count: int) -> str:
    """Return how many fields a person must check again."""
    return ngettext("%(n)s field needs your attention.", "%(n)s fields need your attention.", count) % {"n": count}


def _refuse_errors(errors: tuple[FieldError, ...]) -> None:
    if errors:
        raise Invalid(attention_words(len(errors)), errors)


def instance_now(instance_id: UUID) -> Instance:
    """Return the instance as it is after the act just done."""
    return Instance.objects.select_related("template", "version").get(pk=instance_id)


def next_tasks(actor: Actor, instance_id: UUID) -> tuple[Task, ...]:
    """Return the instance's open tasks that the actor sees, urgent first."""
    return tuple(access.tasks_team(actor).filter(instance_id=instance_id))


@in_one_transaction
def cancel_instance(*, actor: Actor, instance_id: UUID, reason: str) -> Instance:
    """End an instance as cancelled: every wait and open task is withdrawn in the same commit."""
    instance = access.instance_to_operate(actor, instance_id)
    require_reason(reason)
    claims.lock([instance.pk])
    instance.refresh_from_db(
        from_queryset=Instance.objects.select_for_update(no_key=True)
    )  # nobody admits it meanwhile
    if instance.is_over:
        message = _("This case is %(status)s already.") % {"status": status_word(instance.status)}
        raise Conflict(message, code="status", status=instance.status)
    if instance.parent_token is not None:  # a parent continues without it
        refuse_ending(actor, [instance.pk])
    return end_by_hand(actor, instance, reason)


def require_reason(reason: str) -> None:
    """Refuse an act that ends a case without a word."""
    if not reason.strip():
        message = _("Enter a reason. It is kept with the case.")
        raise Invalid(message, [FieldError("reason", "required", message)])


def end_by_hand(actor: Actor, instance: Instance, reason: str) -> Instance:
    """Cancel an instance whose claim the caller holds; what was checked before is still so."""
    if instance.status == InstanceStatus.QUEUED:
        cancel_queued(instance, actor=actor, reason=reason)
        return instance_now(instance.pk)
    delivery = Delivery(CancelCase(reason=reason), None, uuid7(), actor, queued=False)
    coordinator.deliver(instance_id=instance.pk, deliveries=[delivery], actor=actor)
    return instance_now(instance.pk)
