"""Create and change tenants and roles. Only level 6 makes tenants and enters another one, and entering is audited there."""

import re
from collections.abc import Iterable

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.runtime.concurrency_limits import admit_waiting
from engine.services.people.account_rules import change_row, clean_row, insert_row, manager_of, refuse_below
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS
from workflowplatform.accounts.models import Role, Tenant

DEFAULT_ROLES = {"finance": "Finance", "hr": "HR", "support": "Support", "management": "Management"}

MOST_UNDO_SECONDS = 3600
ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


@in_one_transaction
def create_tenant(*, actor: Actor | None, name: str, title: str = "") -> Tenant:
    """Found a tenant with its default roles."""
    if actor is not None:
        refuse_below(actor, TO_CROSS_TENANTS, "make tenants")
    tenant = Tenant(name=name, title=title)
    insert_row(tenant)
    acting = actor or operator_actor(tenant.pk)
    record(tenant, Act("create_tenant", new={"name": name, "title": title}), actor=acting)
    Role.objects.bulk_create(Role(tenant=tenant, name=role, title=words) for role, words in DEFAULT_ROLES.items())
    return tenant


@in_one_transaction
def change_tenant(
    *,
    actor: Actor | None,
    tenant: Tenant,
    title: str,
    concurrent_limit: int | None = None,
    http_allow: list[str] | None = None,
    undo_seconds: int | None = None,
) -> Tenant:
    """Change what a tenant is called, what it may use, and how long its people can take an answer back."""
    if actor is not None:
        refuse_below(actor, TO_CROSS_TENANTS, "change tenants")
    _refuse_unfit_origins(http_allow or [])
    if undo_seconds is not None and not 0 <= undo_seconds <= MOST_UNDO_SECONDS:
        words = f"Enter 0 to {MOST_UNDO_SECONDS} seconds."
        raise Invalid(words, [FieldError("undo_seconds", "range", words)])
    changes = {
        "title": title,
        "concurrent_limit": concurrent_limit,
        "http_allow": http_allow,
        "undo_seconds": undo_seconds,
    }
    tenant = change_row(tenant, "change_tenant", changes, actor=actor or operator_actor(tenant.pk))
    admit_waiting(tenant.pk)
    return tenant


def _refuse_unfit_origins(origins: Iterable[str]) -> None:
    """Refuse an entry that is no origin: it would open nothing, or be read as more than was meant."""
    unfit = [origin for origin in origins if not ORIGIN.fullmatch(origin)]
    if unfit:
        words = f"{unfit[0]} is no origin; write it like https://api.example.com, without a path."
        raise Invalid(words, [FieldError("http_allow", "origin", words)])


@in_one_transaction
def choose_tenant(*, actor: Actor, tenant: Tenant) -> Actor:
    """Enter a tenant as level 6, or return to the own one; the entry is recorded in the entered tenant's chain."""
    if tenant.pk != actor.home_tenant_id:
        refuse_below(actor, TO_CROSS_TENANTS, "work in another tenant")
        record(tenant, Act("enter_tenant"), actor=actor)
    return actor.within(tenant)


@in_one_transaction
def create_role(*, actor: Actor | None, tenant: Tenant, name: str, title: str = "", confidential: bool = False) -> Role:
    """Add a role by which work can be offered."""
    acting = manager_of(actor, tenant)
    role = Role(tenant=tenant, name=name, title=title, confidential=confidential)
    insert_row(role)
    marked = {"confidential": True} if confidential else {}
    record(tenant, Act("create_role", new={"name": name, "title": title, **marked}), actor=acting)
    return role


@in_one_transaction
def rename_role(*, actor: Actor, role: Role, title: str) -> Role:
    """Change the words people read for a role; its name, which templates use, stays."""
    acting = manager_of(actor, role.tenant)
    old, role.title = role.title, title
    clean_row(role)
    role.save(update_fields=["title"])
    record(role.tenant, Act("rename_role", old={"title": old}, new={"name": role.name, "title": title}), actor=acting)
    return role


@in_one_transaction
def mark_role(*, actor: Actor, role: Role, confidential: bool) -> Role:
    """Choose whether deputies get the work of a role only where the absent person chooses it."""
    acting = manager_of(actor, role.tenant)
    if role.confidential == confidential:
        return role
    role.confidential = confidential
    role.save(update_fields=["confidential"])
    record(role.tenant, Act("mark_role", new={"name": role.name, "confidential": confidential}), actor=acting)
    return role


def tenant_named(name: str) -> Tenant:
    """Find a tenant by name, for the operator."""
    tenant = Tenant.objects.filter(name=name).first()
    if tenant is None:
        raise NotFound(f"There is no tenant {name}.")
    return tenant
