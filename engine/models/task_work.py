"""What belongs to a task beside its row: answers begun, what is said about it, files, and whose turn it is."""

from django.db import models

from engine.models.base import IdRow, OrderedJSONField
from engine.models.instance import Instance
from engine.models.task import Task
from engine.models.template import Template


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


class TaskAttachment(IdRow):
    """A file that somebody added to a task. What is in it lies in the data folder under the row's id, never its own name."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="attachments", db_constraint=False)
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    added_by_id = models.UUIDField(null=True)
    added_by_name = models.CharField(max_length=100)
    added_at = models.DateTimeField()

    class Meta:
        db_table = "wf_task_attachments"
        ordering = ("id",)
        indexes = (models.Index(fields=("task", "id"), name="task_attachments_by_task"),)

    def __str__(self) -> str:
        return self.name


class Turn(IdRow):
    """Who was last given a task of a step, so that the next one's turn is known; its lock lets choices follow each other."""

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    step = models.CharField(max_length=100)
    person_name = models.CharField(max_length=100, blank=True)

    class Meta:
        db_table = "wf_turns"
        constraints = (models.UniqueConstraint(fields=("template", "step"), name="one_turn_a_step"),)

    def __str__(self) -> str:
        return f"{self.step}: {self.person_name}"
