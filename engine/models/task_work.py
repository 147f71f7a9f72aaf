"""What belongs to a task besides its row: answers begun, what is said about it, files, and whose turn it is."""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow, ObjectField, PartIdRow
from engine.models.instance import Instance
from engine.models.task import Task
from engine.models.template import Template
from workflowplatform.accounts.models import User


class TaskDraft(PartIdRow):
    """An answer begun and not yet sent. It belongs to the task, so that the next person can continue it.

    Where several people answer one task each has a draft of their own, and `owner_id` says whose.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="drafts", db_constraint=False, db_index=False)
    owner_id = models.UUIDField(null=True, blank=True)
    values = ObjectField(default=dict)
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


class PendingAnswer(PartIdRow):
    """An answer that a person gave and can still take back: a worker sends it when it is due, under the rules of that moment.

    One that was refused then stays until its person has seen why; what was typed is a draft again.
    """

    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="pending_answers", db_constraint=False, db_index=False
    )
    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    batch_id = models.UUIDField()
    """Answers that were given together are taken back together."""
    outcome = models.CharField(max_length=100)
    values = ObjectField(default=dict)
    comment = models.TextField(blank=True)
    ticked = models.JSONField(default=list)
    form_hash = models.CharField(max_length=64)
    """What was asked: an answer to another form is not sent."""
    given_at = models.DateTimeField()
    due_at = models.DateTimeField()
    failures = models.PositiveSmallIntegerField(default=0)
    refused_at = models.DateTimeField(null=True)
    refusal = models.CharField(max_length=50, blank=True)
    refusal_text = models.TextField(blank=True)

    class Meta:
        db_table = "wf_pending_answers"
        ordering = ("id",)
        indexes = (
            models.Index(fields=("due_at",), condition=Q(refused_at__isnull=True), name="pending_answers_by_due"),
            models.Index(fields=("person", "batch_id"), name="pending_answers_by_person"),
        )
        constraints = (models.UniqueConstraint(fields=("task", "person"), name="one_pending_answer_a_task_and_person"),)

    def __str__(self) -> str:
        return f"answer of {self.person}, sent at {self.due_at}"


class TaskComment(PartIdRow):
    """A comment on a task or on its case, apart from answers; never changed."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    task = models.ForeignKey(
        Task,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="comments",
        db_constraint=False,
        db_index=False,
    )
    """Empty: it is about the case as a whole."""
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


class TaskAttachment(PartIdRow):
    """A file that a person added to a task. Its content is in the data folder under the row's id, never its own name."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    task = models.ForeignKey(
        Task,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="attachments",
        db_constraint=False,
        db_index=False,
    )
    """Empty: it belongs to the case as a whole."""
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


class TaskQuestion(IdRow):
    """A question about a task to one person. Until it is answered or withdrawn, the task waits for that person."""

    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    task = models.ForeignKey(
        Task, on_delete=models.CASCADE, related_name="questions", db_constraint=False, db_index=False
    )
    text = models.TextField()
    asked_by_id = models.UUIDField(null=True)
    asked_by_name = models.CharField(max_length=100)
    asked_of_id = models.UUIDField()
    asked_of_name = models.CharField(max_length=100)
    asked_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True, help_text="When its person was reminded last.")
    answer = models.TextField(blank=True)
    answered_by_name = models.CharField(max_length=100, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was answered or withdrawn.")

    class Meta:
        db_table = "wf_task_questions"
        ordering = ("id",)
        indexes = (
            models.Index(
                fields=("asked_of_id", "id"), condition=Q(ended_at__isnull=True), name="open_questions_by_person"
            ),
            models.Index(fields=("instance",), name="questions_by_instance"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("task",), condition=Q(ended_at__isnull=True), name="one_open_question_a_task"
            ),
        )

    def __str__(self) -> str:
        return f"{self.asked_by_name} asks {self.asked_of_name}"


class Turn(PartIdRow):
    """The person who last got a task of a step, so that the next one's turn is known; its lock makes choices take turns."""

    template = models.ForeignKey(
        Template, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    step = models.CharField(max_length=100)
    person_name = models.CharField(max_length=100, blank=True)

    class Meta:
        db_table = "wf_turns"
        constraints = (models.UniqueConstraint(fields=("template", "step"), name="one_turn_a_step"),)

    def __str__(self) -> str:
        return f"{self.step}: {self.person_name}"
