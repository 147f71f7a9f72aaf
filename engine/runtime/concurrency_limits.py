"""Admit instances up to a limit: the tenant's, and the template's over all its versions.

A transaction that starts or ends an instance under a limit locks the limited rows (the tenant's, then the template's, after
every other lock), counts, and decides. An instance holds its slot from admission to its end, also while it is suspended or an
incident; a child runs in its parent's slot. At a limit a start is queued, or refused where the author says so. Queued instances
are admitted first come first served, by the transaction that frees the slot or raises the limit. The database counts once more
at the commit.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from engine.audit.chain import Act, database_now, record
from engine.db.transactions import announce_on_commit
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus, Result
from engine.metrics import count_queued
from engine.models import Instance, RuntimeState, Template, TemplateVersion
from engine.runtime.moves import admit_queued
from engine.runtime.projection import Loaded
from engine.runtime.unique_references import hold_reference
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant

ADMITTED = frozenset(InstanceStatus) - TERMINAL_INSTANCE - {InstanceStatus.QUEUED}
ADMITTED_AT_ONCE = 20
"""How many one transaction admits, where a limit was raised or taken away: it holds the limit's lock meanwhile."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many more instances may be admitted; None: any number."""

    tenant: int | None
    template: int | None

    @property
    def has_room(self) -> bool:
        return (self.tenant is None or self.tenant > 0) and (self.template is None or self.template > 0)


def hold_limits(tenant_id: UUID, template_id: UUID) -> Limits:
    """Lock the limits that apply and return the room that is left under each."""
    tenant = Tenant.objects.filter(pk=tenant_id, concurrent_limit__isnull=False)
    template = Template.objects.filter(pk=template_id, concurrent_limit__isnull=False)
    in_tenant = Instance.objects.filter(tenant_id=tenant_id)
    return Limits(
        _room(tenant.select_for_update(no_key=True).first(), in_tenant),
        _room(template.select_for_update(no_key=True).first(), in_tenant.filter(template_id=template_id)),
    )


def _room(limited: Tenant | Template | None, instances: QuerySet[Instance]) -> int | None:
    if limited is None or limited.concurrent_limit is None:
        return None
    return limited.concurrent_limit - instances.filter(status__in=ADMITTED, parent_token__isnull=True).count()


def has_place(version: TemplateVersion) -> bool:
    """Return whether an instance may start at once: there is room, and no other instance of its template is queued for it.

    Where starts are refused at the limit there is no queue to respect.
    """
    if not hold_limits(version.tenant_id, version.template_id).has_room:
        return False
    return refuses_at_limit(version) or not _line(version.tenant_id).filter(template_id=version.template_id).exists()


def refuses_at_limit(version: TemplateVersion) -> bool:
    """Return whether starts above the limit are refused instead of queued."""
    return ((version.canonical or {}).get("limits") or {}).get("at_limit") == "refuse"


def admit_next(tenant_id: UUID, template_id: UUID, now: datetime) -> int:
    """Admit the instances that were queued longest and now have room, up to a number; return how many.

    Under a tenant's limit that may be an instance of any template. Without one a template's room concerns only its own
    instances, and no other lock is taken. An admitted instance looks for the next when it starts, so a long queue keeps moving.
    """
    limits = hold_limits(tenant_id, template_id)
    line, admitted = _line(tenant_id), 0
    if limits.tenant is None:
        line = line.filter(template_id=template_id)
    while admitted < ADMITTED_AT_ONCE and (first := _first(line)) is not None:
        limits = hold_limits(tenant_id, first.template_id)
        if limits.has_room:
            admit_queued(first, now)
            admitted += 1
        elif limits.tenant is None or limits.tenant > 0:
            line = line.exclude(template_id=first.template_id)
        else:
            break
    return admitted


def admit_waiting(tenant_id: UUID, *templates: UUID) -> None:
    """Admit queued instances of these templates (none named: of all) after a limit or queue changed outside a slice.

    Call inside the transaction that changed it.
    """
    now = database_now()
    if sum(
        admit_next(tenant_id, template_id, now)
        for template_id in templates or sorted(set(_line(tenant_id).values_list("template_id", flat=True)))
    ):
        announce_on_commit([now], now)


def _line(tenant_id: UUID) -> QuerySet[Instance]:
    return Instance.objects.filter(tenant_id=tenant_id, status=InstanceStatus.QUEUED).order_by("started_at", "id")


def _first(line: QuerySet[Instance]) -> Instance | None:
    """Lock the first in the queue. Wait for a locked one, mostly about to be ended, only if no other is queued."""
    free = line.select_for_update(no_key=True, skip_locked=True).first()
    return free or line.select_for_update(no_key=True).first()


def queue_new_instance(born: Loaded, *, actor: Actor) -> Instance:
    """Queue an instance until its turn: nothing of it has run yet."""
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
        root_id=born.root_id,
        hops=born.hops,
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
    count_queued()
    return instance
