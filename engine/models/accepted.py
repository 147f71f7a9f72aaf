"""What came from outside: named signals kept until an instance waits for them; events and signals accepted once by id."""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow


class KeptSignal(IdRow):
    """A named signal that came before anybody waited for its key."""

    name = models.CharField(max_length=200)
    key = models.CharField(max_length=200)
    payload = models.JSONField(null=True)
    sent_by_name = models.TextField(default="", db_default="", blank=True)
    """The person who sent it, if one did, and everyone who counts as the same person."""
    sent_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "wf_kept_signals"
        ordering = ("id",)
        indexes = (models.Index(fields=("tenant", "name", "key", "id"), name="kept_signals_by_key"),)

    def __str__(self) -> str:
        return f"{self.name} for {self.key}"


class Event(IdRow):
    """An event or a keyed signal that was accepted, with a digest of its content and the answer that a repetition gets."""

    kind = models.CharField(max_length=6, choices=[("event", "event"), ("signal", "signal")])
    name = models.CharField(max_length=200)
    external_id = models.CharField(max_length=200)
    key = models.CharField(max_length=200, null=True)  # noqa: DJ001
    payload = models.JSONField(null=True)
    content = models.CharField(max_length=64, null=True)  # noqa: DJ001  absent: from a release that kept no digest
    answer = models.JSONField(default=dict)
    actor_name = models.CharField(max_length=100, blank=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "wf_events"
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "external_id"),
                condition=Q(kind="event"),
                name="event_accepted_once",
            ),
            models.UniqueConstraint(
                fields=("tenant", "actor_name", "name", "key", "external_id"),
                condition=Q(kind="signal"),
                name="signal_accepted_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
