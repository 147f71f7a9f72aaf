"""Set up what a tenant's workflows need: secrets and calendars. Writing takes level 5."""

import re
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from engine import access
from engine.audit import Act, record
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.calendars import Calendar, CalendarError
from engine.kernel.forms import FieldError
from engine.models import BusinessCalendar, Instance, Secret, TemplateVersion
from engine.secrets import encrypt
from engine.transactions import in_one_transaction
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE
from workflowplatform.accounts.models import Tenant

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        message = "Use small letters, digits and _, beginning with a letter."
        raise Invalid(message, [FieldError("name", "name", message)])


def list_secrets(*, actor: Actor) -> QuerySet[Secret]:
    """Return the tenant's secrets, for those who write them; whoever shows them shows names."""
    access.require_level(actor, TO_AUTHOR, "see the names of secrets")
    return Secret.objects.filter(tenant_id=actor.tenant_id)


def find_secret(*, actor: Actor, name: str) -> Secret:
    """Return one of the tenant's secrets; whoever shows it shows its name."""
    secret = list_secrets(actor=actor).filter(name=name).first()
    if secret is None:
        raise NotFound
    return secret


def hold_secret(*, actor: Actor, name: str) -> Secret:
    """Keep a secret as it is until the transaction ends."""
    found = find_secret(actor=actor, name=name)
    return Secret.objects.select_for_update(no_key=True).get(pk=found.pk)


def list_calendars(*, actor: Actor) -> QuerySet[BusinessCalendar]:
    """Return the tenant's business calendars, for those who schedule by them."""
    access.require_level(actor, TO_OPERATE, "see calendars")
    return BusinessCalendar.objects.filter(tenant_id=actor.tenant_id)


def find_calendar(*, actor: Actor, name: str) -> BusinessCalendar:
    """Return one of the tenant's business calendars."""
    calendar = list_calendars(actor=actor).filter(name=name).first()
    if calendar is None:
        raise NotFound
    return calendar


def hold_calendar(*, actor: Actor, name: str) -> BusinessCalendar:
    """Keep a calendar as it is until the transaction ends."""
    found = find_calendar(actor=actor, name=name)
    return BusinessCalendar.objects.select_for_update(no_key=True).get(pk=found.pk)


@in_one_transaction
def put_secret(*, actor: Actor, name: str, value: str) -> Secret:
    """Write a secret, new or anew. Its value can never be read back, only used by calls."""
    access.require_level(actor, TO_AUTHOR, "write secrets")
    _require_name(name)
    if not value:
        message = "A secret needs a value."
        raise Invalid(message, [FieldError("value", "required", message)])
    content = {"ciphertext": encrypt(value), "changed_by_name": actor.name}
    secret, created = Secret.objects.update_or_create(tenant_id=actor.tenant_id, name=name, defaults=content)
    _note(actor, "create_secret" if created else "change_secret", name)
    return secret


@in_one_transaction
def delete_secret(*, actor: Actor, name: str) -> None:
    """Forget a secret that nothing in force and nothing running names."""
    access.require_level(actor, TO_AUTHOR, "delete secrets")
    users = _users_of(actor, name)
    if users:
        raise Conflict(
            f"{', '.join(users)} {'uses' if len(users) == 1 else 'use'} the secret {name}. Archive or change "
            f"{'it' if len(users) == 1 else 'them'} first; write a new value if the old one is known to strangers.",
            code="in_use",
        )
    deleted, _ = Secret.objects.filter(tenant_id=actor.tenant_id, name=name).delete()
    if not deleted:
        raise NotFound
    _note(actor, "delete_secret", name)


def _users_of(actor: Actor, secret: str) -> list[str]:
    """Name the versions that need a secret: those in force, and those on which something runs."""
    running = Instance.objects.filter(tenant_id=actor.tenant_id, version=OuterRef("pk")).live()
    versions = TemplateVersion.objects.filter(tenant_id=actor.tenant_id, canonical__isnull=False)
    used = versions.filter(Exists(running)) | versions.in_force()
    return [str(version) for version in used.select_related("template") if secret in _secrets_of(version)]


def _secrets_of(version: TemplateVersion) -> list[str]:
    needed: list[str] = (version.canonical or {})["requires"]["secrets"]
    return needed


@in_one_transaction
def put_calendar(*, actor: Actor, name: str, content: Any, title: str = "") -> BusinessCalendar:
    """Write a business calendar, new or anew."""
    access.require_level(actor, TO_AUTHOR, "write calendars")
    _require_name(name)
    try:
        kept = Calendar.from_json(content).as_json()
    except CalendarError as error:
        raise Invalid(
            str(error), [FieldError(path, "calendar", text) for path, text in error.problems.items()]
        ) from error
    calendar, _ = BusinessCalendar.objects.update_or_create(
        tenant_id=actor.tenant_id, name=name, defaults={"content": kept, "title": title}
    )
    _note(actor, "change_calendar", name)
    return calendar


def _note(actor: Actor, action: str, name: str) -> None:
    record(Tenant.objects.get(pk=actor.tenant_id), Act(action, new={"name": name}), actor=actor)
