"""Schedules: when a template starts by the clock, and what became of each slot."""

from django.db import models
from django.db.models import Q

from engine.models.base import OrderedJSONField, PartIdRow, PartRow
from engine.models.template import Template

OVERLAPS = ("skip", "queue_one", "queue_all", "cancel_other", "allow")
CATCH_UPS = ("none", "last", "all")
STATUSES = ("active", "paused", "cancelled", "done")
OUTCOMES = ("waiting", "started", "skipped")


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def live(self) -> "ScheduleQuerySet":
        return self.filter(status__in=("active", "paused"))


class Schedule(PartIdRow):
    """A clock that starts instances: by a cron expression, or once at a moment. The owner is who acts."""

    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="schedules", db_constraint=False)
    status = models.CharField(max_length=9, choices=[(word, word) for word in STATUSES], default="active")
    declared = models.BooleanField(default=False, help_text="Whether the template itself declares it.")
    cron = models.CharField(max_length=200, blank=True)
    once_at = models.DateTimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    dst = models.CharField(max_length=10, default="once")
    calendar = models.CharField(max_length=63, blank=True)
    overlap = models.CharField(max_length=12, choices=[(word, word) for word in OVERLAPS], default="skip")
    catch_up = models.CharField(max_length=4, choices=[(word, word) for word in CATCH_UPS], default="last")
    window = models.CharField(max_length=40, blank=True, help_text="How late a slot may still start, such as PT1H.")
    input = OrderedJSONField(default=dict, blank=True)
    owner_id = models.UUIDField(null=True)
    owner_name = models.CharField(max_length=100)
    next_at = models.DateTimeField(null=True, blank=True)
    """The next slot; None when there is none any more."""
    look_at = models.DateTimeField(null=True, blank=True)
    """When a worker looks at it next: at the next slot, or at once when a waiting slot may have its turn."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ScheduleQuerySet.as_manager()

    class Meta:
        db_table = "wf_schedules"
        ordering = ("-id",)
        indexes = (models.Index(fields=("look_at",), condition=Q(status="active"), name="schedules_by_look"),)
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="schedule_in_tenant"),
            models.UniqueConstraint(
                fields=("template",),
                condition=Q(declared=True, status__in=("active", "paused")),
                name="one_declared_schedule",
            ),
            models.CheckConstraint(
                condition=Q(cron="", once_at__isnull=False) | (~Q(cron="") & Q(once_at__isnull=True)),
                name="schedule_by_cron_or_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.template} at {self.cron or self.once_at}"


class ScheduleFire(PartRow):
    """One slot of a schedule, once: the instance it started, or why it was skipped."""

    pk = models.CompositePrimaryKey("schedule_id", "slot")
    schedule = models.ForeignKey(
        Schedule, on_delete=models.CASCADE, related_name="fires", db_constraint=False, db_index=False
    )
    slot = models.DateTimeField()
    outcome = models.CharField(max_length=7, choices=[(word, word) for word in OUTCOMES])
    reason = models.TextField(blank=True)
    instance_id = models.UUIDField(null=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "wf_schedule_fires"
        ordering = ("slot",)

    def __str__(self) -> str:
        return f"{self.slot} {self.outcome}"
