"""Which instances an actor sees, with what happened to them, and may operate."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from engine.access.levels import require_level
from engine.errors import NotFound
from engine.models import Audit, Instance, StepRun, Wait
from engine.models.instance import InstanceQuerySet
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE, TO_SEE_TENANT


def visible_instances(actor: Actor) -> InstanceQuerySet:
    """Return the tenant's instances; below level 4 those one started."""
    instances = Instance.objects.filter(tenant_id=actor.tenant_id).select_related("template", "version")
    if actor.level >= TO_SEE_TENANT:
        return instances
    return instances.filter(started_by_id=actor.person_id)


def instance_of(actor: Actor, instance_id: UUID) -> Instance:
    """Return an instance, or NotFound."""
    instance = visible_instances(actor).filter(pk=instance_id).first()
    if instance is None:
        raise NotFound
    return instance


def instance_to_operate(actor: Actor, instance_id: UUID) -> Instance:
    """Return an instance that the actor may cancel, suspend or repair."""
    instance = instance_of(actor, instance_id)
    require_level(actor, TO_OPERATE, gettext_noop("operate a case"))
    return instance


def history_of(actor: Actor, instance_id: UUID) -> QuerySet[Audit]:
    """Return the audit of an instance that the actor sees, oldest first."""
    instance = instance_of(actor, instance_id)
    return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=instance.pk).order_by("seq")


def withdrawn_by(actor: Actor, instance_ids: Iterable[UUID]) -> set[UUID]:
    """Return which of some cases the actor ended by hand."""
    acts = Audit.objects.filter(tenant_id=actor.tenant_id, subject_id__in=instance_ids, action="cancel_workflow")
    return set(acts.filter(actor_id=actor.person_id).values_list("subject_id", flat=True)) if actor.person_id else set()


def waits_of(actor: Actor) -> QuerySet[Wait]:
    """Return what instances wait for, of those that the actor sees; the caller names which it has read already."""
    return Wait.objects.filter(tenant_id=actor.tenant_id)


def step_runs_of(actor: Actor, instance_id: UUID) -> QuerySet[StepRun]:
    """Return the step runs of an instance that the actor sees, in the order begun."""
    instance = instance_of(actor, instance_id)
    return StepRun.objects.filter(tenant_id=actor.tenant_id, instance_id=instance.pk).order_by("run", "attempt")
