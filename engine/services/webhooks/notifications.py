"""Write to the people who must know that a webhook was disabled."""

import structlog
from django.db.models import Q
from django.urls import reverse

from engine.models import Webhook
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS
from workflowplatform.accounts.models import User
from workflowplatform.http.public_links import public_address
from workflowplatform.mail_texts import Link, send_page

log = structlog.get_logger(__name__)


def notify_disabled(webhook: Webhook) -> None:
    """Write to its owner and to all who could fix it; where no e-mail arrives, the audit and the webhook say the same."""
    log.warning("a webhook was disabled", webhook=str(webhook.pk), tenant=str(webhook.tenant_id))
    people = User.objects.filter(tenant_id=webhook.tenant_id, is_active=True).exclude(email="")
    known = people.filter(Q(level__gte=TO_MANAGE_WEBHOOKS) | Q(pk=webhook.owner_id))
    page = public_address(reverse("admin:engine_webhook_change", args=[webhook.pk]))
    texts = {"name": str(webhook), "url": webhook.url, "reason": webhook.reason, "page": Link(page)}
    for person in known:
        try:
            send_page([person.email], "The webhook “%(name)s” was disabled", "mails/webhook_disabled.txt", texts)
        except OSError as error:
            log.warning("an e-mail about a webhook was not taken", error=type(error).__name__)
