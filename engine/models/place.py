"""Slots of a throttle: which step runs have one, and which wait."""

from django.db import models

from engine.models.base import PartRow
from engine.models.instance import Instance


class Place(PartRow):
    """A step run that asked for a slot under a key, and when it got one. The row is deleted when the body is over."""

    pk = models.CompositePrimaryKey("instance_id", "run")
    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="places", db_constraint=False, db_index=False
    )
    run = models.BigIntegerField()
    key = models.CharField(max_length=300)
    most = models.PositiveIntegerField()
    """How many may run at once, as this run's author says."""
    asked_at = models.DateTimeField()
    let_in_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "wf_places"
        indexes = (
            models.Index(
                fields=("tenant", "key", "asked_at", "instance", "run"),
                name="places_in_line",
                condition=models.Q(let_in_at__isnull=True),
            ),
            models.Index(fields=("tenant", "key"), name="places_taken", condition=models.Q(let_in_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"{self.key} by run {self.run}"
