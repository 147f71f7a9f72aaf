"""Furnish an empty database: a tenant with people, the measured workflows, and instances in any number."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from benchmarks.workflows import LISTENING, SECOND, W1, W2, W3
from engine.audit.chain import database_now
from engine.models import TemplateVersion
from engine.runtime import coordinator
from engine.runtime.commit import Batch
from engine.runtime.cross_instance import newborn
from engine.services.people.accounts import create_person, create_tenant
from engine.services.templates.versions import activate_version, save_draft
from workflowplatform.accounts.actor import Actor, actor_of, engine_actor
from workflowplatform.accounts.models import Tenant, User

BATCH = 50


@dataclass(frozen=True, slots=True)
class House:
    """Who and what there is."""

    tenant: Tenant
    starter: Actor
    clerk: Actor


def furnish(name: str = "bench") -> House:
    """Create a tenant, its people and the workflows."""
    tenant = create_tenant(actor=None, name=name, title=name)
    people = {
        "author": create_person(actor=None, tenant=tenant, name=f"{name}-author", level=5),
        "starter": create_person(actor=None, tenant=tenant, name=f"{name}-starter", level=4),
        "clerk": create_person(actor=None, tenant=tenant, name=f"{name}-clerk", level=4, roles=["finance"]),
    }
    actors = {role: actor_of(User.objects.get(pk=person.pk)) for role, person in people.items()}
    for source in (W1, W2, W3, LISTENING, SECOND):
        draft = save_draft(actor=actors["author"], source=source)
        activate_version(actor=actors["author"], name=draft.template.name, number=draft.number)
    return House(tenant, actors["starter"], actors["clerk"])


def version_of(house: House, name: str) -> TemplateVersion:
    """Return the active version of a workflow."""
    return TemplateVersion.objects.active().get(tenant=house.tenant, template__name=name)


def give_birth(house: House, name: str, count: int) -> list[UUID]:
    """Start so many instances, fifty a commit."""
    version = version_of(house, name)
    born: list[UUID] = []
    while len(born) < count:
        born += _birth(house, version, name, min(BATCH, count - len(born)))
    return born


@transaction.atomic
def _birth(house: House, version: TemplateVersion, name: str, count: int) -> list[UUID]:
    now, actor = database_now(), engine_actor(house.tenant.pk)
    babies = [newborn(version, name, {}, now=now, started_by=None, started_by_id=None) for _ in range(count)]
    batch = Batch()
    stages = [stage for baby in babies for stage in coordinator._run(batch, baby, (), actor)]
    return [advanced.instance_id for advanced in coordinator._commit(batch, stages)]


def make_due() -> None:
    """Let the time of every waiting timer come."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_signals SET due_at = clock_timestamp() - interval '1 second'")


def pending() -> int:
    """Count the signals that are due."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM wf_signals WHERE due_at <= clock_timestamp()")
        return int(cursor.fetchone()[0])
