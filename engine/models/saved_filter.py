"""Filters of the inbox that people keep: a name for a list's address."""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow


class SavedFilter(IdRow):
    """A list's filters, saved under a name. Everyone can use a shared one; only its owner changes it."""

    owner_id = models.UUIDField()
    owner_name = models.CharField(max_length=100)
    name = models.CharField(max_length=60)
    query = models.TextField(help_text="The list's address behind the question mark, in its one written form.")
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="Kept for a while, so that it can be undone.")

    class Meta:
        db_table = "wf_saved_filters"
        ordering = ("name", "id")
        indexes = (
            models.Index(
                fields=("tenant", "name"),
                condition=Q(shared=True, deleted_at__isnull=True),
                name="shared_filters_by_tenant",
            ),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "owner_id", "name"), condition=Q(deleted_at__isnull=True), name="one_filter_a_name"
            ),
        )

    def __str__(self) -> str:
        return self.name
