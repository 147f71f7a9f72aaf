"""Effects: outside calls, from intent to result."""

from django.db import models

from engine.models.base import PartRow
from engine.models.instance import Instance

STATUSES = ("intended", "succeeded", "failed", "withdrawn")


class Effect(PartRow):
    """One attempt of an outside call. The key is stable over attempts, so that the outside can tell repeats."""

    pk = models.CompositePrimaryKey("instance_id", "token")
    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="effects", db_constraint=False, db_index=False
    )
    token = models.BigIntegerField()
    path = models.TextField()
    transport = models.CharField(max_length=20)
    request = models.JSONField()
    key = models.CharField(max_length=300)
    secrets = models.JSONField(default=list)
    """Names of the secrets whose marks are in the request."""
    attempt = models.PositiveSmallIntegerField(default=1)
    timeout_seconds = models.FloatField(default=30)
    status = models.CharField(max_length=10, choices=[(word, word) for word in STATUSES], default="intended")
    result = models.JSONField(null=True)
    made = models.PositiveSmallIntegerField(default=0)
    intended_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "wf_effects"

    def __str__(self) -> str:
        return f"{self.transport} at {self.path}"
