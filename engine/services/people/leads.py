"""Choose the leads of a role: they see the work of the others who hold it, and move it."""

from collections.abc import Iterable

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError
from engine.services.people.account_rules import roles_named, to_manage
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Membership, User


@in_one_transaction
def set_leads(*, actor: Actor | None, person: User, roles: Iterable[str]) -> User:
    """Set which of their roles a person leads; each difference is its own audit entry."""
    acting, person = to_manage(actor, person)
    wanted = {role.name for role in roles_named(person.tenant, roles)}
    held = {one.role.name: one for one in Membership.objects.filter(user=person).select_related("role")}
    _refuse_unfit(person, sorted(wanted - held.keys()), wanted)
    for name, membership in sorted(held.items()):
        if membership.leads == (name in wanted):
            continue
        membership.leads = name in wanted
        membership.save(update_fields=["leads"])
        act = Act("lead_role", new={"role": name}) if membership.leads else Act("unlead_role", old={"role": name})
        record(person, act, actor=acting)
    return person


def _refuse_unfit(person: User, missing: list[str], wanted: set[str]) -> None:
    if person.is_service and wanted:
        raise Refused("A service account cannot lead people.", code="service")
    if missing:
        words = f"{person.display_name} does not have the role {missing[0]}. Give it to them first."
        raise Invalid(words, [FieldError("leads", "not_held", words)])
