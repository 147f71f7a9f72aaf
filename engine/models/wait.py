"""Waits: one row per live leaf of an instance."""

from django.db import models

from engine.kernel.effects import WaitKind
from engine.models.base import PartRow
from engine.models.instance import Instance


class Wait(PartRow):
    """Something an instance waits for. The token is the kernel's frame number, never used again."""

    pk = models.CompositePrimaryKey("instance_id", "token")
    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="waits", db_constraint=False, db_index=False
    )
    token = models.BigIntegerField()
    kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in WaitKind])
    step = models.CharField(max_length=100)
    path = models.TextField()
    iteration = models.TextField(blank=True)
    run = models.BigIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    name = models.CharField(max_length=200, null=True)  # noqa: DJ001
    key = models.CharField(max_length=200, null=True)  # noqa: DJ001
    side = models.BooleanField(default=False)
    opened_at = models.DateTimeField()

    class Meta:
        db_table = "wf_waits"
        indexes = (
            models.Index(
                fields=("tenant", "name", "key"), condition=models.Q(name__isnull=False), name="waits_of_name_and_key"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} at {self.path}"
