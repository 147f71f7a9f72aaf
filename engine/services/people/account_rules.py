"""Rules about managing people, and how rows of tenants, roles and people are written: what the verbs about them share.

The rules, for pages and APIs alike: level 5 manages the people of the own tenant; nobody gives a level above their own, nor
changes a person above it. Service accounts manage nobody. An act without an actor is the operator's, at the command line. What
concerns a person is in that person's chain, the rest in the tenant's.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from engine.audit.chain import Act, record
from engine.errors import Invalid, NotFound, Refused
from engine.kernel.forms import FieldError
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.levels import TO_MANAGE_PEOPLE, Level
from workflowplatform.accounts.models import Role, Tenant, User

COMMAND_LINE = "command line"
"""The actor of what the operator makes at the server's shell."""

Row = TypeVar("Row", Tenant, User)


def manager_of(actor: Actor | None, tenant: Tenant) -> Actor:
    """Return who manages this tenant's people, or refuse. Another tenant does not exist for the actor."""
    if actor is None:
        return operator_actor(tenant.pk)
    if actor.tenant_id != tenant.pk:
        raise NotFound
    if actor.is_service:
        raise Refused("A service account cannot manage people, roles or tokens.", code="service")
    refuse_below(actor, TO_MANAGE_PEOPLE, "manage people")
    return actor


def to_manage(actor: Actor | None, person: User, *, self_too: bool = False) -> tuple[Actor, User]:
    """Lock a person whom the actor may change and read them afresh. Inserts that refer to the row are not held up."""
    fresh = (
        User.objects.select_for_update(no_key=True, of=("self",)).select_related("tenant").filter(pk=person.pk).first()
    )
    if fresh is None or (actor is not None and actor.tenant_id != fresh.tenant_id):
        raise NotFound
    if actor is not None and self_too and actor.person_id == fresh.pk:
        return actor, fresh
    acting = manager_of(actor, fresh.tenant)
    if fresh.level > acting.level:
        raise Refused(f"{fresh.display_name} has a higher level than you.", code="level", needed=fresh.level)
    return acting, fresh


def refuse_below(actor: Actor, level: Level, doing: str) -> None:
    """Refuse what takes a higher level than the actor's."""
    if actor.level < level:
        raise Refused(
            f"Only level {level:d} and above may {doing}; yours is {actor.level}.", code="level", needed=int(level)
        )


def refuse_level_above(actor: Actor, level: int) -> None:
    """Refuse a level that does not exist, or that is above the actor's own."""
    if level not in set(Level):
        words = f"There is no level {level}; use 1 to 6."
        raise Invalid(words, [FieldError("level", "unknown", words)])
    if level > actor.level:
        raise Refused(f"You cannot give a level above your own, which is {actor.level}.", code="level", needed=level)


def refuse_self(actor: Actor, person: User, doing: str) -> None:
    """Refuse what nobody does to themselves."""
    if actor.person_id == person.pk:
        raise Refused(f"You cannot {doing}; ask another administrator.", code="self")


def maker_of(actor: Actor | None) -> str:
    """Name who makes a row."""
    return actor.name if actor is not None else COMMAND_LINE


def stand_behind(account: User, acting: Actor) -> None:
    """Keep that an actor could act by a service account: from now on four eyes count both as one person."""
    if acting.person_id is None:
        return
    maker = User.objects.select_for_update(no_key=True).get(pk=acting.person_id)
    for row, name in ((account, maker.username), (maker, account.username)):
        if name not in row.same_eyes:
            row.same_eyes = [*row.same_eyes, name]
            row.save(update_fields=["same_eyes"])


def roles_named(tenant: Tenant, names: Iterable[str]) -> list[Role]:
    """Return the roles of these names, or refuse the first that does not exist."""
    wanted = list(dict.fromkeys(names))
    found = {role.name: role for role in Role.objects.filter(tenant=tenant, name__in=wanted)}
    errors = [FieldError("roles", "unknown", f"There is no role {name}.") for name in wanted if name not in found]
    if errors:
        raise Invalid(errors[0].message, errors)
    return [found[name] for name in wanted]


def change_row(row: Row, action: str, changes: dict[str, Any], *, actor: Actor) -> Row:
    """Write what differs and record the difference; nothing differing is nothing done."""
    old = {name: getattr(row, name) for name, value in changes.items() if getattr(row, name) != value}
    if not old:
        return row
    for name in old:
        setattr(row, name, changes[name])
    clean_row(row)
    row.save(update_fields=list(old))
    record(row, Act(action, old=old, new={name: changes[name] for name in old}), actor=actor)
    return row


def clean_row(row: models.Model) -> None:
    """Check a row as its model says."""
    try:
        row.full_clean()
    except ValidationError as refusal:
        raise invalid_fields(refusal) from refusal


def insert_row(row: models.Model) -> None:
    """Check and insert; a name taken in between is told like one taken before."""
    clean_row(row)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as refusal:
        raise invalid_fields(ValidationError({"name": ValidationError("", code="unique")})) from refusal


def invalid_fields(refusal: ValidationError) -> Invalid:
    """Return Django's field errors in the platform's own form, under the names that the verbs use."""
    errors = [
        FieldError("name" if field in {"username", "__all__"} else field, *_said(each))
        for field, found in refusal.error_dict.items()
        for each in found
    ]
    return Invalid(" ".join(error.message for error in errors), errors)


def _said(error: ValidationError) -> tuple[str, str]:
    if error.code in {"unique", "unique_together"}:
        return "taken", "This name already exists."
    return "invalid", " ".join(error.messages)
