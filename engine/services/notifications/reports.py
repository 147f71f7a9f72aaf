"""Describe what was sent: to a person about themselves, and to operators about the tenant."""

from datetime import timedelta

from django.db.models import QuerySet

from engine import access
from engine.audit.chain import database_now
from engine.models import Notification
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

LATELY = timedelta(days=7)


def mails_lately(actor: Actor) -> int:
    """Return how many mails the actor got in the last week."""
    since = database_now() - LATELY
    own = Notification.objects.filter(person_id=actor.person_id, channel="mail", status="sent", sent_at__gt=since)
    return own.values("message_id").distinct().count()


def list_notifications(*, actor: Actor) -> QuerySet[Notification]:
    """Return what the tenant's people are told and whether it arrived, for those who operate."""
    access.require_level(actor, TO_OPERATE, "see notifications")
    return Notification.objects.filter(tenant_id=actor.tenant_id).select_related("person", "role").order_by("-id")
