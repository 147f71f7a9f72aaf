"""Webhooks: whom to tell about what, what is to be told, and what came of each try."""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow, PartIdRow
from workflowplatform.database.stored_json import TextsField

STATUSES = ("active", "paused", "disabled")
DELIVERY_STATUSES = ("pending", "delivered", "failed")


class Webhook(IdRow):
    """A subscription: some kinds of events, of some templates or all, to one address. Its owner is who must see them."""

    title = models.CharField(max_length=200, blank=True)
    url = models.CharField(max_length=2000)
    events = TextsField(default=list)
    templates = TextsField(default=list, blank=True)
    """Names; none of them means all."""
    status = models.CharField(max_length=8, choices=[(word, word) for word in STATUSES], default="active")
    reason = models.TextField(blank=True)
    """Why it was disabled, where it was."""
    owner_id = models.UUIDField(null=True)
    owner_name = models.CharField(max_length=100)
    secret = models.BinaryField()
    """Encrypted, as every secret is; shown once."""
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    """Until when both sign."""
    after_xid = models.BigIntegerField()
    after_id = models.BigIntegerField()
    """The last act of the audit that was looked at."""
    failures = models.PositiveIntegerField(default=0)
    """Tries in a row that failed, since this moment."""
    failing_since = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "wf_webhooks"
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="webhook_in_tenant"),
            models.CheckConstraint(condition=Q(status__in=STATUSES), name="webhook_status_known"),
        )

    def __str__(self) -> str:
        return self.title or self.url


class WebhookDelivery(PartIdRow):
    """One event for one webhook. Its id is what the other side tells repeats by; its body never changes."""

    webhook = models.ForeignKey(
        Webhook, on_delete=models.CASCADE, related_name="deliveries", db_constraint=False, db_index=False
    )
    event = models.CharField(max_length=40)
    audit_id = models.BigIntegerField(null=True)
    """The audit entry that it reports; None for a test of the address."""
    instance_id = models.UUIDField(null=True)
    body = models.TextField()
    status = models.CharField(max_length=9, choices=[(word, word) for word in DELIVERY_STATUSES], default="pending")
    attempts = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    """Attempts since it was last sent anew: how long the next pause is."""
    due_at = models.DateTimeField()
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "wf_webhook_deliveries"
        verbose_name, verbose_name_plural = "delivery", "deliveries"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("due_at",), condition=Q(status="pending"), name="deliveries_by_due"),
            models.Index(fields=("webhook", "status", "-id"), name="deliveries_by_webhook"),
            models.Index(
                fields=("instance_id",), condition=Q(instance_id__isnull=False), name="deliveries_by_instance"
            ),
        )
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="delivery_in_tenant"),
            models.UniqueConstraint(fields=("webhook", "audit_id"), name="act_told_once_a_webhook"),
            models.CheckConstraint(condition=Q(status__in=DELIVERY_STATUSES), name="delivery_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.event.replace('.', ' ').capitalize()} to {self.webhook}"


class DeliveryAttempt(PartIdRow):
    """One try: written before it is made, ended with what came of it. One without an end took its worker with it."""

    delivery = models.ForeignKey(
        WebhookDelivery, on_delete=models.CASCADE, related_name="log", db_constraint=False, db_index=False
    )
    number = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    """What HTTP answered."""
    error = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    """How the answer began."""

    class Meta:
        db_table = "wf_delivery_attempts"
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("delivery", "number"), name="attempt_once_a_delivery"),)

    def __str__(self) -> str:
        return f"Attempt {self.number}"
