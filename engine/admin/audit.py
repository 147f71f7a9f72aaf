"""The audit of the tenant, newest first: who did what, in sentences; searched, taken along as a file, and verified."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.http import require_POST
from unfold.decorators import display

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import sentence_of, value_words, who_of
from engine.admin.permissions import actor_of
from engine.models import Audit
from engine.services.audit.exports import export_audit, with_subject_names
from engine.services.audit.verification import verify_audit
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

SUBJECTS = ("person", "tenant", "template", "instance")
MOST_BROKEN = 100
MOST_SUBJECTS = 200
"""So many things of one kind a search by name goes through."""


class ActionFilter(admin.SimpleListFilter):
    """Keep one kind of act: those an auditor asks for first."""

    title = "kind of act"
    parameter_name = "did"
    KINDS = {
        "people": ("person", "level", "role", "token"),
        "templates": ("template", "draft", "schedule"),
        "repairs": ("suspend_", "resume_w", "retry_w", "skip_", "dead_letter", "bulk_act", "cancel_w"),
        "tasks": ("task_",),
        "set-up": ("secret", "calendar", "retention", "webhook", "tenant"),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in self.KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Audit]) -> QuerySet[Audit]:
        words = self.KINDS.get(self.value() or "")
        if not words:
            return queryset
        return queryset.filter(Q(*(Q(action__contains=word) for word in words), _connector=Q.OR))


class SubjectFilter(admin.SimpleListFilter):
    """Keep acts on one kind of thing; the kinds are known, so the table is not asked for them."""

    title = "what it was done to"
    parameter_name = "on"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in SUBJECTS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Audit]) -> QuerySet[Audit]:
        return queryset.filter(subject_kind=self.value()) if self.value() in SUBJECTS else queryset


@admin.register(Audit)
class AuditAdmin(TenantAdmin):
    list_display = ("when", "who", "level", "what", "subject")
    list_filter = (SubjectFilter, ActionFilter)
    search_fields = ("actor_name", "action", "step", "cause")
    search_help_text = "Who, a reference or a name, an act such as cancel_workflow, a step, or a reason"
    show_full_result_count = False
    change_list_template = "admin/audit_list.html"
    ordering = ("-id",)
    fields = ("when", "who", "level", "what", "subject", "because", "before", "after", "hash")
    readonly_fields = fields
    when = moment_column("at", "When")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Audit]:
        return with_subject_names(super().get_queryset(request))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Audit], search_term: str
    ) -> tuple[QuerySet[Audit], bool]:
        """Search what was done, and to what: an operator knows a case by its reference, not by its acts."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        subjects = _subjects_called(actor_of(request), search_term.strip()) if search_term.strip() else []
        return (found | queryset.filter(subject_id__in=subjects) if subjects else found), may_repeat

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("export/", view(self.export_view), name="engine_audit_export"),
            path("verify/", view(require_POST(self.verify_view)), name="engine_audit_verify"),
            *super().get_urls(),
        ]

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Stream what the list shows, as CSV or as one JSON object a line, with a signed end."""
        asked: Any = request.GET.copy()
        form = "json" if asked.pop("format", [""])[-1] == "json" else "csv"
        request.GET = asked
        try:
            rows = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters as error:
            raise BadRequest from error
        export = export_audit(actor=actor_of(request), rows=rows, form=form, asked=asked.dict())
        named = {"Content-Disposition": f'attachment; filename="{export.name}"'}
        return StreamingHttpResponse(export.lines, content_type=export.content_type, headers=named)

    def verify_view(self, request: HttpRequest) -> HttpResponse:
        """Check every chain of the tenant and say what was found."""
        verdict = verify_audit(actor=actor_of(request))
        named = {
            row.pk: row
            for row in access.visible_instances(actor_of(request)).filter(
                pk__in=[broken.subject_id for broken in verdict.broken[:MOST_BROKEN]]
            )
        }
        context = {
            **self.admin_site.each_context(request),
            "title": "Audit verified",
            "wf_verdict": verdict,
            "wf_broken": [(broken, named.get(broken.subject_id)) for broken in verdict.broken[:MOST_BROKEN]],
        }
        return TemplateResponse(request, "admin/audit_verified.html", context)

    def history_acts(self, actor: Actor, row: Audit) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=row.tenant_id, subject_id=row.subject_id)

    @display(description="Who", ordering="actor_name")
    def who(self, act: Audit) -> str:
        return who_of(act)

    @display(description="Level then", ordering="actor_level")
    def level(self, act: Audit) -> str:
        return str(act.actor_level) if act.actor_level else "–"

    @display(description="What")
    def what(self, act: Audit) -> str:
        return sentence_of(act)

    @display(description="On")
    def subject(self, act: Audit) -> str:
        return f"{act.subject_kind} {getattr(act, 'subject_name', '')}".strip()

    @display(description="Because")
    def because(self, act: Audit) -> str:
        return act.cause or "–"

    @display(description="Before")
    def before(self, act: Audit) -> str:
        return value_words(act.old)

    @display(description="After")
    def after(self, act: Audit) -> str:
        return value_words(act.new)


def _subjects_called(actor: Actor, name: str) -> list[UUID]:
    """Find what has this reference or name, among what the actor sees."""
    called = (
        access.visible_instances(actor).filter(reference__icontains=name),
        access.visible_templates(actor).filter(Q(name__icontains=name) | Q(title__icontains=name)),
        User.objects.filter(tenant_id=actor.tenant_id, username__icontains=name),
    )
    return [pk for rows in called for pk in rows.order_by().values_list("pk", flat=True)[:MOST_SUBJECTS]]
