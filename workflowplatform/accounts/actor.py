"""The acting user, as a value for access and services."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from workflowplatform.accounts.levels import TO_CROSS_TENANTS
from workflowplatform.accounts.models import Tenant, Token, User

READ = """
SELECT ARRAY(SELECT role_id FROM wf_memberships WHERE user_id = %(person)s),
  ARRAY(SELECT role_id FROM wf_memberships WHERE user_id = %(person)s AND leads), wf_stands_in(%(person)s)
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a deputy stands in for: tasks of these roles and of these templates; none named: all."""

    roles: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    before: datetime | None = None
    """Tasks created before this moment are not covered; None: they are."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """An absent person whose tasks someone else may do at this moment."""

    person_id: UUID
    name: str
    title: str
    until: datetime
    eyes: frozenset[str]
    """Everybody who counts as one person with the absent one."""
    scopes: tuple[Scope, ...]
    """Every absence on the way from the absent person to the deputy: all of them must cover a task."""


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
    """The service accounts that a person is responsible for; of a service account, the responsible people."""
    stands_in: tuple[StandIn, ...] = ()
    """The absent people for whom the actor stands in."""
    leads: frozenset[UUID] = frozenset()
    """The roles that the actor leads."""
    via: str = field(default="", compare=False)
    """The token and its creator, where the actor does not use a session. It does not change the actor's identity."""

    @property
    def eyes(self) -> frozenset[str]:
        """Name everybody who counts as one person with the actor where people are counted."""
        return self.same_eyes | {self.name}

    @property
    def principals(self) -> list[UUID]:
        """Return everything that work can be offered to and that means the actor: the person, the roles, the tenant."""
        own = [self.person_id] if self.person_id else []
        return [*own, *self.roles, self.tenant_id]

    @property
    def sender(self) -> str:
        """Name the same as one text, which signals carry; names have no blanks."""
        return " ".join(sorted(self.eyes))

    @property
    def crosses(self) -> bool:
        """Return whether the actor works in a tenant that is not their own."""
        return self.tenant_id != self.home_tenant_id

    def within(self, tenant: Tenant) -> "Actor":
        """Return the same person working in another tenant; only level 6 may."""
        if tenant.pk != self.home_tenant_id and self.level < TO_CROSS_TENANTS:
            raise PermissionError("only level 6 crosses tenants")
        if tenant.pk == self.home_tenant_id:
            return replace(self, tenant_id=tenant.pk)
        return replace(self, tenant_id=tenant.pk, roles=frozenset(), leads=frozenset(), stands_in=())


def actor_of(user: User, roles: Iterable[UUID] | None = None, leads: Iterable[UUID] = (), absent: Any = None) -> Actor:
    """Read who this is now: level, tenant, roles and deputyships; `roles` and what follows if they were read along."""
    held, leads, absent = _read(user) if roles is None else (roles, leads, absent)
    return Actor(
        person_id=user.pk,
        name=user.username,
        level=user.level,
        tenant_id=user.tenant_id,
        home_tenant_id=user.tenant_id,
        roles=frozenset(held),
        is_service=user.is_service,
        same_eyes=frozenset(user.same_eyes),
        stands_in=stand_ins(absent),
        leads=frozenset(leads),
    )


def _read(user: User) -> tuple[Iterable[UUID], Iterable[UUID], Any]:
    with connection.cursor() as cursor:
        cursor.execute(READ, {"person": user.pk})
        roles, leads, absent = cursor.fetchone()
    return roles, leads, absent


def stand_ins(rows: Any) -> tuple[StandIn, ...]:
    """Read what `wf_stands_in` answers; null means nobody."""
    rows = json.loads(rows) if isinstance(rows, str | bytes) else rows
    return tuple(
        StandIn(
            person_id=UUID(row["id"]),
            name=row["name"],
            title=row["title"] or row["name"].capitalize(),
            until=datetime.fromisoformat(row["until"]),
            eyes=frozenset([row["name"], *row["eyes"]]),
            scopes=tuple(_scope(scope) for scope in row["scopes"]),
        )
        for row in rows or ()
    )


def _scope(row: Any) -> Scope:
    before = row["before"]
    moment = datetime.fromisoformat(before) if before else None
    return Scope(tuple(row["roles"]), tuple(row["templates"]), moment)


def actor_by(token: Token, actor: Actor) -> Actor:
    """Describe the token that a user acts with; the audit stores it with each action."""
    maker = f", made by {token.made_by}" if token.made_by else ""
    return replace(actor, via=f"via token {token.name or token.token_key}{maker}")


def engine_actor(tenant_id: UUID) -> Actor:
    """Name the engine itself as the actor: what a worker does on nobody's behalf."""
    return Actor(person_id=None, name="engine", level=0, tenant_id=tenant_id, home_tenant_id=tenant_id)


def operator_actor(tenant_id: UUID) -> Actor:
    """Return the actor of the server's command line: not a user of the platform, and not bound by a level."""
    return Actor(
        person_id=None, name="operator", level=int(TO_CROSS_TENANTS), tenant_id=tenant_id, home_tenant_id=tenant_id
    )
