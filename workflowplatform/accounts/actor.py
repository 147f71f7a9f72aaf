"""Say who acts, as a value that access and services understand."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID

from workflowplatform.accounts.levels import TO_CROSS_TENANTS
from workflowplatform.accounts.models import Membership, Tenant, Token, User


@dataclass(frozen=True, slots=True)
class Actor:
    """A person at the moment of an act: the level is read now and stored with what is done."""

    person_id: UUID | None
    name: str
    level: int
    tenant_id: UUID
    home_tenant_id: UUID
    roles: frozenset[UUID] = frozenset()
    is_service: bool = False
    same_eyes: frozenset[str] = frozenset()
    """The service accounts behind which a person stands; of a service account, the people behind it."""
    via: str = field(default="", compare=False)
    """By what the actor came in where it was no session: a token, and who made it. Who they are does not depend on it."""

    @property
    def eyes(self) -> frozenset[str]:
        """Name everybody who counts as one person with the actor where people are counted."""
        return self.same_eyes | {self.name}

    @property
    def sender(self) -> str:
        """Name the same as one text, which signals carry; names have no blanks."""
        return " ".join(sorted(self.eyes))

    @property
    def crosses(self) -> bool:
        """Tell whether the actor works in a tenant that is not their own."""
        return self.tenant_id != self.home_tenant_id

    def within(self, tenant: Tenant) -> "Actor":
        """Return the same person working in another tenant; only level 6 may."""
        if tenant.pk != self.home_tenant_id and self.level < TO_CROSS_TENANTS:
            raise PermissionError("only level 6 crosses tenants")
        return replace(self, tenant_id=tenant.pk, roles=frozenset() if tenant.pk != self.home_tenant_id else self.roles)


def actor_of(user: User, roles: Iterable[UUID] | None = None) -> Actor:
    """Read who this is now: level, tenant and roles as the database has them; `roles` if they were read along."""
    held = Membership.objects.filter(user_id=user.pk).values_list("role_id", flat=True) if roles is None else roles
    return Actor(
        person_id=user.pk,
        name=user.username,
        level=user.level,
        tenant_id=user.tenant_id,
        home_tenant_id=user.tenant_id,
        roles=frozenset(held),
        is_service=user.is_service,
        same_eyes=frozenset(user.same_eyes),
    )


def actor_by(token: Token, actor: Actor) -> Actor:
    """Say by which token somebody acts: the audit keeps it with what they do."""
    maker = f", made by {token.made_by}" if token.made_by else ""
    return replace(actor, via=f"via token {token.name or token.token_key}{maker}")


def engine_actor(tenant_id: UUID) -> Actor:
    """Name the engine itself as the actor: what a worker does on nobody's behalf."""
    return Actor(person_id=None, name="engine", level=0, tenant_id=tenant_id, home_tenant_id=tenant_id)


def operator_actor(tenant_id: UUID) -> Actor:
    """Name whoever sits at the server's command line: nobody the platform knows, and bound by no level."""
    return Actor(
        person_id=None, name="operator", level=int(TO_CROSS_TENANTS), tenant_id=tenant_id, home_tenant_id=tenant_id
    )
