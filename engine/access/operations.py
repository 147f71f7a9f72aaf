"""Which rows of operations an actor sees: dead letters, schedules, bulk operations, webhooks, notifications."""

from uuid import UUID

from django.db.models import QuerySet

from engine.access.levels import require_level
from engine.errors import NotFound
from engine.models import (
    Audit,
    BulkAct,
    DeadLetter,
    Notification,
    NotificationSettings,
    RoleChat,
    Schedule,
    Webhook,
    WebhookDelivery,
)
from engine.models.audit import AuditQuerySet
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS, TO_OPERATE


def visible_audit(actor: Actor) -> AuditQuerySet:
    """Return the tenant's audit, for people who operate."""
    entries = Audit.objects.filter(tenant_id=actor.tenant_id)
    return entries if actor.level >= TO_OPERATE else entries.none()


def audit_of_tenant(actor: Actor, tenant_id: UUID) -> QuerySet[Audit]:
    """Return the audit entries about a tenant itself: for level 6 of any tenant, for others of their own."""
    if actor.level >= TO_CROSS_TENANTS:
        return Audit.objects.filter(subject_id=tenant_id)
    return visible_audit(actor).filter(subject_id=tenant_id)


def visible_dead_letters(actor: Actor) -> QuerySet[DeadLetter]:
    """Return the tenant's dead letters, for those who operate."""
    letters = DeadLetter.objects.filter(tenant_id=actor.tenant_id).select_related("instance__template")
    return letters if actor.level >= TO_OPERATE else letters.none()


def visible_schedules(actor: Actor) -> QuerySet[Schedule]:
    """Return the tenant's schedules, for those who operate."""
    schedules = Schedule.objects.filter(tenant_id=actor.tenant_id).select_related("template")
    return schedules if actor.level >= TO_OPERATE else schedules.none()


def visible_bulk_acts(actor: Actor) -> QuerySet[BulkAct]:
    """Return the acts over many rows of the tenant, for those who operate."""
    acts = BulkAct.objects.filter(tenant_id=actor.tenant_id)
    return acts if actor.level >= TO_OPERATE else acts.none()


def bulk_act_of(actor: Actor, act_id: UUID) -> BulkAct:
    """Return an act over many rows, or NotFound."""
    act = visible_bulk_acts(actor).filter(pk=act_id).first()
    if act is None:
        raise NotFound
    return act


def visible_webhooks(actor: Actor) -> QuerySet[Webhook]:
    """Return the tenant's webhooks, for those who operate."""
    webhooks = Webhook.objects.filter(tenant_id=actor.tenant_id)
    return webhooks if actor.level >= TO_OPERATE else webhooks.none()


def webhook_of(actor: Actor, webhook_id: UUID) -> Webhook:
    """Return a webhook, or NotFound; below the level for webhooks no id is looked at."""
    require_level(actor, TO_OPERATE, "see webhooks")
    webhook = visible_webhooks(actor).filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound
    return webhook


def visible_deliveries(actor: Actor) -> QuerySet[WebhookDelivery]:
    """Return what the tenant's webhooks were told, for those who operate."""
    deliveries = WebhookDelivery.objects.filter(tenant_id=actor.tenant_id).select_related("webhook")
    return deliveries if actor.level >= TO_OPERATE else deliveries.none()


def visible_notifications(actor: Actor) -> QuerySet[Notification]:
    """Return what the tenant's people and chats are told, for those who operate."""
    told = Notification.objects.filter(tenant_id=actor.tenant_id).select_related("person", "role")
    return told if actor.level >= TO_OPERATE else told.none()


def visible_role_chats(actor: Actor) -> QuerySet[RoleChat]:
    """Return the chats in which the tenant's roles are told, for those who operate."""
    chats = RoleChat.objects.filter(tenant_id=actor.tenant_id).select_related("role")
    return chats if actor.level >= TO_OPERATE else chats.none()


def bounced_addresses(actor: Actor) -> QuerySet[NotificationSettings]:
    """Return the people of the tenant whose address gave a message back, for those who operate."""
    found = NotificationSettings.objects.filter(tenant_id=actor.tenant_id, bounced_at__isnull=False)
    return found if actor.level >= TO_OPERATE else found.none()
