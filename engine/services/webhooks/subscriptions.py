"""Subscribe addresses outside to events: create, change, hold and try webhooks, and change their secrets.

Level 4 sees them, level 5 manages them. A webhook tells what its owner may see; where the owner may no longer, it is disabled.
"""

import hashlib
import ipaddress
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
from django.db.models import QuerySet

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.audit.cursor import settled_position
from engine.conf import conf
from engine.db.transactions import announce_on_commit, in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.forms import FieldError
from engine.models import Template, Webhook, WebhookDelivery
from engine.services.webhooks.events import EVENTS, PING, body_of
from engine.storage.encryption import encrypt
from engine.transports.address_guard import AddressRefused, is_public, may_be_private
from engine.transports.webhook_signature import new_secret
from workflowplatform.accounts.actor import Actor, engine_actor
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS, TO_OPERATE
from workflowplatform.accounts.models import Tenant

MOST = 100
"""Webhooks a tenant."""
OLD_SECRET_FOR = timedelta(days=1)
"""How long a replaced secret signs together with the new one, unless asked otherwise."""
LONGEST_BOTH = timedelta(days=30)


def list_webhooks(*, actor: Actor) -> QuerySet[Webhook]:
    """Return the tenant's webhooks, for those who operate."""
    access.require_level(actor, TO_OPERATE, "see webhooks")
    return access.visible_webhooks(actor)


def find_webhook(*, actor: Actor, webhook_id: UUID) -> Webhook:
    """Return a webhook that the actor sees, or NotFound."""
    return access.webhook_of(actor, webhook_id)


def webhook_to_manage(actor: Actor, webhook_id: UUID) -> Webhook:
    """Return a webhook that the actor may change, locked as it is now."""
    webhook = access.webhook_of(actor, webhook_id)
    access.require_level(actor, TO_MANAGE_WEBHOOKS, "manage webhooks")
    return Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)


@in_one_transaction
def create_webhook(
    *, actor: Actor, url: str, events: Sequence[str], templates: Sequence[str] = (), title: str = ""
) -> tuple[Webhook, str]:
    """Send events to an address from now on; return the webhook and its secret, which is shown this once."""
    access.require_level(actor, TO_MANAGE_WEBHOOKS, "manage webhooks")
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=actor.tenant_id)
    if Webhook.objects.filter(tenant=tenant).count() >= MOST:
        raise Conflict(f"A tenant has at most {MOST} webhooks. Delete one that is no longer needed.", code="limit")
    secret = new_secret()
    webhook = Webhook(
        tenant=tenant,
        owner_id=actor.person_id,
        owner_name=actor.name,
        secret=encrypt(secret),
        after_xid=settled_position().xid,
        after_id=0,
        **_checked(tenant, url=url, events=events, templates=templates, title=title),
    )
    webhook.save()
    _note(actor, "create_webhook", webhook)
    return webhook, secret


@in_one_transaction
def change_webhook(*, actor: Actor, webhook_id: UUID, **changes: Any) -> Webhook:
    """Change whatever is given. A new address starts without the failures of the old."""
    webhook = webhook_to_manage(actor, webhook_id)
    for name, value in _checked(Tenant.objects.get(pk=webhook.tenant_id), **changes).items():
        setattr(webhook, name, value)
    if "url" in changes:
        webhook.failures, webhook.failing_since = 0, None
    webhook.save()
    _note(actor, "change_webhook", webhook, fields=sorted(changes))
    return webhook


@in_one_transaction
def delete_webhook(*, actor: Actor, webhook_id: UUID) -> None:
    """Forget a webhook with its deliveries; the audit keeps that it was there."""
    webhook = webhook_to_manage(actor, webhook_id)
    _note(actor, "delete_webhook", webhook)
    webhook.delete()


@in_one_transaction
def pause_webhook(*, actor: Actor, webhook_id: UUID) -> Webhook:
    """Send nothing until it is resumed; what happens meanwhile is told then."""
    webhook = webhook_to_manage(actor, webhook_id)
    if webhook.status != "active":
        raise Conflict(f"This webhook is already {webhook.status}.", code="status", status=webhook.status)
    return _moved(actor, webhook, "paused", "pause_webhook")


@in_one_transaction
def resume_webhook(*, actor: Actor, webhook_id: UUID) -> Webhook:
    """Resume a paused or disabled webhook where it stopped. The person who resumes it becomes its owner."""
    webhook = webhook_to_manage(actor, webhook_id)
    if webhook.status == "active":
        raise Conflict("This webhook is already active.", code="status", status=webhook.status)
    webhook.owner_id, webhook.owner_name = actor.person_id, actor.name
    webhook.failures, webhook.failing_since, webhook.reason = 0, None, ""
    now = database_now()
    WebhookDelivery.objects.filter(webhook=webhook, status="pending").update(due_at=now)
    announce_on_commit([now], now)
    return _moved(actor, webhook, "active", "resume_webhook")


def disable(webhook: Webhook, reason: str) -> None:
    """Send nothing more until a person resumes it. Call with the webhook locked."""
    webhook.reason = reason
    _moved(engine_actor(webhook.tenant_id), webhook, "disabled", "disable_webhook", reason)


@in_one_transaction
def rotate_secret(
    *,
    actor: Actor,
    webhook_id: UUID,
    keep_for: timedelta = OLD_SECRET_FOR,
    reason: str = "",
    instead_of: str | None = None,
) -> tuple[Webhook, str]:
    """Make a new secret, shown this once; the old one also signs for a while, so that nothing is refused meanwhile.

    `instead_of` is the mark of the secret that is to be replaced: pressed twice, the second would end the one in use.
    """
    webhook = webhook_to_manage(actor, webhook_id)
    if instead_of is not None and instead_of != secret_mark(webhook):
        raise Conflict("The secret of this webhook was changed meanwhile. Read it again first.", code="changed")
    if not timedelta() <= keep_for <= LONGEST_BOTH:
        message = f"Keep the old secret for at most {LONGEST_BOTH.days} days."
        raise Invalid(message, [FieldError("keep_for", "range", message)])
    secret = new_secret()
    webhook.old_secret, webhook.old_secret_until = webhook.secret, database_now() + keep_for
    webhook.secret = encrypt(secret)
    webhook.save()
    _note(actor, "rotate_webhook_secret", webhook, cause=reason)
    return webhook, secret


def secret_mark(webhook: Webhook) -> str:
    """Return by what to tell a secret from its successor, and nothing more."""
    return hashlib.sha256(bytes(webhook.secret)).hexdigest()[:16]


def has_two_secrets(webhook: Webhook) -> bool:
    """Return whether a secret from before still signs together with the new one."""
    return webhook.old_secret_until is not None and webhook.old_secret_until > database_now()


@in_one_transaction
def ping_webhook(*, actor: Actor, webhook_id: UUID) -> WebhookDelivery:
    """Send a message that tells nothing, to see whether the address takes it."""
    webhook = webhook_to_manage(actor, webhook_id)
    if webhook.status != "active":
        raise Conflict(f"This webhook is {webhook.status}. Resume it first.", code="status", status=webhook.status)
    now = database_now()
    data = {"webhook": webhook.pk, "title": webhook.title, "actor": actor.name}
    delivery = WebhookDelivery.objects.create(
        tenant_id=webhook.tenant_id,
        webhook=webhook,
        event=PING,
        body=body_of(PING, now.isoformat(), data),
        due_at=now,
        created_at=now,
    )
    announce_on_commit([now], now)
    return delivery


def _moved(actor: Actor, webhook: Webhook, status: str, action: str, cause: str = "") -> Webhook:
    webhook.status = status
    webhook.save()
    _note(actor, action, webhook, cause=cause)
    return webhook


def _note(actor: Actor, action: str, webhook: Webhook, cause: str = "", **more: Any) -> None:
    facts = {"webhook": str(webhook.pk), "name": str(webhook)[:200], **more}
    record(Tenant.objects.get(pk=webhook.tenant_id), Act(action, cause=cause, new=facts), actor=actor)


# What may be subscribed to, and where it may go


def _checked(tenant: Tenant, **given: Any) -> dict[str, Any]:
    """Return what was given, in the form it is kept in, or refuse it field by field."""
    errors = [error for name, value in given.items() for error in CHECKS[name](tenant, value)]
    if errors:
        raise Invalid(errors[0].message, errors)
    return {name: value if isinstance(value, str) else list(dict.fromkeys(value)) for name, value in given.items()}


def _title_errors(tenant: Tenant, title: str) -> list[FieldError]:
    return []


def _event_errors(tenant: Tenant, events: Sequence[str]) -> list[FieldError]:
    if not events:
        return [FieldError("events", "required", "Name at least one event.")]
    unknown = [event for event in events if event not in EVENTS]
    return [FieldError("events", "unknown", f"There is no event {event}.") for event in unknown]


def _template_errors(tenant: Tenant, templates: Sequence[str]) -> list[FieldError]:
    known = set(Template.objects.filter(tenant=tenant, name__in=templates).values_list("name", flat=True))
    unknown = [name for name in templates if name not in known]
    return [FieldError("templates", "unknown", f"There is no template {name}.") for name in unknown]


def url_errors(tenant: Tenant, url: str) -> list[FieldError]:
    """Refuse at once what the guard would refuse at every try; names are looked up when they are called."""
    try:
        address = httpx.URL(url)
        private = may_be_private(address, operator=conf.http_allow, tenant=tenant.http_allow)
        if not private and not _may_be_public(address.host):
            message = f"{address.host} is not a public address, and is not allowed by WORKFLOW_HTTP_ALLOW."
            return [FieldError("url", "address_refused", message)]
    except httpx.InvalidURL:
        return [FieldError("url", "invalid", "Enter a complete URL, such as https://example.com/hooks.")]
    except AddressRefused as refused:
        return [FieldError("url", "address_refused", str(refused))]
    return []


def _may_be_public(host: str) -> bool:
    """Return whether a host is a name; a name that ends in a number is an address in an odd spelling."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2].lower()
        return last not in {"localhost", ""} and not last.removeprefix("0x").isdigit()
    return is_public(host)


CHECKS = {"title": _title_errors, "events": _event_errors, "templates": _template_errors, "url": url_errors}
