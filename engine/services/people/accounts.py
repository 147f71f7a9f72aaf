"""Verbs about who there is: tenants, roles, people, their levels and their tokens.

The rules, for every door: level 5 manages the people of the own tenant; nobody gives a level above their own, nor
changes somebody above it; only level 6 makes tenants and enters another one, and entering is audited there. Nobody gets
to act as another person: tokens are made for oneself and for service accounts, passwords are chosen by a mailed link, and a
changed mail address waits a day or for a second level 5. Service accounts manage nobody. An act without an actor is the
operator's, at the command line. What concerns a person stands in that person's chain, the rest in the tenant's.
"""

import logging
import re
from collections.abc import Iterable
from datetime import timedelta
from smtplib import SMTPException
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError
from engine.models import Erasure
from engine.runtime.concurrency_limits import admit_waiting
from engine.services.people.sign_in_log import end_all_tokens
from engine.services.tasks.lifecycle import release_all_of
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS, TO_MANAGE_PEOPLE, Level
from workflowplatform.accounts.mails import (
    can_send,
    invitation_link,
    reset_link,
    send_address_changed,
    send_invitation,
    send_reset,
    soon,
)
from workflowplatform.accounts.models import EMAIL_WAITS, Kind, Membership, Role, Tenant, Token, User
from workflowplatform.accounts.scopes import Scope

DEFAULT_ROLES = {"finance": "Finance", "hr": "HR", "support": "Support", "management": "Management"}

COMMAND_LINE = "command line"
"""Who made what the operator makes at the server's shell."""

ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")

log = logging.getLogger(__name__)

Row = TypeVar("Row", Tenant, User)


# Tenants and roles


@in_one_transaction
def create_tenant(*, actor: Actor | None, name: str, title: str = "") -> Tenant:
    """Found a tenant with its default roles."""
    if actor is not None:
        _refuse_below(actor, TO_CROSS_TENANTS, "make tenants")
    tenant = Tenant(name=name, title=title)
    _insert(tenant)
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
) -> Tenant:
    """Change what a tenant is called and what it may use."""
    if actor is not None:
        _refuse_below(actor, TO_CROSS_TENANTS, "change tenants")
    _refuse_unfit_origins(http_allow or [])
    changes = {"title": title, "concurrent_limit": concurrent_limit, "http_allow": http_allow}
    tenant = _change(tenant, "change_tenant", changes, actor=actor or operator_actor(tenant.pk))
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
    """Enter a tenant as level 6, or go home; the crossing stands in the entered tenant's chain."""
    if tenant.pk != actor.home_tenant_id:
        _refuse_below(actor, TO_CROSS_TENANTS, "work in another tenant")
        record(tenant, Act("enter_tenant"), actor=actor)
    return actor.within(tenant)


@in_one_transaction
def create_role(*, actor: Actor | None, tenant: Tenant, name: str, title: str = "") -> Role:
    """Add a role by which work can be offered."""
    acting = _manager(actor, tenant)
    role = Role(tenant=tenant, name=name, title=title)
    _insert(role)
    record(tenant, Act("create_role", new={"name": name, "title": title}), actor=acting)
    return role


@in_one_transaction
def rename_role(*, actor: Actor, role: Role, title: str) -> Role:
    """Change the words people read for a role; its name, which templates use, stays."""
    acting = _manager(actor, role.tenant)
    old, role.title = role.title, title
    _clean(role)
    role.save(update_fields=["title"])
    record(role.tenant, Act("rename_role", old={"title": old}, new={"name": role.name, "title": title}), actor=acting)
    return role


# People


@in_one_transaction
def create_person(
    *,
    actor: Actor | None,
    tenant: Tenant,
    name: str,
    level: int,
    roles: Iterable[str] = (),
    password: str | None = None,
    email: str = "",
    full_name: str = "",
    kind: str = Kind.PERSON,
) -> User:
    """Add a person or a service account to a tenant. Without a password people come in by an invitation only."""
    acting = _manager(actor, tenant)
    _refuse_level_above(acting, level)
    if kind == Kind.SERVICE and password is not None:
        words = "A service account has no password; make it a token."
        raise Invalid(words, [FieldError("password", "service", words)])
    person = User(tenant=tenant, username=name.lower(), level=level, email=email, full_name=full_name, kind=kind)
    person.made_by = _maker(actor)
    _set_password(person, password)
    _insert(person)
    if person.is_service:
        _stand_behind(person, acting)
    held = _roles_named(tenant, roles)
    Membership.objects.bulk_create(Membership(tenant=tenant, user=person, role=role) for role in held)
    facts = {"name": person.username, "level": level, "roles": [role.name for role in held], "email": email}
    if person.is_service:
        facts["kind"] = str(person.kind)
    if password is not None:
        facts["password"] = f"set by {_maker(actor)}"
    record(person, Act("create_person", new=facts), actor=acting)
    return person


@in_one_transaction
def invite_person(*, actor: Actor | None, person: User, base_url: str) -> User:
    """Send somebody a link by which they choose a password; `base_url` is where the door that invites stands."""
    acting, person = _to_manage(actor, person)
    _refuse_unreachable(person)
    if person.has_usable_password():
        raise Refused(f"{person.display_name} has a password already; send a link for a new one.", code="status")
    person.invited_at = timezone.now()
    person.save(update_fields=["invited_at"])
    record(person, Act("invite_person", new={"email": person.email}), actor=acting)
    transaction.on_commit(lambda: _send(person, base_url))
    return person


def _send(person: User, base_url: str) -> None:
    try:
        send_invitation(person, invitation_link(person, base_url=base_url))
    except (SMTPException, OSError):
        # The person stays and can be invited again; the server's answer may hold the address, so only the id is logged.
        log.exception("invitation not sent", extra={"person": str(person.pk)})


@in_one_transaction
def change_details(*, actor: Actor, person: User, full_name: str, email: str) -> User:
    """Change how somebody is called and where mails go; a new address waits, and the old one is told."""
    acting, person = _to_manage(actor, person)
    old = person.email
    person = _change(person, "change_details", {"full_name": full_name, "email": email}, actor=acting)
    if person.email != old:
        _hold_email(person, old, acting)
    return person


def _hold_email(person: User, old: str, acting: Actor) -> None:
    """Let a new mail address open nothing for a day: whoever enters their own could ask for a new password there."""
    if _may_have_acted(person):
        person.email_changed_at, person.email_changed_by = timezone.now(), acting.name
        person.save(update_fields=["email_changed_at", "email_changed_by"])
    if old:
        by = acting.name
        transaction.on_commit(lambda: soon(lambda: send_address_changed(person, old=old, by=by), person=person))


def _may_have_acted(person: User) -> bool:
    """Return whether there is somebody to act as: one who never came in yet has no name to lose."""
    came_in = person.last_login is not None or person.has_usable_password()
    return came_in or Token.objects.filter(user=person).exists()


@in_one_transaction
def confirm_email(*, actor: Actor, person: User) -> User:
    """Confirm a new mail address as a second level 5, so that it opens at once."""
    acting, person = _to_manage(actor, person)
    if person.email_held_until is None:
        raise Conflict(f"The mail address of {person.display_name} waits for nobody.", code="status")
    _refuse_self(acting, person, "confirm your own mail address")
    if acting.name == person.email_changed_by:
        raise Refused("You changed this mail address; a second administrator confirms it.", code="four_eyes")
    if _is_new(acting, person):
        words = "Only somebody who had an account a day before the change confirms a mail address."
        raise Refused(words, code="four_eyes")
    changed_by = person.email_changed_by
    person.email_changed_at, person.email_changed_by = None, ""
    person.save(update_fields=["email_changed_at", "email_changed_by"])
    record(person, Act("confirm_email", new={"email": person.email, "changed_by": changed_by}), actor=acting)
    return person


def _is_new(acting: Actor, person: User) -> bool:
    """Return whether the second level 5 is so new that the first may have made them for this."""
    assert person.email_changed_at is not None
    before = person.email_changed_at - EMAIL_WAITS
    return not User.objects.filter(username=acting.name, created_at__lt=before).exists()


@in_one_transaction
def send_reset_link(*, actor: Actor, person: User, base_url: str, end_tokens: bool = False) -> User:
    """Send somebody a link for a new password, or for their first; nobody types a password for another person."""
    acting, person = _to_manage(actor, person)
    if end_tokens:
        end_all_tokens(person=person, actor=acting)
    if not person.has_usable_password():
        return invite_person(actor=actor, person=person, base_url=base_url)
    _refuse_unreachable(person)
    record(person, Act("send_reset", new={"email": person.email}), actor=acting)
    transaction.on_commit(lambda: soon(lambda: send_reset(person, base_url=base_url), person=person))
    return person


@in_one_transaction
def make_reset_link(*, person: User) -> str:
    """Make the link itself, for the operator to hand over where no mail goes; the audit says that it was made."""
    if person.is_service or not person.is_active:
        raise Refused(f"{person.display_name} does not sign in.", code="service" if person.is_service else "inactive")
    has_password = person.has_usable_password()
    act = Act("send_reset" if has_password else "invite_person", new={"made_by": COMMAND_LINE})
    record(person, act, actor=operator_actor(person.tenant_id))
    return (reset_link if has_password else invitation_link)(person, base_url=settings.WORKFLOW_PUBLIC_URL)


def _refuse_unreachable(person: User) -> None:
    """Refuse to mail a link that nobody would get, or that somebody else might."""
    if person.is_service:
        words = f"{person.display_name} is a service account and never signs in; make it a token."
        raise Refused(words, code="service")
    if not person.email:
        words = "An invitation needs an address."
        raise Invalid(words, [FieldError("email", "required", "Enter an address to write to.")])
    if not person.is_active:
        raise Refused(f"{person.display_name} is deactivated. Reactivate them first.", code="inactive")
    if not can_send():
        words = "This server sends no mail: EMAIL_HOST is not set. There, manage.py reset_link NAME prints a link."
        raise Refused(words, code="no_mail")
    if person.email_held_until is not None:
        words = f"The mail address of {person.display_name} was changed by {person.email_changed_by.capitalize()}"
        raise Refused(
            f"{words} less than a day ago. Wait, or let a second administrator confirm it.", code="email_waits"
        )


@in_one_transaction
def change_level(*, actor: Actor | None, person: User, level: int) -> User:
    """Raise or lower somebody's level, never above the actor's own, and never the actor's own."""
    acting, person = _to_manage(actor, person)
    if level == person.level:
        return person
    _refuse_self(acting, person, "change your own level")
    _refuse_level_above(acting, level)
    return _change(person, "change_level", {"level": level}, actor=acting)


@in_one_transaction
def grant_role(*, actor: Actor | None, person: User, role: str) -> User:
    """Give somebody a role of their tenant."""
    acting, person = _to_manage(actor, person)
    (found,) = _roles_named(person.tenant, [role])
    _, fresh = Membership.objects.get_or_create(user=person, role=found, defaults={"tenant": person.tenant})
    if fresh:
        record(person, Act("grant_role", new={"role": role}), actor=acting)
    return person


@in_one_transaction
def revoke_role(*, actor: Actor | None, person: User, role: str) -> User:
    """Take a role from somebody; what they have claimed stays theirs."""
    acting, person = _to_manage(actor, person)
    gone, _ = Membership.objects.filter(user=person, role__name=role).delete()
    if gone:
        record(person, Act("revoke_role", old={"role": role}), actor=acting)
    return person


@in_one_transaction
def deactivate_person(*, actor: Actor | None, person: User) -> User:
    """Shut somebody out: sessions end, tokens are revoked, claimed tasks go back to everybody who may take them."""
    acting, person = _to_manage(actor, person)
    _refuse_self(acting, person, "deactivate yourself")
    if not person.is_active:
        return person
    released = release_all_of(actor=acting, person_id=person.pk, reason=f"{person.display_name} was deactivated.")
    revoked, _ = Token.objects.filter(user=person).delete()
    person.is_active = False
    person.session_epoch += 1
    person.save(update_fields=["is_active", "session_epoch"])
    record(person, Act("deactivate_person", new={"tasks_released": released, "tokens_revoked": revoked}), actor=acting)
    return person


@in_one_transaction
def reactivate_person(*, actor: Actor | None, person: User) -> User:
    """Let somebody in again, with the password they had; tokens and old sessions do not come back."""
    acting, person = _to_manage(actor, person)
    if person.is_active:
        return person
    if Erasure.objects.filter(person_id=person.pk, done_at__isnull=False).exists():
        raise Refused("This person was erased and cannot come back; make a new one.", code="erased")
    return _change(person, "reactivate_person", {"is_active": True}, actor=acting)


# Tokens


@in_one_transaction
def create_token(
    *,
    actor: Actor | None,
    person: User,
    name: str = "",
    scopes: Iterable[str] = (),
    expires_in: timedelta | None = None,
) -> tuple[Token, str]:
    """Make a token for oneself or for a service account. Its text is returned once and kept nowhere."""
    acting, person = _to_manage(actor, person, self_too=True)
    if actor is not None:
        _refuse_token_of_another(actor, person)
    if not person.is_active:
        raise Refused(f"{person.display_name} is deactivated and can have no token.", code="inactive")
    if actor is not None:
        _refuse_too_many(person)
    narrowed = _known_scopes(scopes)
    if expires_in is not None and expires_in <= timedelta(0):
        raise Invalid("A token ends in the future.", [FieldError("expires_in", "past", "Enter a time ahead.")])
    token, plain = Token.objects.create(
        person, expiry=_life(expires_in), name=name, tenant=person.tenant, scopes=narrowed, made_by=_maker(actor)
    )
    facts = {"name": name, "key": token.token_key, "scopes": narrowed, "made_by": token.made_by}
    if person.is_service:
        _stand_behind(person, acting)
    record(person, Act("create_token", new=facts), actor=acting)
    return token, plain


def _refuse_token_of_another(actor: Actor, person: User) -> None:
    """Refuse what would let somebody act as another person, and a program make itself another way in."""
    if actor.is_service:
        raise Refused("A service account makes no tokens; its administrators do.", code="service")
    if actor.person_id != person.pk and not person.is_service:
        words = (
            f"A token of {person.display_name} would act as them. Make a service account, or let them make their own."
        )
        raise Refused(words, code="self")


def _stand_behind(account: User, acting: Actor) -> None:
    """Keep that an actor could act by a service account: from now on four eyes count both as one person."""
    if acting.person_id is None:
        return
    maker = User.objects.select_for_update(no_key=True).get(pk=acting.person_id)
    for row, name in ((account, maker.username), (maker, account.username)):
        if name not in row.same_eyes:
            row.same_eyes = [*row.same_eyes, name]
            row.save(update_fields=["same_eyes"])


def _maker(actor: Actor | None) -> str:
    return actor.name if actor is not None else COMMAND_LINE


def _known_scopes(scopes: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(map(str, scopes)))
    unknown = [name for name in wanted if name not in set(Scope)]
    if unknown:
        words = f"There is no scope {unknown[0]}; use {', '.join(Scope)}."
        raise Invalid(words, [FieldError("scopes", "unknown", words)])
    return wanted


def _life(wished: timedelta | None) -> timedelta | None:
    """Return how long a token lives: as wished, within the operator's bound; not said: the usual time."""
    most = settings.WORKFLOW_TOKEN_MOST_DAYS
    if wished is None:
        usual = settings.WORKFLOW_TOKEN_DAYS or most
        days = min(usual, most) if most else usual
        return timedelta(days=days) if days else None
    if most and wished > timedelta(days=most):
        words = f"A token lives at most {most} days here."
        raise Invalid(words, [FieldError("expires_in", "too_long", words)])
    return wished


def _refuse_too_many(person: User) -> None:
    living = Token.objects.filter(user=person).exclude(expiry__lte=timezone.now()).count()
    if living >= settings.WORKFLOW_TOKENS_PER_PERSON:
        words = f"{person.display_name} has {living} tokens, which is the most. Revoke one that is not used any more."
        raise Conflict(words, code="limit", limit=settings.WORKFLOW_TOKENS_PER_PERSON)


@in_one_transaction
def revoke_token(*, actor: Actor | None, token: Token) -> None:
    """End a token at once."""
    acting, person = _to_manage(actor, token.user, self_too=True)
    gone, _ = Token.objects.filter(pk=token.pk).delete()
    if gone:
        record(person, Act("revoke_token", old={"name": token.name, "key": token.token_key}), actor=acting)


# The rules, once


def _manager(actor: Actor | None, tenant: Tenant) -> Actor:
    """Return who manages this tenant's people, or refuse. Another tenant does not exist for the actor."""
    if actor is None:
        return operator_actor(tenant.pk)
    if actor.tenant_id != tenant.pk:
        raise NotFound
    if actor.is_service:
        raise Refused("A service account manages no people, roles or tokens.", code="service")
    _refuse_below(actor, TO_MANAGE_PEOPLE, "manage people")
    return actor


def _to_manage(actor: Actor | None, person: User, *, self_too: bool = False) -> tuple[Actor, User]:
    """Lock a person whom the actor may change and read them afresh. Inserts that refer to the row are not held up."""
    fresh = (
        User.objects.select_for_update(no_key=True, of=("self",)).select_related("tenant").filter(pk=person.pk).first()
    )
    if fresh is None or (actor is not None and actor.tenant_id != fresh.tenant_id):
        raise NotFound
    if actor is not None and self_too and actor.person_id == fresh.pk:
        return actor, fresh
    acting = _manager(actor, fresh.tenant)
    if fresh.level > acting.level:
        raise Refused(f"{fresh.display_name} has a higher level than you.", code="level", needed=fresh.level)
    return acting, fresh


to_manage = _to_manage
"""For verbs about people that have modules of their own."""


def _refuse_below(actor: Actor, level: Level, doing: str) -> None:
    if actor.level < level:
        raise Refused(
            f"Only level {level:d} and above may {doing}; yours is {actor.level}.", code="level", needed=int(level)
        )


def _refuse_level_above(actor: Actor, level: int) -> None:
    if level not in set(Level):
        words = f"There is no level {level}; use 1 to 6."
        raise Invalid(words, [FieldError("level", "unknown", words)])
    if level > actor.level:
        raise Refused(f"Nobody gives a level above their own, and yours is {actor.level}.", code="level", needed=level)


def _refuse_self(actor: Actor, person: User, doing: str) -> None:
    if actor.person_id == person.pk:
        raise Refused(f"You cannot {doing}; ask somebody else to.", code="self")


# Rows


def _roles_named(tenant: Tenant, names: Iterable[str]) -> list[Role]:
    wanted = list(dict.fromkeys(names))
    found = {role.name: role for role in Role.objects.filter(tenant=tenant, name__in=wanted)}
    errors = [FieldError("roles", "unknown", f"There is no role {name}.") for name in wanted if name not in found]
    if errors:
        raise Invalid(errors[0].message, errors)
    return [found[name] for name in wanted]


def _set_password(person: User, password: str | None) -> None:
    if password is None:
        person.set_unusable_password()
        return
    try:
        validate_password(password, person)
    except ValidationError as refusal:
        raise _invalid(ValidationError({"password": refusal.messages})) from refusal
    person.set_password(password)


def _change(row: Row, action: str, changes: dict[str, Any], *, actor: Actor) -> Row:
    """Write what differs and record the difference; nothing differing is nothing done."""
    old = {name: getattr(row, name) for name, value in changes.items() if getattr(row, name) != value}
    if not old:
        return row
    for name in old:
        setattr(row, name, changes[name])
    _clean(row)
    row.save(update_fields=list(old))
    record(row, Act(action, old=old, new={name: changes[name] for name in old}), actor=actor)
    return row


def _clean(row: models.Model) -> None:
    try:
        row.full_clean()
    except ValidationError as refusal:
        raise _invalid(refusal) from refusal


def _insert(row: models.Model) -> None:
    """Check and insert; a name taken in between is told like one taken before."""
    _clean(row)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as refusal:
        raise _invalid(ValidationError({"name": ValidationError("", code="unique")})) from refusal


def _invalid(refusal: ValidationError) -> Invalid:
    """Say Django's field errors in the platform's own form, under the names that the verbs use."""
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


def person_named(name: str) -> User:
    """Find a person by name over all tenants, for the operator."""
    person = User.objects.select_related("tenant").filter(username=name.lower()).first()
    if person is None:
        raise NotFound(f"There is no person {name}.")
    return person


def tenant_named(name: str) -> Tenant:
    """Find a tenant by name, for the operator."""
    tenant = Tenant.objects.filter(name=name).first()
    if tenant is None:
        raise NotFound(f"There is no tenant {name}.")
    return tenant
