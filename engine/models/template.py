"""Templates: what authors write, in numbered versions."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _

from engine.kernel.language.stored_definitions import misfit, stand_in
from engine.kernel.transitions import VersionStatus
from engine.models.base import IdRow, ObjectField, PartIdRow
from workflowplatform.accounts.models import AuditedSubject
from workflowplatform.database.stored_json import TextsField


class Template(IdRow, AuditedSubject):
    """A workflow under its name; its versions hold the content."""

    name = models.SlugField(max_length=100)
    title = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    tags = TextsField(default=list, blank=True)
    concurrent_limit = models.PositiveIntegerField(null=True, blank=True, editable=False)
    """The limit of the active version; counted over all versions."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "wf_templates"
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("tenant", "name"), name="template_name_once_a_tenant"),
            models.UniqueConstraint(fields=("tenant", "id"), name="template_in_tenant"),
        )

    def __str__(self) -> str:
        return self.title or self.name


class DefinitionField(ObjectField):
    """A canonical definition. In place of one that cannot be read every reader gets one step, which says so."""

    def shaped(self, read: Any) -> Any:
        """Take what fits as it is."""
        place = misfit(read)
        return stand_in(place, cannot_be_read(place)) if place else read


def cannot_be_read(place: str) -> str:
    """Return the sentence that a stored definition cannot be read, and where."""
    return _("The stored definition of this version can't be read: %(place)s has another shape.") % {"place": place}


class VersionQuerySet(models.QuerySet["TemplateVersion"]):
    def in_force(self) -> "VersionQuerySet":
        """Keep the versions that hold their template's place: active or paused."""
        return self.filter(status__in=(VersionStatus.ACTIVE, VersionStatus.PAUSED))

    def active(self) -> "VersionQuerySet":
        return self.filter(status=VersionStatus.ACTIVE)

    def startable(self) -> "VersionQuerySet":
        """Keep the active ones that this release can run."""
        return self.active().filter(unavailable="")

    def drafts(self) -> "VersionQuerySet":
        return self.filter(status=VersionStatus.DRAFT)


class TemplateVersion(PartIdRow):
    """One version of a template. A draft changes; once activated its definition is frozen for ever."""

    template = models.ForeignKey(
        Template, on_delete=models.PROTECT, related_name="versions", db_constraint=False, db_index=False
    )
    number = models.PositiveIntegerField()
    event_name = models.CharField(max_length=200, blank=True, editable=False)
    """The event that starts it, once activated."""
    status = models.CharField(
        max_length=10, choices=[(status.value, status.value) for status in VersionStatus], default=VersionStatus.DRAFT
    )
    source = models.TextField(help_text="YAML")
    canonical = DefinitionField(null=True, blank=True, editable=False)
    sha256 = models.CharField(max_length=64, blank=True, editable=False)
    findings = models.JSONField(default=list, blank=True, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)
    created_by_name = models.CharField(max_length=100, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    unavailable = models.TextField(blank=True, default="", db_default="", editable=False)
    """Why this release cannot start it; found at start-up. Empty: it can."""
    activated_by_name = models.CharField(max_length=100, blank=True, editable=False)
    activated_at = models.DateTimeField(null=True, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = VersionQuerySet.as_manager()

    class Meta:
        db_table = "wf_template_versions"
        ordering = ("template__name", "-number")
        constraints = (
            models.UniqueConstraint(fields=("template", "number"), name="version_number_once_a_template"),
            models.UniqueConstraint(fields=("tenant", "id"), name="version_in_tenant"),
            models.UniqueConstraint(
                fields=("template",), condition=Q(status__in=("active", "paused")), name="one_version_in_force"
            ),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in VersionStatus]), name="version_status_known"
            ),
        )

    @property
    def is_limited(self) -> bool:
        """Return whether a limit counts the instances of this version; a child runs in its parent's slot."""
        return self.template.concurrent_limit is not None or self.tenant.concurrent_limit is not None

    def __str__(self) -> str:
        return f"{self.template} {self.number}"
