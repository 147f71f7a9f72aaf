"""Which people, roles and tokens an actor sees."""

from uuid import UUID

from django.db.models import QuerySet

from engine.errors import NotFound
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT, Level
from workflowplatform.accounts.models import Kind, Role, Tenant, Token, User


def own_tenant(actor: Actor) -> QuerySet[Tenant]:
    """Return the tenant in which the actor works."""
    return Tenant.objects.filter(pk=actor.tenant_id)


def visible_people(actor: Actor) -> QuerySet[User]:
    """Return the tenant's people, for those who operate; below level 4 only oneself."""
    people = User.objects.filter(tenant_id=actor.tenant_id)
    return people if actor.level >= TO_SEE_TENANT else people.filter(username=actor.name)


def person_named(actor: Actor, name: str) -> User:
    """Return an active person of the tenant by name, or NotFound."""
    person = visible_people(actor).filter(username=name.replace("\0", ""), is_active=True).first()
    if person is None:
        raise NotFound
    return person


def manager_named(tenant_id: UUID, name: str) -> str | None:
    """Return the user name of the active person who leads a person of a tenant, or None."""
    led = User.objects.filter(tenant_id=tenant_id, username=name.replace("\0", ""))
    leads = led.filter(manager__is_active=True, manager__kind=Kind.PERSON)
    return leads.values_list("manager__username", flat=True).first()


def visible_roles(actor: Actor) -> QuerySet[Role]:
    """Return the tenant's roles."""
    return Role.objects.filter(tenant_id=actor.tenant_id)


def visible_tokens(actor: Actor) -> QuerySet[Token]:
    """Return one's own tokens; from level 5 on the tenant's."""
    tokens: QuerySet[Token] = Token.objects.filter(tenant_id=actor.tenant_id).select_related("user")
    return tokens if actor.level >= Level.GOD else tokens.filter(user_id=actor.person_id)
