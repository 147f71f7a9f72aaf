"""What people keep of their lists: filters under a name, how the lists look, and what their bulk actions did."""

from typing import Any

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow
from workflowplatform.accounts.models import Role


class SavedFilter(IdRow):
    """A list's filters, saved under a name. Its owner shares it with a role or with everyone, and says who may change it."""

    owner_id = models.UUIDField()
    owner_name = models.CharField(max_length=100)
    name = models.CharField(max_length=60)
    query = models.TextField(help_text="The list's address behind the question mark, in its one written form.")
    shared = models.BooleanField(default=False)
    role = models.ForeignKey(
        Role, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_constraint=False, db_index=False
    )
    """The role whose people see it; None: everyone or its owner alone. Deleting a role sets it to None."""
    editable = models.BooleanField(default=False, db_default=False, help_text="Everyone who sees it may change it.")
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
            models.Index(fields=("role",), condition=Q(role__isnull=False), name="saved_filters_by_role"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "owner_id", "name"), condition=Q(deleted_at__isnull=True), name="one_filter_a_name"
            ),
            models.UniqueConstraint(fields=("tenant", "id"), name="saved_filter_in_tenant"),
            models.CheckConstraint(
                condition=~Q(shared=True) | Q(role__isnull=True), name="filter_shared_with_a_role_or_everyone"
            ),
        )

    def __str__(self) -> str:
        return self.name


class ListSettings(IdRow):
    """How a person's lists look, and with which one the inbox opens. Without a row both are as they come."""

    person_id = models.UUIDField()
    start_view = models.CharField(max_length=10, blank=True, default="")
    start_filter = models.ForeignKey(
        SavedFilter, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    columns: Any = models.JSONField(default=dict)
    """The columns of each list, by its name; one that is absent has its own."""

    class Meta:
        db_table = "wf_list_settings"
        constraints = (models.UniqueConstraint(fields=("tenant", "person_id"), name="list_settings_once_a_person"),)

    def __str__(self) -> str:
        return f"list settings of {self.person_id}"


class BulkReport(IdRow):
    """What became of each task of a bulk action, for the person who asked for it."""

    person_id = models.UUIDField()
    action = models.CharField(max_length=10)
    query = models.TextField(blank=True)
    """The address of the list, as it was asked for."""
    results: Any = models.JSONField()
    words: Any = models.JSONField(default=dict, db_default=models.Value({}, output_field=models.JSONField()))
    """What was asked besides the tasks: to whom, which answer, with which comment. The rest is tried again with it."""
    done = models.PositiveIntegerField()
    left = models.PositiveIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "wf_bulk_reports"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("person_id", "-id"), name="bulk_reports_by_person"),
            models.Index(fields=("created_at",), name="bulk_reports_by_age"),
        )

    def __str__(self) -> str:
        return f"{self.action}: {self.done} done, {self.left} not"
