"""The audit of the tenant, newest first: who did what, in sentences; searched, taken along as a file, and verified."""

import csv
import json
from collections.abc import Iterator
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
from engine.admin.columns import moment_column, with_subject_names
from engine.admin.rights import actor_of
from engine.admin.sentences import sentence_of, value_words, who_of
from engine.models import Audit
from engine.services.auditing import verify_audit
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

SUBJECTS = ("person", "tenant", "template", "instance")
COLUMNS = (
    "id", "at", "actor_name", "actor_level", "action", "subject_kind", "subject_id", "subject_name", "seq", "step",
    "iteration", "attempt", "cause", "old", "new", "hash",
)  # fmt: skip
MOST_BROKEN = 100
MOST_SUBJECTS = 200
"""So many things of one kind a search by name goes through."""
BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
        """Stream what the list shows, as CSV or as one JSON object a line."""
        asked: Any = request.GET.copy()
        as_json = asked.pop("format", [""])[-1] == "json"
        request.GET = asked
        try:
            rows = self.get_changelist_instance(request).get_queryset(request).order_by("id")
        except IncorrectLookupParameters as error:
            raise BadRequest from error
        lines = _json_lines(rows) if as_json else _csv_lines(rows)
        kind, name = ("application/x-ndjson", "audit.ndjson") if as_json else ("text/csv; charset=utf-8", "audit.csv")
        return StreamingHttpResponse(
            lines, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
        )

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


def _record(row: Audit) -> dict[str, Any]:
    return {name: getattr(row, name) for name in COLUMNS} | {
        "at": row.at.isoformat(),
        "subject_id": str(row.subject_id),
    }


def _json_lines(rows: QuerySet[Audit]) -> Iterator[str]:
    for row in rows.iterator(chunk_size=1000):
        yield json.dumps(_record(row), ensure_ascii=False) + "\n"


class _Echo:
    """Hand each written line on, instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(rows: QuerySet[Audit]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for row in rows.iterator(chunk_size=1000):
        yield writer.writerow([_cell(value) for value in _record(row).values()])


def _cell(value: Any) -> Any:
    """Write a value so that no table program takes it for a formula."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(BEGINS_A_FORMULA) else text
