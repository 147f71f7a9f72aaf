"""Write down who of level 6 looked at another tenant: one row for each person, tenant and day, in the tenant's own audit.

Entering a tenant is a row already; staying for days, or reading pages about tenants without entering them, leaves these.
"""

from collections.abc import Iterable
from datetime import UTC
from uuid import UUID

from engine.audit.chain import Act, database_now, record
from engine.db.transactions import in_one_transaction
from engine.models import Audit
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant
from workflowplatform.database.tenancy import crossing

LOOK = "look_into_tenant"
COUNTED = ("enter_tenant", LOOK)
"""Either says that this person was here on that day."""


@crossing("tenants")
def note_looks(*, actor: Actor, tenants: Iterable[UUID], at: str) -> int:
    """Note that the actor sees these tenants, where that is not noted today; their own is no look. `at` says where."""
    others = {tenant_id for tenant_id in tenants if tenant_id != actor.home_tenant_id}
    if actor.person_id is None or not others:
        return 0
    unnoted = others - _noted(actor.person_id, others)
    return sum(_note(actor, tenant_id, at) for tenant_id in sorted(unnoted))


def _noted(person_id: UUID, tenants: Iterable[UUID]) -> set[UUID]:
    rows = Audit.objects.filter(
        subject_id__in=tenants,
        subject_kind="tenant",
        actor_id=person_id,
        action__in=COUNTED,
        at__gte=database_now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
    )
    return set(rows.values_list("subject_id", flat=True))


@in_one_transaction
def _note(actor: Actor, tenant_id: UUID, at: str) -> bool:
    """Note one look; the tenant's lock lets two requests of a moment leave one row."""
    tenant = Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    if tenant is None or actor.person_id is None or _noted(actor.person_id, [tenant_id]):
        return False
    record(tenant, Act(LOOK, new={"at": at}), actor=actor)
    return True
