"""Fill an empty database: a tenant with people, the measured workflows, and instances in any number."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from benchmarks.workflows import LISTENING, SECOND, W1, W2, W3
from engine.audit.chain import database_now
from engine.models import Instance, TemplateVersion
from engine.runtime import coordinator
from engine.runtime.commit import Batch
from engine.runtime.projection import new_instance
from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import create_tenant
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor, actor_of, engine_actor
from workflowplatform.accounts.models import Tenant, User

BATCH = 50
MEASURED = (W1, W2, W3, LISTENING, SECOND)


@dataclass(frozen=True, slots=True)
class BenchTenant:
    """The tenant of a benchmark, and the people who act in it."""

    tenant: Tenant
    starter: Actor
    clerk: Actor


def set_up_tenant(name: str = "bench", sources: Sequence[str] = MEASURED) -> BenchTenant:
    """Create a tenant, its people and the workflows."""
    tenant = create_tenant(actor=None, name=name, title=name)
    people = {
        "author": create_person(actor=None, tenant=tenant, name=f"{name}-author", level=5),
        "starter": create_person(actor=None, tenant=tenant, name=f"{name}-starter", level=4),
        "clerk": create_person(actor=None, tenant=tenant, name=f"{name}-clerk", level=4, roles=["finance"]),
    }
    actors = {role: actor_of(User.objects.get(pk=person.pk)) for role, person in people.items()}
    for source in sources:
        draft = save_draft(actor=actors["author"], source=source)
        activate_version(actor=actors["author"], name=draft.template.name, number=draft.number)
    return BenchTenant(tenant, actors["starter"], actors["clerk"])


def found_tenant(name: str) -> BenchTenant:
    """Return the tenant that another process has set up."""
    tenant = Tenant.objects.get(name=name)
    starter, clerk = (User.objects.get(username=f"{name}-{role}") for role in ("starter", "clerk"))
    return BenchTenant(tenant, actor_of(starter), actor_of(clerk))


def version_of(bench: BenchTenant, name: str) -> TemplateVersion:
    """Return the active version of a workflow."""
    return TemplateVersion.objects.active().get(tenant=bench.tenant, template__name=name)


def start_instances(bench: BenchTenant, name: str, count: int) -> list[UUID]:
    """Start so many instances, fifty per commit."""
    version = version_of(bench, name)
    started: list[UUID] = []
    while len(started) < count:
        started += _start_batch(bench, version, name, min(BATCH, count - len(started)))
    return started


@transaction.atomic
def _start_batch(bench: BenchTenant, version: TemplateVersion, name: str, count: int) -> list[UUID]:
    now, actor = database_now(), engine_actor(bench.tenant.pk)
    instances = [new_instance(version, name, {}, now=now, started_by=None, started_by_id=None) for _ in range(count)]
    batch = Batch()
    stages = [stage for instance in instances for stage in coordinator._run(batch, instance, (), actor)]
    return [advanced.instance_id for advanced in coordinator._commit(batch, stages)]


def are_under_way(started: list[UUID]) -> bool:
    """Return whether any of these instances has not completed; one that cannot ends the benchmark."""
    left = set(Instance.objects.filter(pk__in=started).exclude(status="completed").values_list("status", flat=True))
    if "incident" in left:
        raise RuntimeError("an instance became an incident and would never complete")
    return bool(left)


def make_due() -> None:
    """Let the time of every waiting timer come."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_signals SET due_at = clock_timestamp() - interval '1 second'")


def pending() -> int:
    """Count the signals that are due."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM wf_signals WHERE due_at <= clock_timestamp()")
        return int(cursor.fetchone()[0])
