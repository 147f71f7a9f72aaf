"""Retention: how long ended instances are kept, per template and by default, and what would be deleted now."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.durations import EXAMPLES, read_window, window_words
from engine.admin.permissions import actor_of
from engine.admin.service_forms import ServiceForm
from engine.models import Audit, RetentionRule, RetentionRun, Template
from engine.services.retention.purge import WINDOWS, preview_retention, set_retention
from workflowplatform.accounts.actor import Actor

LABELS = {
    "completed_for": "Completed, failed and expired instances",
    "cancelled_for": "Cancelled instances",
    "runtime_for": "Snapshots, receipts and calls of ended instances",
    "audit_for": "The audit of ended instances",
}
HINTS = {
    "completed_for": "Including their tasks, steps, events, comments and files.",
    "cancelled_for": "The same for instances that were cancelled.",
    "runtime_for": "Only the engine needs these; the instance and its history stay readable.",
    "audit_for": "The record of every action. An anchor is kept, so that the rest can still be verified.",
}
HOW = (
    f"Such as {EXAMPLES}, counted from the end of an instance. "
    "If empty, the default rule applies; if that is empty too, the data is kept forever."
)


def window_column(name: str, words: str) -> Any:

    @display(description=words, ordering=name)
    def column(page: Any, rule: RetentionRule) -> str:
        return window_words(getattr(rule, name)) or "–"

    return column


class RetentionForm(ServiceForm):
    """Create or change a rule."""

    template = forms.ModelChoiceField(
        queryset=Template.objects.none(),
        required=False,
        empty_label="All templates without a rule of their own",
        label="Template",
        widget=UnfoldAdminSelectWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen = self.fields["template"]
        chosen.queryset = access.visible_templates(self.actor).order_by("title")  # type: ignore[attr-defined]
        known = RetentionRule.objects.filter(pk=self.instance.pk).exists()
        chosen.initial, chosen.disabled = self.instance.template_id, known
        for name in WINDOWS:
            self.fields[name].initial = window_words(getattr(self.instance, name))

    def clean(self) -> dict[str, Any]:
        """Read periods in words, and refuse a second rule for the same template: it would overwrite the first."""
        typed: dict[str, Any] = super().clean() or self.cleaned_data
        for name in WINDOWS:
            try:
                typed[name] = read_window(typed.get(name) or "")
            except ValueError as problem:
                self.add_error(name, forms.ValidationError(str(problem), code="period"))
        rules = RetentionRule.objects.filter(tenant_id=self.actor.tenant_id, template=typed.get("template"))
        if "template" in typed and rules.exclude(pk=self.instance.pk).exists():
            message = "There is already a rule for this. Open it in the list to change it."
            self.add_error("template", forms.ValidationError(message, code="taken"))
        return typed

    def act(self, typed: dict[str, Any]) -> RetentionRule:
        template = typed.pop("template")
        return set_retention(actor=self.actor, template=template.name if template else None, **typed)


for _name in WINDOWS:
    RetentionForm.base_fields[_name] = RetentionForm.declared_fields[_name] = forms.CharField(
        required=False,
        max_length=40,
        label=LABELS[_name],
        help_text=HINTS[_name],
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "no limit", "autocomplete": "off"}),
    )


@admin.register(RetentionRule)
class RetentionAdmin(TenantAdmin):
    empty_text = "Without a rule, everything is kept."
    form = RetentionForm
    list_display = ("words", "completed", "cancelled", "runtime", "audit")
    completed = window_column("completed_for", "Completed")
    cancelled = window_column("cancelled_for", "Cancelled")
    runtime = window_column("runtime_for", "Engine state")
    audit = window_column("audit_for", "Audit")

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.preview_view)
        return [path("preview/", view, name="engine_retentionrule_preview"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RetentionRule]:
        rows: QuerySet[RetentionRule] = super().get_queryset(request)
        return rows.select_related("template")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        last = RetentionRun.objects.filter(tenant_id=actor_of(request).tenant_id).first()
        return super().changelist_view(request, {**(extra_context or {}), "wf_last_run": last})

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Show what would be deleted now, per template; nothing is deleted."""
        actor = actor_of(request)
        titles = dict(access.visible_templates(actor).values_list("name", "title"))
        found = [(titles.get(one.template) or one.template, one) for one in preview_retention(actor=actor)]
        context = {**self.admin_site.each_context(request), "title": "Retention preview", "wf_purged": found}
        return TemplateResponse(request, "admin/engine/retentionrule/preview.html", context)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [(None, {"fields": ["template"]}), ("Keep for", {"fields": list(WINDOWS), "description": HOW})]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: RetentionRule) -> QuerySet[Audit]:
        subject = row.template_id or actor.tenant_id
        return access.visible_audit(actor).filter(subject_id=subject, action="set_retention")

    @display(description="Template", ordering="template__title")
    def words(self, rule: RetentionRule) -> str:
        return str(rule.template or "All templates without a rule of their own")
