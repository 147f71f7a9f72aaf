"""The audit of a tenant, newest first and in sentences; it can be searched, exported and verified."""

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
from engine.db.keyset_pagination import LARGEST_SERIAL
from engine.models import Audit
from engine.services.audit.exports import export_audit, with_subject_names
from engine.services.audit.verification import verify_audit
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

SUBJECTS = ("person", "tenant", "template", "instance")
MOST_BROKEN = 100
MOST_SUBJECTS = 200
"""The most things of one kind that a search by name looks up."""


class ActionFilter(admin.SimpleListFilter):
    title = "kind of action"
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
    """Filter by subject; the kinds are known, so the table is not queried for them."""

    title = "subject"
    parameter_name = "on"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in SUBJECTS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Audit]) -> QuerySet[Audit]:
        return queryset.filter(subject_kind=self.value()) if self.value() in SUBJECTS else queryset


@admin.register(Audit)
class AuditAdmin(TenantAdmin):
    visible = staticmethod(access.visible_audit)
    list_display = ("when", "who", "level", "what", "subject")
    list_filter = (SubjectFilter, ActionFilter)
    search_fields = ("actor_name", "action", "step", "cause")
    search_help_text = "Person, reference, name, action such as cancel_workflow, step or reason"
    show_full_result_count = False
    ordering = ("-row_id", "-id")
    fields = ("when", "who", "level", "what", "subject", "because", "before", "after", "hash")
    readonly_fields = fields
    when = moment_column("at", "When")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Audit]:
        return with_subject_names(super().get_queryset(request))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Audit | None:
        """Find an act by way of its row, which has an index."""
        if not (object_id.isascii() and object_id.isdigit() and int(object_id) <= LARGEST_SERIAL):
            return None
        acts = access.visible_audit(actor_of(request)).numbered(int(object_id))
        return with_subject_names(acts).first()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Audit], search_term: str
    ) -> tuple[QuerySet[Audit], bool]:
        """Search by action and by subject: an operator knows an instance by its reference."""
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
        """Stream what the list shows as CSV or JSON lines, with a signed last line."""
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
        """Check every chain of the tenant and show the result."""
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
        return TemplateResponse(request, "admin/engine/audit/verified.html", context)

    def history_acts(self, actor: Actor, row: Audit) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_id=row.subject_id)

    @display(description="Who", ordering="actor_name")
    def who(self, act: Audit) -> str:
        return who_of(act)

    @display(description="Level", ordering="actor_level")
    def level(self, act: Audit) -> str:
        return str(act.actor_level) if act.actor_level else "–"

    @display(description="What")
    def what(self, act: Audit) -> str:
        return sentence_of(act)

    @display(description="Subject")
    def subject(self, act: Audit) -> str:
        return f"{act.subject_kind} {getattr(act, 'subject_name', '')}".strip()

    @display(description="Reason")
    def because(self, act: Audit) -> str:
        return act.cause or "–"

    @display(description="Before")
    def before(self, act: Audit) -> str:
        return value_words(act.old)

    @display(description="After")
    def after(self, act: Audit) -> str:
        return value_words(act.new)


def _subjects_called(actor: Actor, name: str) -> list[UUID]:
    """Find the ids of what has this reference or name, among what the actor sees."""
    called = (
        access.visible_instances(actor).filter(reference__icontains=name),
        access.visible_templates(actor).filter(Q(name__icontains=name) | Q(title__icontains=name)),
        User.objects.filter(tenant_id=actor.tenant_id, username__icontains=name),
    )
    return [pk for rows in called for pk in rows.order_by().values_list("pk", flat=True)[:MOST_SUBJECTS]]
