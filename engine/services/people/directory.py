"""Find and change people, roles and tokens by name: what REST and pages share beyond the verbs of `people`."""

from django.db.models import QuerySet

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import NotFound
from engine.services.people import accounts as people
from engine.services.people.leads import set_leads
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Role, Tenant, Token, User


def list_people(*, actor: Actor) -> QuerySet[User]:
    """Return the people whom the actor sees, with their roles read along."""
    return access.visible_people(actor).select_related("manager").prefetch_related("roles", "memberships")


def find_person(*, actor: Actor, name: str) -> User:
    """Return a person whom the actor sees, deactivated ones too."""
    person = list_people(actor=actor).filter(username=_plain(name)).first()
    if person is None:
        raise NotFound
    return person


def find_role(*, actor: Actor, name: str) -> Role:
    """Return a role of the tenant."""
    role = access.visible_roles(actor).select_related("tenant").filter(name=_plain(name)).first()
    if role is None:
        raise NotFound
    return role


def hold_person(*, actor: Actor, name: str) -> User:
    """Keep a person as they are until the transaction ends."""
    return User.objects.select_for_update(no_key=True).get(pk=find_person(actor=actor, name=name).pk)


def hold_role(*, actor: Actor, name: str) -> Role:
    """Keep a role as it is until the transaction ends."""
    return Role.objects.select_for_update(no_key=True).get(pk=find_role(actor=actor, name=name).pk)


def find_token(*, actor: Actor, key: str) -> Token:
    """Return a token that the actor sees, by the beginning that is shown of it."""
    token = access.visible_tokens(actor).filter(token_key=_plain(key)).first()
    if token is None:
        raise NotFound
    return token


def tenant_of(actor: Actor) -> Tenant:
    """Return the tenant in which the actor works."""
    return Tenant.objects.get(pk=actor.tenant_id)


@in_one_transaction
def change_person(
    *,
    actor: Actor,
    name: str,
    full_name: str | None = None,
    email: str | None = None,
    level: int | None = None,
    roles: list[str] | None = None,
    leads: list[str] | None = None,
    active: bool | None = None,
    **more: str | None,
) -> User:
    """Change whatever is given of a person, all of it or nothing."""
    person = find_person(actor=actor, name=name)
    if full_name is not None or email is not None:
        words = {"full_name": _or(full_name, person.full_name), "email": _or(email, person.email)}
        people.change_details(actor=actor, person=person, **words)
    if level is not None:
        people.change_level(actor=actor, person=person, level=level)
    if roles is not None:
        _set_roles(actor, person, set(roles))
    if leads is not None:
        set_leads(actor=actor, person=person, roles=leads)
    if "manager" in more:
        people.change_manager(actor=actor, person=person, manager=more["manager"])
    if active is not None:
        (people.reactivate_person if active else people.deactivate_person)(actor=actor, person=person)
    return find_person(actor=actor, name=name)


def _set_roles(actor: Actor, person: User, wanted: set[str]) -> None:
    held = {role.name for role in person.roles.all()}
    for role in sorted(wanted - held):
        people.grant_role(actor=actor, person=person, role=role)
    for role in sorted(held - wanted):
        people.revoke_role(actor=actor, person=person, role=role)


def _or(given: str | None, kept: str) -> str:
    return kept if given is None else given


def _plain(text: str) -> str:
    return text.replace("\0", "")
