"""Deliver webhooks: collect what is to be sent, take tries on, settle them, and send again.

The audit is the outbox: an act and its row are one commit, and nothing is added to the path that people wait for. Each webhook
keeps a cursor (xid, id) into it, below the oldest transaction that still runs, so that what commits late is not passed over; the
cursor moves in the transaction that writes the deliveries. From there on a delivery is a durable message like a signal: due at a
moment, taken by the first free worker with the next due moment behind the try's deadline, settled under the number of that try.
A worker that dies leaves a delivery that is due again, with the same id. Two workers never settle one try.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.audit.cursor import Position, read_on, unread_sql
from engine.conf import conf
from engine.db.transactions import announce_on_commit, in_one_transaction
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.models import Audit, DeliveryAttempt, Webhook, WebhookDelivery
from engine.services.webhooks.events import actions_of, messages_of
from engine.services.webhooks.notifications import notify_disabled
from engine.services.webhooks.subscriptions import disable
from engine.storage.encryption import decrypt
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS, TO_OPERATE, TO_SEE_TENANT
from workflowplatform.accounts.models import Tenant, User

ACTS_A_PASS = 500
FORGOTTEN_AT_ONCE = 1_000
AT_ONCE = 8
TIMEOUT_SECONDS = 15.0
GRACE = timedelta(seconds=5)
LONGEST_ANSWER = 1024
GONE = 410
LONGEST_PAUSE = timedelta(days=1)

PAUSES = tuple(timedelta(seconds=seconds) for seconds in (5, 30, 120, 600, 1800, 7200, 21600, 43200, 86400, 86400))
"""How long to wait after each failed try; after the last one the delivery has failed. Three days in all."""
JITTER = 0.2

SOMETHING = f"""
SELECT EXISTS (SELECT FROM wf_webhooks WHERE status = 'active'),
  EXISTS (SELECT FROM wf_webhook_deliveries d JOIN wf_webhooks w ON w.id = d.webhook_id
          WHERE d.status = 'pending' AND d.due_at <= (SELECT clock_timestamp()) AND w.status = 'active')
  OR EXISTS (SELECT FROM wf_webhooks w WHERE w.status = 'active' AND EXISTS (
          SELECT FROM wf_audit_acts a WHERE a.tenant_id = w.tenant_id
          AND {unread_sql("a", xid="w.after_xid", number="w.after_id")}))
"""

DUE = """
SELECT id FROM (
  SELECT d.id, d.due_at, row_number() OVER (PARTITION BY d.webhook_id ORDER BY d.due_at, d.id) AS turn
  FROM wf_webhook_deliveries d JOIN wf_webhooks w ON w.id = d.webhook_id
  WHERE d.status = 'pending' AND d.due_at <= (SELECT clock_timestamp()) AND w.status = 'active'
  ORDER BY d.due_at LIMIT 500) due
ORDER BY turn, due_at LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Try:
    """One try that this worker has taken on: committed, not yet made."""

    delivery_id: UUID
    webhook_id: UUID
    number: int
    url: str
    body: str
    secrets: tuple[bytes, ...]
    http_allow: list[str] | None


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What came of a try: what HTTP said, or why nothing came."""

    status: int | None
    error: str = ""
    text: str = ""
    retry_after: timedelta | None = None

    @property
    def is_good(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


# Collecting


def look_for_work() -> tuple[bool, bool]:
    """Return whether there is any active webhook, and whether anything is to be collected or sent now."""
    with connection.cursor() as cursor:
        cursor.execute(SOMETHING)
        anybody, something = cursor.fetchone()
    return bool(anybody), bool(something)


def collect() -> int:
    """Write a delivery for every event that webhooks wait for and that was committed since the last look."""
    left = list(Webhook.objects.filter(status="active").values_list("pk", flat=True))
    found = 0
    while left:
        passed = [(webhook_id, _collect_for(webhook_id)) for webhook_id in left]
        found += sum(count for _, (count, _) in passed)
        left = [webhook_id for webhook_id, (_, more) in passed if more]
    return found


@in_one_transaction
def _collect_for(webhook_id: UUID) -> tuple[int, bool]:
    """Advance one webhook's position by one stretch; return whether there is more to read. A second worker skips it."""
    locked = Webhook.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=webhook_id, status="active")
    webhook = locked.first()
    if webhook is None:
        return 0, False
    if not _owner_sees(webhook):
        _disable(webhook, f"{webhook.owner_name}, its owner, may no longer see these events")
        return 0, False
    stretch = read_on(
        Audit.objects.filter(tenant_id=webhook.tenant_id, action__in=actions_of(webhook.events)),
        Position(webhook.after_xid, webhook.after_id),
        most=ACTS_A_PASS,
    )
    found = _write(webhook, stretch.rows)
    webhook.after_xid, webhook.after_id = stretch.end.xid, stretch.end.id
    webhook.save(update_fields=["after_xid", "after_id"])
    return found, stretch.more


def _write(webhook: Webhook, acts: Sequence[Audit]) -> int:
    now = database_now()
    rows = [
        WebhookDelivery(
            tenant_id=webhook.tenant_id,
            webhook_id=webhook.pk,
            event=message.event,
            audit_id=message.audit_id,
            instance_id=message.instance_id,
            body=message.body,
            due_at=now,
            created_at=now,
        )
        for message in messages_of(webhook.tenant_id, acts)
        if not webhook.templates or message.template in webhook.templates
    ]
    WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _owner_sees(webhook: Webhook) -> bool:
    owner = User.objects.filter(Q(pk=webhook.owner_id), is_active=True).first()
    if owner is None or owner.level < TO_SEE_TENANT:
        return False
    return owner.tenant_id == webhook.tenant_id or owner.level >= TO_CROSS_TENANTS


# Sending


@in_one_transaction
def take_on() -> list[Try]:
    """Take due deliveries, webhooks in turn, and set each due after its deadline: if this worker dies it is due again."""
    with connection.cursor() as cursor:
        cursor.execute(DUE, [AT_ONCE])
        wanted = [row[0] for row in cursor.fetchall()]
    if not wanted:
        return []
    now = database_now()
    free = WebhookDelivery.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
    mine = list(free.select_related("webhook").filter(pk__in=wanted, status="pending", due_at__lte=now))
    DeliveryAttempt.objects.bulk_create(
        DeliveryAttempt(tenant_id=one.tenant_id, delivery=one, number=one.attempts + 1, began_at=now) for one in mine
    )
    deadline = now + timedelta(seconds=TIMEOUT_SECONDS) + GRACE
    taken = WebhookDelivery.objects.filter(pk__in=[one.pk for one in mine])
    taken.update(due_at=deadline, attempts=F("attempts") + 1, tries=F("tries") + 1)
    allow = dict(Tenant.objects.filter(pk__in={one.tenant_id for one in mine}).values_list("pk", "http_allow"))
    return [_try(one, allow[one.tenant_id], now) for one in mine]


def _try(delivery: WebhookDelivery, allow: list[str] | None, now: datetime) -> Try:
    webhook = delivery.webhook
    both = webhook.old_secret is not None and webhook.old_secret_until is not None and webhook.old_secret_until > now
    secrets = (webhook.secret, webhook.old_secret) if both else (webhook.secret,)
    return Try(
        delivery_id=delivery.pk,
        webhook_id=webhook.pk,
        number=delivery.attempts + 1,
        url=webhook.url,
        body=delivery.body,
        secrets=tuple(bytes(secret) for secret in secrets if secret is not None),
        http_allow=allow,
    )


def secrets_of(one: Try) -> list[str]:
    """Return what a try is signed with; raises UnreadableSecret."""
    return [decrypt(secret) for secret in one.secrets]


@in_one_transaction
def settle(one: Try, answer: DeliveryResult) -> bool:
    """Record the result of a try, unless it was settled or taken again after it; return whether it counted."""
    webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=one.webhook_id).first()
    now = database_now()
    end = {"ended_at": now, "status": answer.status, "error": answer.error, "answer": answer.text[:LONGEST_ANSWER]}
    open_try = DeliveryAttempt.objects.filter(delivery_id=one.delivery_id, number=one.number, ended_at__isnull=True)
    if webhook is None or not open_try.update(**end):
        return False
    current = WebhookDelivery.objects.filter(pk=one.delivery_id, attempts=one.number, status="pending")
    delivery = current.select_for_update(no_key=True).first()
    if delivery is None:
        return False
    if answer.is_good:
        _delivered(webhook, delivery, now)
    else:
        _failed(webhook, delivery, answer, now)
    return True


def _delivered(webhook: Webhook, delivery: WebhookDelivery, now: datetime) -> None:
    delivery.status, delivery.ended_at = "delivered", now
    delivery.save(update_fields=["status", "ended_at"])
    webhook.failures, webhook.failing_since, webhook.delivered_at = 0, None, now
    webhook.save(update_fields=["failures", "failing_since", "delivered_at"])


def _failed(webhook: Webhook, delivery: WebhookDelivery, answer: DeliveryResult, now: datetime) -> None:
    pause = pause_after(delivery.tries, answer.retry_after)
    if pause is None or answer.status == GONE:
        delivery.status, delivery.ended_at = "failed", now
    else:
        delivery.due_at = now + pause
        announce_on_commit([delivery.due_at], now)
    delivery.save(update_fields=["status", "ended_at", "due_at"])
    webhook.failures, webhook.failing_since = webhook.failures + 1, webhook.failing_since or now
    webhook.save(update_fields=["failures", "failing_since"])
    reason = _why_disable(webhook, answer, now)
    if reason and webhook.status == "active":
        _disable(webhook, reason)


def pause_after(tries: int, retry_after: timedelta | None = None) -> timedelta | None:
    """Return how long to wait after so many tries, a little more or less by chance; None: it was the last."""
    if tries > len(PAUSES):
        return None
    pause = PAUSES[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  spreads, keeps no secret
    return max(pause, min(retry_after or pause, LONGEST_PAUSE))


def _why_disable(webhook: Webhook, answer: DeliveryResult, now: datetime) -> str:
    if answer.status == GONE:
        return "the receiver answered 410 Gone"
    since = now - (webhook.failing_since or now)
    if webhook.failures >= conf.webhook_failures and since >= _patience():
        return f"{webhook.failures} attempts in a row failed; the last one: {answer.error or answer.status}"
    return ""


def _patience() -> timedelta:
    return timedelta(hours=conf.webhook_patience_hours)


def _disable(webhook: Webhook, reason: str) -> None:
    disable(webhook, reason)
    transaction.on_commit(lambda: notify_disabled(webhook))


def forget_old() -> int:
    """Delete what arrived or failed long ago, some at a time; return how many."""
    before = database_now() - timedelta(days=conf.webhook_keep_days)
    over = WebhookDelivery.objects.exclude(status="pending").filter(ended_at__lt=before)
    some = list(over.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    over.filter(pk__in=some).delete()
    return len(some)


# Looking and sending again


def list_deliveries(*, actor: Actor) -> QuerySet[WebhookDelivery]:
    """Return the tenant's deliveries, for those who operate."""
    access.require_level(actor, TO_OPERATE, "see deliveries")
    return access.visible_deliveries(actor)


def find_delivery(*, actor: Actor, delivery_id: UUID) -> WebhookDelivery:
    """Return a delivery that the actor sees, with its tries."""
    delivery = list_deliveries(actor=actor).prefetch_related("log").filter(pk=delivery_id).first()
    if delivery is None:
        raise NotFound
    return delivery


@in_one_transaction
def replay_delivery(*, actor: Actor, delivery_id: UUID) -> WebhookDelivery:
    """Send a delivery again, whatever became of it: the same id, the same body."""
    delivery = find_delivery(actor=actor, delivery_id=delivery_id)
    access.require_level(actor, TO_OPERATE, "replay deliveries")
    if delivery.status == "pending":
        raise Conflict("This delivery is already being sent.", code="status", status=delivery.status)
    _send_anew(actor, WebhookDelivery.objects.filter(pk=delivery.pk), delivery.webhook)
    return find_delivery(actor=actor, delivery_id=delivery_id)


@in_one_transaction
def replay_failed(*, actor: Actor, webhook_id: UUID, since: datetime | None = None) -> int:
    """Send everything again that has failed since a moment; return how many."""
    webhook = access.webhook_of(actor, webhook_id)
    access.require_level(actor, TO_OPERATE, "replay deliveries")
    if since is not None and since > database_now():
        message = "Enter a time in the past."
        raise Invalid(message, [FieldError("since", "range", message)])
    failed = Q(status="failed") & (Q(created_at__gte=since) if since else Q())
    return _send_anew(actor, WebhookDelivery.objects.filter(failed, webhook=webhook), webhook)


def _send_anew(actor: Actor, chosen: QuerySet[WebhookDelivery], webhook: Webhook) -> int:
    Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    now = database_now()
    count = chosen.exclude(status="pending").update(status="pending", due_at=now, ended_at=None, tries=0)
    facts = {"webhook": str(webhook.pk), "name": str(webhook)[:200], "count": count}
    record(Tenant.objects.get(pk=webhook.tenant_id), Act("replay_deliveries", new=facts), actor=actor)
    announce_on_commit([now], now)
    return count
