"""Set up what a tenant's workflows need: secrets and calendars. Writing takes level 5."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from engine import access
from engine.audit.chain import Act, record
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.expressions.secret_redaction import SHORTEST
from engine.kernel.forms import FieldError
from engine.kernel.language.step_lists import calendars_named
from engine.kernel.timing.calendars import Calendar, CalendarError
from engine.models import Audit, BusinessCalendar, Instance, Schedule, Secret, TemplateVersion
from engine.storage.encryption import encrypt
from engine.transports.address_guard import named_origins
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR, TO_OPERATE
from workflowplatform.accounts.models import Tenant

ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")
MOST_ORIGINS = 20
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
MOST_NAMED = 5
"""A refusal names so many of those that use a thing."""


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        message = "Start with a lower-case letter; use lower-case letters, digits and _."
        raise Invalid(message, [FieldError("name", "name", message)])


def list_secrets(*, actor: Actor) -> QuerySet[Secret]:
    """Return the tenant's secrets, for those who write them; pages show only names."""
    access.require_level(actor, TO_AUTHOR, "see the names of secrets")
    return Secret.objects.filter(tenant_id=actor.tenant_id)


def find_secret(*, actor: Actor, name: str) -> Secret:
    """Return one of the tenant's secrets; pages show only its name."""
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
def put_secret(*, actor: Actor, name: str, value: str | None = None, origins: Sequence[str] | None = None) -> Secret:
    """Write a secret, new or anew, and where it may be sent. Its value can never be read back, only used by calls.

    Without a value the origins of one that is there are narrowed. To send it elsewhere takes its value: people who cannot read a
    secret must not be able to have it sent to themselves.
    """
    access.require_level(actor, TO_AUTHOR, "write secrets")
    _require_name(name)
    bound = None if origins is None else _read_origins(origins)
    held = Secret.objects.select_for_update(no_key=True).filter(tenant_id=actor.tenant_id, name=name).first()
    if value is None:
        return _narrow_secret(actor, held, bound)
    _require_length(value)
    content: dict[str, Any] = {"ciphertext": encrypt(value), "changed_by_name": actor.name}
    content |= {} if bound is None else {"origins": bound}
    secret, created = Secret.objects.update_or_create(tenant_id=actor.tenant_id, name=name, defaults=content)
    _note(actor, "create_secret" if created else "change_secret", name, origins=secret.origins)
    return secret


def _require_length(value: str) -> None:
    """Refuse what is too short to be told from ordinary words, and is guessed besides."""
    if len(value.strip()) < SHORTEST:
        message = "A secret needs a value." if not value else f"A secret needs at least {SHORTEST} characters."
        raise Invalid(message, [FieldError("value", "required" if not value else "too_short", message)])


def _read_origins(written: Sequence[str]) -> list[str]:
    """Return origins as they are compared, each once."""
    found: dict[str, None] = {}
    for text in written:
        origin = text.strip().rstrip("/").lower()
        if not ORIGIN.fullmatch(origin) or not named_origins([origin]):
            message = f"{text[:100]} is no origin; write it like https://api.example.com, without a path."
            raise Invalid(message, [FieldError("origins", "origin", message)])
        found[origin] = None
    if len(found) > MOST_ORIGINS:
        message = f"A secret names at most {MOST_ORIGINS} origins."
        raise Invalid(message, [FieldError("origins", "too_many", message)])
    return list(found)


def _narrow_secret(actor: Actor, secret: Secret | None, origins: list[str] | None) -> Secret:
    wider = secret is not None and secret.origins and set(origins or ()) - set(secret.origins)
    if secret is None or not origins or wider:
        message = "Enter the value. Without it, origins can only be removed."
        message = message if secret is not None and origins is not None else "A secret needs a value."
        raise Invalid(message, [FieldError("value", "required", message)])
    secret.origins, secret.changed_by_name = origins, actor.name
    secret.save(update_fields=["origins", "changed_by_name", "changed_at"])
    _note(actor, "bind_secret", secret.name, origins=origins)
    return secret


@in_one_transaction
def delete_secret(*, actor: Actor, name: str) -> None:
    """Delete a secret that nothing active and nothing running names."""
    access.require_level(actor, TO_AUTHOR, "delete secrets")
    users = [str(version) for version in _versions_in_use(actor) if name in _secrets_of(version)]
    if users:
        raise Conflict(
            f"{', '.join(users)} {'uses' if len(users) == 1 else 'use'} the secret {name}. Archive or change "
            f"{'it' if len(users) == 1 else 'them'} first; if the value has leaked, replace it now.",
            code="in_use",
        )
    deleted, _ = Secret.objects.filter(tenant_id=actor.tenant_id, name=name).delete()
    if not deleted:
        raise NotFound
    _note(actor, "delete_secret", name)


def _versions_in_use(actor: Actor) -> QuerySet[TemplateVersion]:
    """Return the versions whose needs count: active ones, and those on which something runs."""
    running = Instance.objects.filter(tenant_id=actor.tenant_id, version=OuterRef("pk")).live()
    versions = TemplateVersion.objects.filter(tenant_id=actor.tenant_id, canonical__isnull=False)
    return (versions.filter(Exists(running)) | versions.in_force()).select_related("template")


def _secrets_of(version: TemplateVersion) -> list[str]:
    needed: list[str] = (version.canonical or {})["requires"]["secrets"]
    return needed


@in_one_transaction
def put_calendar(
    *, actor: Actor, name: str, content: Any, title: str = "", seen: str | None = None
) -> BusinessCalendar:
    """Write a business calendar, new or anew.

    `seen` is the mark of what the author began from, empty for a calendar that is to be new; if another person wrote it in
    between, nothing is overwritten.
    """
    access.require_level(actor, TO_AUTHOR, "write calendars")
    _require_name(name)
    try:
        kept = Calendar.from_json(content).as_json()
    except CalendarError as error:
        raise Invalid(
            str(error), [FieldError(path, "calendar", text) for path, text in error.problems.items()]
        ) from error
    written = {"content": kept, "title": title}
    calendar = _write_calendar(actor, name, written) if seen is None else _rewrite_calendar(actor, name, written, seen)
    _note(actor, "change_calendar", name)
    return calendar


def _write_calendar(actor: Actor, name: str, written: dict[str, Any]) -> BusinessCalendar:
    return BusinessCalendar.objects.update_or_create(tenant_id=actor.tenant_id, name=name, defaults=written)[0]


def _rewrite_calendar(actor: Actor, name: str, written: dict[str, Any], seen: str) -> BusinessCalendar:
    """Write a calendar only over what the author saw."""
    there = BusinessCalendar.objects.filter(tenant_id=actor.tenant_id, name=name)
    held = there.select_for_update(no_key=True).first()
    if mark_of_calendar(held) != seen:
        raise _written_meanwhile(actor, name, held)
    if held is not None:
        return _write_calendar(actor, name, written)
    try:
        with transaction.atomic():
            return BusinessCalendar.objects.create(tenant_id=actor.tenant_id, name=name, **written)
    except IntegrityError as faster:
        raise _written_meanwhile(actor, name, there.first()) from faster


def mark_of_calendar(calendar: BusinessCalendar | None) -> str:
    """Return a short mark of what a calendar holds, so that an author can name what they saw; nothing where there is none."""
    if calendar is None:
        return ""
    return hashlib.sha256(json.dumps([calendar.title, calendar.content]).encode()).hexdigest()[:24]


def _written_meanwhile(actor: Actor, name: str, held: BusinessCalendar | None) -> Conflict:
    if held is None:
        return Conflict("This calendar was deleted meanwhile. Nothing was saved.", code="changed")
    acts = Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=actor.tenant_id, action="change_calendar")
    last = acts.filter(new__name=name).order_by("-seq").values_list("actor_name", flat=True).first()
    return Conflict(
        f"{(last or 'someone').capitalize()} wrote this calendar at {timezone.localtime(held.changed_at):%H:%M}. "
        "Compare, then save again; nothing was overwritten.",
        code="changed",
        mark=mark_of_calendar(held),
    )


@in_one_transaction
def delete_calendar(*, actor: Actor, name: str) -> None:
    """Delete a calendar that nothing active, nothing running and no schedule uses."""
    access.require_level(actor, TO_AUTHOR, "delete calendars")
    calendar = hold_calendar(actor=actor, name=name)
    users = calendar_users(actor=actor, name=name)
    if users:
        raise Conflict(
            f"The calendar {name} stays: it is used by {in_short(users)}. Change, end or archive "
            f"{'that' if len(users) == 1 else 'those'} first.",
            code="in_use",
        )
    calendar.delete()
    _note(actor, "delete_calendar", name)


def calendar_users(*, actor: Actor, name: str) -> list[str]:
    """Name what uses a calendar: versions active or with something running on them, and schedules that continue."""
    versions = [
        f"{version.template}, version {version.number}"
        for version in _versions_in_use(actor)
        if name in calendars_named(version.canonical or {})
    ]
    schedules = Schedule.objects.live().filter(tenant_id=actor.tenant_id, calendar=name).select_related("template")
    return versions + [f"a schedule of {schedule.template}" for schedule in schedules]


def in_short(words: list[str]) -> str:
    """Write a list as a sentence says it: the first few, and how many more."""
    more = len(words) - MOST_NAMED
    return ", ".join(words[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _note(actor: Actor, action: str, name: str, **more: Any) -> None:
    record(Tenant.objects.get(pk=actor.tenant_id), Act(action, new={"name": name, **more}), actor=actor)
