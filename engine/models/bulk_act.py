"""Acts over many rows: what an operator asked for once, and what became of each row.

A worker does them one row at a time. The row's result is written in the transaction of the act itself: a worker that dies leaves
the row waiting, and nobody can do it twice.
"""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow, PartIdRow

WAITING, DONE, REFUSED, STOPPED = "waiting", "done", "refused", "stopped"
ROW_STATUSES = (WAITING, DONE, REFUSED, STOPPED)


class BulkAct(IdRow):
    """One act on many rows, begun by a person, in whose name every row is done."""

    action = models.CharField(max_length=20)
    reason = models.CharField(max_length=500, blank=True)
    arguments = models.JSONField(default=dict, blank=True)
    total = models.PositiveIntegerField()
    started_by_id = models.UUIDField()
    started_by_name = models.CharField(max_length=100)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    stopped_by_name = models.CharField(max_length=100, blank=True)

    class Meta:
        db_table = "wf_bulk_acts"
        verbose_name, verbose_name_plural = "bulk operation", "bulk operations"
        ordering = ("-id",)
        indexes = (models.Index(fields=("id",), condition=Q(ended_at__isnull=True), name="bulk_acts_open"),)
        constraints = (models.UniqueConstraint(fields=("tenant", "id"), name="bulk_act_in_tenant"),)

    def __str__(self) -> str:
        return f"{self.action.capitalize()} {self.total}"

    @property
    def is_over(self) -> bool:
        return self.ended_at is not None


class BulkRow(PartIdRow):
    """One row of such an act: what it is done to, and the result in words."""

    bulk_act = models.ForeignKey(
        BulkAct, on_delete=models.CASCADE, related_name="rows", db_constraint=False, db_index=False
    )
    place = models.PositiveIntegerField()
    subject_id = models.UUIDField()
    subject_name = models.CharField(max_length=300)
    status = models.CharField(max_length=10, default=WAITING, choices=[(word, word) for word in ROW_STATUSES])
    message = models.TextField(blank=True)
    at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "wf_bulk_rows"
        ordering = ("place",)
        indexes = (models.Index(fields=("bulk_act", "place"), condition=Q(status=WAITING), name="bulk_rows_waiting"),)
        constraints = (
            models.UniqueConstraint(fields=("bulk_act", "place"), name="bulk_row_place_once"),
            models.UniqueConstraint(fields=("bulk_act", "subject_id"), name="bulk_row_subject_once"),
            models.CheckConstraint(condition=Q(status__in=ROW_STATUSES), name="bulk_row_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.subject_name}: {self.status}"
