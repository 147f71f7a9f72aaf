"""Write to whoever must know that a webhook was disabled."""

import structlog
from django.core.mail import send_mail
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse

from engine.models import Webhook
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS
from workflowplatform.accounts.models import User
from workflowplatform.http.public_links import public_address

log = structlog.get_logger(__name__)


def tell_disabled(webhook: Webhook) -> None:
    """Write to its owner and to all who could mend it; where no letter comes through, the audit and the webhook say the same."""
    log.warning("a webhook was disabled", webhook=str(webhook.pk), tenant=str(webhook.tenant_id))
    people = User.objects.filter(tenant_id=webhook.tenant_id, is_active=True).exclude(email="")
    known = people.filter(Q(level__gte=TO_MANAGE_WEBHOOKS) | Q(pk=webhook.owner_id))
    page = public_address(reverse("admin:engine_webhook_change", args=[webhook.pk]))
    text = render_to_string("mails/webhook_disabled.txt", {"webhook": webhook, "page": page})
    for person in known:
        try:
            send_mail(f"The webhook “{webhook}” was disabled", text, None, [person.email])
        except OSError as error:
            log.warning("a letter about a webhook was not taken", error=type(error).__name__)
