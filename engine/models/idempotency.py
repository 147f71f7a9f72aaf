"""Idempotency keys: the answer to a repeated request, kept in the transaction of the first."""

from django.db import models

from engine.models.base import TenantRow


class IdempotencyKey(TenantRow):
    """That an actor asked this once already, with which body, and what the answer was."""

    pk = models.CompositePrimaryKey("tenant_id", "actor_id", "route", "key")
    actor_id = models.UUIDField()
    route = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "wf_idempotency_keys"

    def __str__(self) -> str:
        return f"{self.route} {self.key}"
