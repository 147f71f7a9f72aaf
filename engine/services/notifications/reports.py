"""Describe what was sent, to a person about themselves; let operators send again what failed, and use an address again."""

from datetime import timedelta
from uuid import UUID

from django.utils.translation import gettext as _

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, NotFound
from engine.models import Notification
from engine.services.notifications.preferences import forget_bounce
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import User

LATELY = timedelta(days=7)


def mails_lately(actor: Actor) -> int:
    """Return how many mails the actor got in the last week."""
    since = database_now() - LATELY
    own = Notification.objects.filter(person_id=actor.person_id, channel="mail", status="sent", sent_at__gt=since)
    return own.values("message_id").distinct().count()


@in_one_transaction
def resend_notification(*, actor: Actor, notification_id: UUID) -> None:
    """Send again what could not be sent; whether it still is news is decided then."""
    access.require_level(actor, TO_OPERATE, "send notifications again")
    row = access.visible_notifications(actor).filter(pk=notification_id).first()
    if row is None:
        raise NotFound
    fresh = {
        "status": "pending",
        "due_at": database_now(),
        "tries": 0,
        "message_id": None,
        "sent_at": None,
        "error": "",
    }
    if not Notification.objects.filter(pk=row.pk, status="failed").update(**fresh):
        raise Conflict("Only what failed is sent again.", code="status", status=row.status)


@in_one_transaction
def use_address_again(*, actor: Actor, person: User) -> None:
    """Send mail to an address that gave one back: its person or an operator says that it works again."""
    if actor.person_id != person.pk:
        access.require_level(actor, TO_OPERATE, "use an address again")
        if not access.visible_people(actor).filter(pk=person.pk).exists():
            raise NotFound
    if not forget_bounce(person):
        raise Conflict(_("Mail to this address did not come back."), code="no_bounce")
