"""Create and change people, their levels and roles.

Nobody gets to act as another person: passwords are chosen by a mailed link, and a changed mail address waits a day or for a
second level 5.
"""

import logging
from collections.abc import Iterable
from smtplib import SMTPException

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from engine.audit.chain import Act, record
from engine.conf import conf
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.kernel.forms import FieldError
from engine.models import Erasure
from engine.services.people.account_rules import (
    COMMAND_LINE,
    change_row,
    insert_row,
    invalid_fields,
    maker_of,
    manager_of,
    refuse_level_above,
    refuse_self,
    roles_named,
    stand_behind,
    to_manage,
)
from engine.services.people.sign_in_log import end_all_tokens
from engine.services.tasks.lifecycle import release_all_of
from workflowplatform.accounts.actor import Actor, operator_actor
from workflowplatform.accounts.mails import (
    can_send,
    invitation_link,
    reset_link,
    send_address_changed,
    send_invitation,
    send_reset,
    soon,
)
from workflowplatform.accounts.models import EMAIL_WAITS, Kind, Membership, Tenant, Token, User

log = logging.getLogger(__name__)


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
    acting = manager_of(actor, tenant)
    refuse_level_above(acting, level)
    if kind == Kind.SERVICE and password is not None:
        words = "A service account has no password. Create a token for it."
        raise Invalid(words, [FieldError("password", "service", words)])
    person = User(tenant=tenant, username=name.lower(), level=level, email=email, full_name=full_name, kind=kind)
    person.made_by = maker_of(actor)
    _set_password(person, password)
    insert_row(person)
    if person.is_service:
        stand_behind(person, acting)
    held = roles_named(tenant, roles)
    Membership.objects.bulk_create(Membership(tenant=tenant, user=person, role=role) for role in held)
    facts = {"name": person.username, "level": level, "roles": [role.name for role in held], "email": email}
    if person.is_service:
        facts["kind"] = str(person.kind)
    if password is not None:
        facts["password"] = f"set by {maker_of(actor)}"
    record(person, Act("create_person", new=facts), actor=acting)
    return person


@in_one_transaction
def invite_person(*, actor: Actor | None, person: User, base_url: str) -> User:
    """Send a person a link to choose a password; `base_url` is the address of the server that invites."""
    acting, person = to_manage(actor, person)
    _refuse_unreachable(person)
    if person.has_usable_password():
        raise Refused(f"{person.display_name} already has a password. Send a reset link instead.", code="status")
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
    """Change a person's name and mail address; a new address waits for confirmation, and the old one is told."""
    acting, person = to_manage(actor, person)
    old = person.email
    person = change_row(person, "change_details", {"full_name": full_name, "email": email}, actor=acting)
    if person.email != old:
        _hold_email(person, old, acting)
    return person


def _hold_email(person: User, old: str, acting: Actor) -> None:
    """Hold a new mail address for a day: anyone who enters their own could reset the password there."""
    if _may_have_acted(person):
        person.email_changed_at, person.email_changed_by = timezone.now(), acting.name
        person.save(update_fields=["email_changed_at", "email_changed_by"])
    if old:
        by = acting.name
        transaction.on_commit(lambda: soon(lambda: send_address_changed(person, old=old, by=by), person=person))


def _may_have_acted(person: User) -> bool:
    """Return whether the person may have used the account: with a sign-in, a password or a token."""
    came_in = person.last_login is not None or person.has_usable_password()
    return came_in or Token.objects.filter(user=person).exists()


@in_one_transaction
def change_manager(*, actor: Actor, person: User, manager: str | None) -> User:
    """Choose the lead of a person; nobody leads themselves, over however many people."""
    acting, person = to_manage(actor, person)
    take_locks(lock_name("managers", person.tenant_id))
    lead = _lead_of(person, manager) if manager else None
    old = person.manager.username if person.manager else None
    if old == (lead and lead.username):
        return person
    person.manager = lead
    person.save(update_fields=["manager"])
    facts = {"manager": lead.username if lead else None}
    record(person, Act("change_manager", old={"manager": old}, new=facts), actor=acting)
    return person


def _lead_of(person: User, name: str) -> User:
    found = User.objects.filter(
        tenant_id=person.tenant_id, username=name.replace("\0", ""), is_active=True, kind=Kind.PERSON
    )
    lead = found.first()
    if lead is None:
        words = _("There is nobody of this name here.")
        raise Invalid(words, [FieldError("manager", "unknown", words)])
    above: User | None = lead
    while above is not None:
        if above.pk == person.pk:
            facts = {"lead": lead.display_name, "person": person.display_name}
            words = _("%(lead)s works for %(person)s. Choose someone else.") % facts
            raise Invalid(words, [FieldError("manager", "circle", words)])
        above = above.manager
    return lead


@in_one_transaction
def confirm_email(*, actor: Actor, person: User) -> User:
    """Confirm a new mail address as a second level 5, so that it opens at once."""
    acting, person = to_manage(actor, person)
    if person.email_held_until is None:
        raise Conflict(f"The e-mail address of {person.display_name} needs no confirmation.", code="status")
    refuse_self(acting, person, "confirm your own e-mail address")
    if acting.name == person.email_changed_by:
        raise Refused("You changed this e-mail address, so a second administrator must confirm it.", code="four_eyes")
    if _is_new(acting, person):
        words = "Only a person whose account is older than the change by a day can confirm an e-mail address."
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
    """Send a person a link for a new password, or for their first; nobody types a password for another person."""
    acting, person = to_manage(actor, person)
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
    return (reset_link if has_password else invitation_link)(person, base_url=conf.public_url)


def _refuse_unreachable(person: User) -> None:
    """Refuse to mail a link that nobody would get, or that another person might."""
    if person.is_service:
        words = f"{person.display_name} is a service account and cannot sign in. Create a token for it."
        raise Refused(words, code="service")
    if not person.email:
        words = "An invitation needs an e-mail address."
        raise Invalid(words, [FieldError("email", "required", "Enter an e-mail address.")])
    if not person.is_active:
        raise Refused(f"{person.display_name} is deactivated. Reactivate them first.", code="inactive")
    if not can_send():
        words = "This server sends no e-mail: EMAIL_HOST is not set. Run manage.py reset_link NAME on the server to get a link."
        raise Refused(words, code="no_mail")
    if person.email_held_until is not None:
        words = f"The e-mail address of {person.display_name} was changed by {person.email_changed_by.capitalize()}"
        raise Refused(
            f"{words} less than a day ago. Wait, or ask a second administrator to confirm it.", code="email_waits"
        )


@in_one_transaction
def change_level(*, actor: Actor | None, person: User, level: int) -> User:
    """Raise or lower a person's level, never above the actor's own, and never the actor's own."""
    acting, person = to_manage(actor, person)
    if level == person.level:
        return person
    refuse_self(acting, person, "change your own level")
    refuse_level_above(acting, level)
    return change_row(person, "change_level", {"level": level}, actor=acting)


@in_one_transaction
def grant_role(*, actor: Actor | None, person: User, role: str) -> User:
    """Grant a person a role of their tenant."""
    acting, person = to_manage(actor, person)
    (found,) = roles_named(person.tenant, [role])
    _, fresh = Membership.objects.get_or_create(user=person, role=found, defaults={"tenant": person.tenant})
    if fresh:
        record(person, Act("grant_role", new={"role": role}), actor=acting)
    return person


@in_one_transaction
def revoke_role(*, actor: Actor | None, person: User, role: str) -> User:
    """Take a role from a person; what they have claimed stays theirs."""
    acting, person = to_manage(actor, person)
    gone, _ = Membership.objects.filter(user=person, role__name=role).delete()
    if gone:
        record(person, Act("revoke_role", old={"role": role}), actor=acting)
    return person


@in_one_transaction
def deactivate_person(*, actor: Actor | None, person: User) -> User:
    """Deactivate a person: sessions end, tokens are revoked, claimed tasks go back to everybody who may take them."""
    acting, person = to_manage(actor, person)
    refuse_self(acting, person, "deactivate yourself")
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
    """Activate a person again, with the password they had; tokens and old sessions do not come back."""
    acting, person = to_manage(actor, person)
    if person.is_active:
        return person
    if Erasure.objects.filter(person_id=person.pk, done_at__isnull=False).exists():
        raise Refused("This person was erased and cannot be reactivated. Create a new one.", code="erased")
    return change_row(person, "reactivate_person", {"is_active": True}, actor=acting)


def _set_password(person: User, password: str | None) -> None:
    if password is None:
        person.set_unusable_password()
        return
    try:
        validate_password(password, person)
    except ValidationError as refusal:
        raise invalid_fields(ValidationError({"password": refusal.messages})) from refusal
    person.set_password(password)


def person_of_any_tenant(name: str) -> User:
    """Find a person by name over all tenants, for the operator."""
    person = User.objects.select_related("tenant").filter(username=name.lower()).first()
    if person is None:
        raise NotFound(f"There is no person {name}.")
    return person
