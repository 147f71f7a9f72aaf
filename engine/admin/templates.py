"""Templates and their versions: YAML with findings at their lines, and the lifecycle of a version."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import display

from engine import access
from engine.admin.authoring.editor_api import editor_urls
from engine.admin.authoring.editor_form import VersionForm
from engine.admin.authoring.pages import frame, missing_words, page_url, page_urls
from engine.admin.authoring.previews import forms_page
from engine.admin.authoring.source_lines import lines_of_source, shown
from engine.admin.authoring.trial_runs import try_page
from engine.admin.authoring.version_actions import BUTTONS, is_draft
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import ButtonRow
from engine.diagram.outline import outline_lines
from engine.kernel.language.source_positions import step_places
from engine.kernel.transitions import VersionStatus
from engine.models import Audit, Template, TemplateVersion
from engine.services.templates.diagrams import inline_version
from engine.services.templates.editor import readiness_of
from workflowplatform.accounts.actor import Actor

ELSEWHERE = ("activate", "duplicate")
"""Buttons on other pages of a version: a draft is activated where its changes are shown."""
STATUS_LABELS = {"active": "success", "unavailable": "danger", "paused": "warning", "draft": "info", "archived": ""}


@admin.register(TemplateVersion)
class VersionAdmin(TenantAdmin):
    visible = staticmethod(access.visible_versions)
    form = VersionForm
    list_display = ("__str__", "state", "created_by_name", "changed")
    changed = moment_column("updated_at", "Changed")
    list_filter = ("status", "template")
    search_fields = ("template__name", "template__title")
    buttons = BUTTONS

    def get_queryset(self, request: HttpRequest) -> QuerySet[TemplateVersion]:
        rows: QuerySet[TemplateVersion] = super().get_queryset(request)
        return rows.select_related("template")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["source", "revision"]

    def get_urls(self) -> list[Any]:
        trying = (("try", try_page, ["GET", "POST"]), ("forms", forms_page, ["GET"]))
        return [
            *editor_urls(self.admin_site),
            *(page_url(self, name, made, methods) for name, made, methods in trying),
            *page_urls(self),
            *super().get_urls(),
        ]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return findings, diagram, test results and the other pages of the version for the editor."""
        if row is None:
            return {"title": "New template", "wf_editable": True}
        if row.unavailable:
            words = f"This release cannot run version {row.number}: {row.unavailable}"
            messages.warning(request, words, extra_tags="unavailable")
        actor = actor_of(request)
        ready = readiness_of(actor=actor, name=row.template.name, number=row.number)
        findings = shown(ready.findings)
        return {
            **frame(self, request, row, "change", changes=len(ready.differences)),
            "subtitle": None,
            "wf_buttons": [button for button in ButtonRow(self).offered(request, row) if button.name not in ELSEWHERE],
            "wf_editable": is_draft(actor, row) and self.has_change_permission(request, row),
            "wf_lines": lines_of_source(row.source, findings),
            "wf_step_lines": {name: place.line for name, place in step_places(row.source).items()},
            "wf_findings": findings,
            "wf_ready": ready,
            "wf_missing": missing_words(ready.errors, ready.red),
            "wf_outline": outline_lines(row.canonical) if row.canonical else (),
            "wf_diagram": inline_version(row),
        }

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return self._saved(request, obj)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self._saved(request, obj)

    def _saved(self, request: HttpRequest, version: TemplateVersion) -> HttpResponse:
        """Report the save; stay on the page, or open the page that was asked for."""
        messages.success(request, "Draft saved.", extra_tags="draft.saved")
        wanted = next((name for name in ("changes", "try") if f"_{name}" in request.POST), "change")
        return redirect(f"admin:engine_templateversion_{wanted}", quote(version.pk))

    def after_button(self, request: HttpRequest, row: Any) -> str:
        shown = getattr(request, "begun", row)
        now = access.visible_versions(actor_of(request)).filter(pk=shown.pk).first()
        if now is None:
            return reverse("admin:engine_template_changelist")
        if request.path.endswith("/activate/") and now.status == VersionStatus.DRAFT:
            return reverse("admin:engine_templateversion_changes", args=[quote(row.pk)])
        return super().after_button(request, shown)

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_id=row.template_id)

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state(self, version: TemplateVersion) -> str:
        return version_status_word(version)


def version_status_word(version: TemplateVersion) -> str:
    """Return the status of a version; an active one that this release cannot run is unavailable."""
    return "unavailable" if version.status == VersionStatus.ACTIVE and version.unavailable else version.status


def version_to_show(template: Template) -> TemplateVersion:
    """Choose the version to open for a template: the newest draft, else the active one, else the last."""
    versions = sorted(template.versions.all(), key=lambda version: -version.number)
    order = (VersionStatus.DRAFT, VersionStatus.ACTIVE, VersionStatus.PAUSED, VersionStatus.ARCHIVED)
    return min(versions, key=lambda version: (order.index(VersionStatus(version.status)), -version.number))


@admin.register(Template)
class TemplateAdmin(TenantAdmin):
    visible = staticmethod(access.visible_templates)
    list_display = ("words", "active", "draft", "changed")
    search_fields = ("name", "title", "description")
    show_add_link = False
    """The list has its own buttons: new, gallery, import."""
    empty_text = "Write one, start from the gallery, or import a file."
    ordering = ("title",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Template]:
        light = TemplateVersion.objects.defer("source", "canonical", "findings")
        rows: QuerySet[Template] = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("versions", queryset=light))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        return redirect("admin:engine_templateversion_add")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        template = self.get_object(request, object_id)
        if template is None:
            raise Http404
        return redirect("admin:engine_templateversion_change", version_to_show(template).pk)

    @display(description="Template", header=True, ordering="title")
    def words(self, template: Template) -> list[str]:
        return [str(template), template.name]

    @display(description="Active", label={**STATUS_LABELS, "nothing": ""})
    def active(self, template: Template) -> tuple[str, str]:
        for version in template.versions.all():
            if version.status in (VersionStatus.ACTIVE, VersionStatus.PAUSED):
                return version_status_word(version), f"version {version.number} {version_status_word(version)}"
        return "nothing", "none"

    @display(description="Draft")
    def draft(self, template: Template) -> str:
        numbers = sorted(version.number for version in template.versions.all() if version.status == VersionStatus.DRAFT)
        return ", ".join(f"version {number}" for number in numbers) or "–"

    @display(description="Changed")
    def changed(self, template: Template) -> str:
        return moment_words(max((version.updated_at for version in template.versions.all()), default=None))
