"""Authoring: templates, their versions as YAML, findings at their line, and a version's way through life."""

import json
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import display

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.buttons import Button
from engine.admin.columns import moment_column
from engine.admin.forms import ServiceForm
from engine.admin.outline import count_words, lines_of_source, outline_of
from engine.admin.rights import actor_of
from engine.admin.sentences import moment_words
from engine.errors import Conflict, Unprocessable
from engine.kernel.transitions import VERSION_MOVES, VersionStatus
from engine.models import Audit, Template, TemplateVersion
from engine.services import templates
from engine.services.diagrams import inline_version
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

FIRST_LINES = """\
workflow: my-workflow
title: My workflow
steps:
  - id: review
    task:
      title: Have a look
      roles: [finance]
      outcomes: [approve, reject]
"""
STATUS_LABELS = {"active": "success", "unavailable": "danger", "paused": "warning", "draft": "info", "archived": ""}


class SourceInput(forms.Textarea):
    """A plain text field in the editor's type; the editor itself comes to sit on it later."""

    def __init__(self) -> None:
        super().__init__(
            attrs={"class": "wf-source", "rows": 28, "spellcheck": "false", "wrap": "off", "autocomplete": "off"}
        )


class VersionForm(ServiceForm):
    """Save a draft; with the Activate button, save it and put it in force."""

    source = forms.CharField(strip=False, widget=SourceInput())
    revision = forms.IntegerField(required=False, widget=forms.HiddenInput())
    saved_meanwhile: str = ""

    class Meta(ServiceForm.Meta):
        model = TemplateVersion

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.initial["source"] = FIRST_LINES
        else:
            self.initial.update(source=self.instance.source, revision=self.instance.revision)

    def clean_source(self) -> str:
        """Write lines as authors' files have them; browsers send carriage returns."""
        source: str = self.cleaned_data["source"]
        return source.replace("\r\n", "\n")

    def act(self, typed: dict[str, Any]) -> TemplateVersion:
        version = self._save(typed)
        if "_activate" in self.data:
            self._activate(version)
        return version

    def _save(self, typed: dict[str, Any]) -> TemplateVersion:
        if self.instance._state.adding:
            return templates.save_draft(actor=self.actor, source=typed["source"])
        name, number = self.instance.template.name, self.instance.number
        try:
            return templates.save_draft(
                actor=self.actor, source=typed["source"], name=name, number=number, revision=typed["revision"]
            )
        except Conflict as conflict:
            self._show_saved(conflict, access.version_of(self.actor, name, number))
            raise

    def _show_saved(self, conflict: Conflict, now: TemplateVersion) -> None:
        """Set the other author's text beside what was typed; saving once more is then a decision."""
        if "revision" in conflict.facts:
            self.saved_meanwhile = now.source
            typed = cast(QueryDict, self.data).copy()
            typed["revision"] = str(now.revision)
            self.data = typed

    def _activate(self, version: TemplateVersion) -> None:
        """Activate, or remember why not: what was saved stays saved."""
        try:
            templates.activate_version(actor=self.actor, name=version.template.name, number=version.number)
        except (Unprocessable, Conflict) as refusal:
            version.refusal = refusal.message  # type: ignore[attr-defined]


def pause(request: HttpRequest, version: TemplateVersion) -> str:
    """Let nothing new start."""
    templates.pause_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is paused: nothing new starts, what runs goes on."


def resume(request: HttpRequest, version: TemplateVersion) -> str:
    """Let instances start again."""
    templates.resume_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is active again."


def archive(request: HttpRequest, version: TemplateVersion) -> str:
    """Take a version out of force."""
    templates.archive_version(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"Version {version.number} is archived; its instances stay on it."


def delete(request: HttpRequest, version: TemplateVersion) -> str:
    """Throw a draft away."""
    templates.delete_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    return f"The draft of version {version.number} is deleted."


def begin(request: HttpRequest, version: TemplateVersion) -> str:
    """Begin the next version."""
    fresh = templates.new_draft(actor=actor_of(request), name=version.template.name, number=version.number)
    request.begun = fresh  # type: ignore[attr-defined]
    return f"Version {fresh.number} begins as a copy of version {version.number}."


def can_move_to(status: VersionStatus) -> Any:
    """Offer a button where the status table has that move."""
    return lambda actor, version: status in VERSION_MOVES[VersionStatus(version.status)]


def is_paused(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for paused versions."""
    return version.status == VersionStatus.PAUSED


def is_draft(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for drafts."""
    return version.status == VersionStatus.DRAFT


def is_no_draft(actor: Actor, version: TemplateVersion) -> bool:
    """Offer it for versions that are frozen."""
    return version.status != VersionStatus.DRAFT


@admin.register(TemplateVersion)
class VersionAdmin(TenantAdmin):
    visible = staticmethod(access.visible_versions)
    form = VersionForm
    list_display = ("__str__", "state", "created_by_name", "changed")
    changed = moment_column("updated_at", "Changed")
    list_filter = ("status", "template")
    search_fields = ("template__name", "template__title")
    change_form_template = "admin/version_change_form.html"
    buttons = (
        Button("begin", "New version from this one", begin, TO_AUTHOR, is_no_draft),
        Button("pause", "Pause", pause, TO_AUTHOR, can_move_to(VersionStatus.PAUSED)),
        Button("resume", "Resume", resume, TO_AUTHOR, is_paused),
        Button("archive", "Archive", archive, TO_AUTHOR, can_move_to(VersionStatus.ARCHIVED), danger=True),
        Button("discard", "Delete draft", delete, TO_AUTHOR, is_draft, danger=True),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[TemplateVersion]:
        rows: QuerySet[TemplateVersion] = super().get_queryset(request)
        return rows.select_related("template")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["source", "revision"]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Give the editor's page its findings, the outline, the canonical form and the other versions."""
        if row is None:
            return {"title": "New template", "wf_editable": True}
        if row.unavailable:
            messages.warning(request, f"This release cannot run version {row.number}: {row.unavailable}")
        return {
            "title": str(row.template),
            "subtitle": None,
            "wf_version": row,
            "wf_editable": is_draft(actor_of(request), row) and self.has_change_permission(request, row),
            "wf_lines": lines_of_source(row.source, row.findings),
            "wf_findings": row.findings,
            "wf_missing": count_words(row.findings),
            "wf_outline": outline_of(row.canonical),
            "wf_diagram": inline_version(row),
            "wf_canonical": json.dumps(row.canonical, indent=2, ensure_ascii=False) if row.canonical else "",
            "wf_versions": access.visible_versions(actor_of(request)).filter(template=row.template).order_by("-number"),
        }

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self._told(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self._told(request, obj)

    def _told(self, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
        """Say what became of it and stay on the page."""
        now = access.version_of(actor_of(request), version.template.name, version.number)
        if now.status == VersionStatus.ACTIVE:
            messages.success(request, f"Version {now.number} is active.")
        elif hasattr(version, "refusal"):
            messages.error(request, f"The draft is saved. {version.refusal}")
        else:
            messages.success(request, "Draft saved.")
        return redirect(self.after_button(request, now))

    def after_button(self, request: HttpRequest, row: Any) -> str:
        shown = getattr(request, "begun", row)
        if access.visible_versions(actor_of(request)).filter(pk=shown.pk).exists():
            return super().after_button(request, shown)
        return reverse("admin:engine_template_changelist")

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=row.template_id)

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state(self, version: TemplateVersion) -> str:
        return status_word(version)


def status_word(version: TemplateVersion) -> str:
    """Say where a version stands: one in force that this release cannot run is unavailable."""
    return "unavailable" if version.status == VersionStatus.ACTIVE and version.unavailable else version.status


def version_to_show(template: Template) -> TemplateVersion:
    """Choose the version that an author means by a template: the newest draft, else the one in force, else the last."""
    versions = sorted(template.versions.all(), key=lambda version: -version.number)
    order = (VersionStatus.DRAFT, VersionStatus.ACTIVE, VersionStatus.PAUSED, VersionStatus.ARCHIVED)
    return min(versions, key=lambda version: (order.index(VersionStatus(version.status)), -version.number))


@admin.register(Template)
class TemplateAdmin(TenantAdmin):
    visible = staticmethod(access.visible_templates)
    list_display = ("words", "in_force", "draft", "changed")
    search_fields = ("name", "title", "description")
    ordering = ("title",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Template]:
        light = TemplateVersion.objects.defer("source", "canonical", "findings")
        rows: QuerySet[Template] = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("versions", queryset=light))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Begin a template with its first version."""
        return redirect("admin:engine_templateversion_add")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a template in its versions."""
        template = self.get_object(request, object_id)
        if template is None:
            raise Http404
        return redirect("admin:engine_templateversion_change", version_to_show(template).pk)

    @display(description="Template", header=True, ordering="title")
    def words(self, template: Template) -> list[str]:
        return [str(template), template.name]

    @display(description="In force", label={**STATUS_LABELS, "nothing": ""})
    def in_force(self, template: Template) -> tuple[str, str]:
        for version in template.versions.all():
            if version.status in (VersionStatus.ACTIVE, VersionStatus.PAUSED):
                return status_word(version), f"version {version.number} {status_word(version)}"
        return "nothing", "nothing yet"

    @display(description="Draft")
    def draft(self, template: Template) -> str:
        numbers = sorted(version.number for version in template.versions.all() if version.status == VersionStatus.DRAFT)
        return ", ".join(f"version {number}" for number in numbers) or "–"

    @display(description="Changed")
    def changed(self, template: Template) -> str:
        return moment_words(max((version.updated_at for version in template.versions.all()), default=None))
