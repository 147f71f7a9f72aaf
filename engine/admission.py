"""Admit instances up to a limit: the tenant's, and the template's over all its versions.

Who starts or ends an instance under a limit takes the lock of the limited rows (the tenant's, then the template's, after every
other lock), counts, and decides. A slot is held from admission to the end, standing still included; a child runs in its parent's
slot. At a limit a start is queued and later admitted, first come first served, by whoever frees the slot; or it is refused where
the author says so. The database counts once more at the commit.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from engine.audit import Act, record
from engine.kernel.signals import SignalType
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, Result
from engine.metrics import tell_queued
from engine.models import Instance, RuntimeState, Template, TemplateVersion
from engine.projection import Loaded
from engine.references import hold_reference
from engine.routing import queue_signal
from workflowplatform.accounts.actor import Actor, engine_actor
from workflowplatform.accounts.models import Tenant

ADMITTED = frozenset(InstanceStatus) - TERMINAL_INSTANCE - {InstanceStatus.QUEUED}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many more instances may be admitted; None: any number."""

    tenant: int | None
    template: int | None

    @property
    def has_room(self) -> bool:
        return (self.tenant is None or self.tenant > 0) and (self.template is None or self.template > 0)


def is_limited(version: TemplateVersion) -> bool:
    """Tell whether any limit counts instances of this version."""
    return version.template.concurrent_limit is not None or version.tenant.concurrent_limit is not None


def hold_limits(tenant_id: UUID, template_id: UUID) -> Limits:
    """Lock the limits that apply and return the room that is left under each."""
    tenant = Tenant.objects.filter(pk=tenant_id, concurrent_limit__isnull=False)
    template = Template.objects.filter(pk=template_id, concurrent_limit__isnull=False)
    return Limits(
        _room(tenant.select_for_update(no_key=True).first(), Instance.objects.filter(tenant_id=tenant_id)),
        _room(template.select_for_update(no_key=True).first(), Instance.objects.filter(template_id=template_id)),
    )


def _room(limited: Tenant | Template | None, instances: QuerySet[Instance]) -> int | None:
    if limited is None or limited.concurrent_limit is None:
        return None
    return limited.concurrent_limit - instances.filter(status__in=ADMITTED, parent_token__isnull=True).count()


def admit_next(tenant_id: UUID, template_id: UUID, now: datetime) -> int:
    """Admit whoever waits longest and now has room; return how many were admitted."""
    admitted = 0
    while (chosen := _next(tenant_id, template_id)) is not None:
        _admit(chosen, now)
        admitted += 1
    return admitted


def _next(tenant_id: UUID, template_id: UUID) -> Instance | None:
    """Return the oldest queued instance that has room: of any template where the tenant's limit was in the way."""
    if not hold_limits(tenant_id, template_id).has_room and not _tenant_has_room(tenant_id):
        return None
    queued = Instance.objects.filter(tenant_id=tenant_id, status=InstanceStatus.QUEUED).order_by("started_at", "id")
    tried: set[UUID] = set()
    for instance in queued.select_for_update(no_key=True, skip_locked=True)[:100]:
        if instance.template_id not in tried and hold_limits(tenant_id, instance.template_id).has_room:
            return instance
        tried.add(instance.template_id)
    return None


def _tenant_has_room(tenant_id: UUID) -> bool:
    tenant = Tenant.objects.get(pk=tenant_id)
    room = _room(tenant, Instance.objects.filter(tenant_id=tenant_id))
    return room is None or room > 0


def _admit(instance: Instance, now: datetime) -> None:
    record(instance, Act("admit_workflow", old=instance.status, new="running"), actor=engine_actor(instance.tenant_id))
    Instance.objects.filter(pk=instance.pk).update(status=InstanceStatus.RUNNING, updated_at=now)
    queue_signal(instance.tenant_id, instance.pk, SignalType.INTERNAL_CONTINUE, now)


def queue_newborn(born: Loaded, *, actor: Actor) -> Instance:
    """Let an instance wait for its turn: nothing of it has run yet."""
    instance = Instance(
        id=born.instance_id,
        tenant_id=born.tenant_id,
        template_id=born.template_id,
        version_id=born.version_id,
        reference=born.facts.reference,
        result=Result.IN_PROGRESS,
        input=born.input,
        started_by_id=born.started_by_id,
        started_by_name=born.facts.started_by or "",
        started_at=born.now,
        updated_at=born.now,
        parent_id=born.parent_id,
        depth=born.depth,
    )
    instance.status = InstanceStatus.QUEUED
    instance.save(force_insert=True)
    RuntimeState.objects.create(
        instance=instance,
        tenant_id=instance.tenant_id,
        snapshot_schema_version=0,
        snapshot={},
        runtime_instance_id=instance.pk,
        runtime_status=instance.status,
        created_at=instance.started_at,
        updated_at=instance.started_at,
    )
    record(instance, Act("start_workflow", new={"input": instance.input, "queued": True}), actor=actor)
    hold_reference(born, instance.reference)
    tell_queued()
    return instance
