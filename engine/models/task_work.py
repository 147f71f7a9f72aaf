"""What people leave on a task while it is open: the answer they have begun, and what they say about it."""

from django.db import models

from engine.models.base import IdRow, OrderedJSONField
from engine.models.instance import Instance
from engine.models.task import Task


class TaskDraft(IdRow):
    """An answer begun and not yet sent. It belongs to the task, so that whoever takes it over goes on with it.

    Where several people answer one task each has a draft of their own, and `owner_id` says whose.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="drafts", db_constraint=False)
    owner_id = models.UUIDField(null=True, blank=True)
    values = OrderedJSONField(default=dict)
    outcome = models.CharField(max_length=100, blank=True)
    comment = models.TextField(blank=True)
    saved_by_name = models.CharField(max_length=100)
    saved_at = models.DateTimeField()

    class Meta:
        db_table = "wf_task_drafts"
        constraints = (
            models.UniqueConstraint(fields=("task", "owner_id"), nulls_distinct=False, name="one_draft_a_task"),
        )

    def __str__(self) -> str:
        return f"draft by {self.saved_by_name}"


class TaskComment(IdRow):
    """Something said about a task, beside its answer; never changed."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="comments", db_constraint=False)
    text = models.TextField()
    author_id = models.UUIDField(null=True)
    author_name = models.CharField(max_length=100)
    at = models.DateTimeField()

    class Meta:
        db_table = "wf_task_comments"
        ordering = ("id",)
        indexes = (models.Index(fields=("task", "id"), name="task_comments_by_task"),)

    def __str__(self) -> str:
        return f"comment by {self.author_name}"
