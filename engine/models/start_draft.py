"""Requests that people have begun to fill in, and the files that a request brings along."""

from django.db import models
from django.db.models import Q

from engine.models.base import IdRow, ObjectField
from engine.models.instance import Instance
from engine.models.template import Template


class StartDraft(IdRow):
    """A start form begun and not yet sent. Only its owner sees it; `number` is that of the form it was typed into."""

    template = models.ForeignKey(
        Template, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    owner_id = models.UUIDField()
    number = models.CharField(max_length=64)
    values = ObjectField(default=dict)
    saved_at = models.DateTimeField()

    class Meta:
        db_table = "wf_start_drafts"
        ordering = ("-saved_at", "-id")
        indexes = (models.Index(fields=("template",), name="start_drafts_by_template"),)
        constraints = (models.UniqueConstraint(fields=("tenant", "owner_id", "number"), name="one_draft_a_start_form"),)

    def __str__(self) -> str:
        return f"draft {self.number}"


class CaseFile(IdRow):
    """A file that came with a request: of a draft until that is sent, of the instance from then on.

    Its content is in the data folder under the row's id, never its own name.
    """

    draft = models.ForeignKey(
        StartDraft, on_delete=models.CASCADE, null=True, related_name="files", db_constraint=False, db_index=False
    )
    instance = models.ForeignKey(
        Instance, on_delete=models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    added_by_id = models.UUIDField(null=True)
    added_by_name = models.CharField(max_length=100)
    added_at = models.DateTimeField()

    class Meta:
        db_table = "wf_case_files"
        ordering = ("id",)
        indexes = (
            models.Index(fields=("draft", "id"), condition=Q(draft__isnull=False), name="case_files_by_draft"),
            models.Index(fields=("instance", "id"), condition=Q(instance__isnull=False), name="case_files_by_instance"),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(draft__isnull=True) ^ Q(instance__isnull=True), name="file_of_a_draft_or_an_instance"
            ),
        )

    def __str__(self) -> str:
        return self.name
