"""The audit of the tenant, newest first: who did what, in sentences."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import display

from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column, with_subject_names
from engine.admin.sentences import sentence_of, value_words, who_of
from engine.models import Audit
from workflowplatform.accounts.actor import Actor

SUBJECTS = ("person", "tenant", "template", "instance")


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
    list_filter = (SubjectFilter,)
    search_fields = ("actor_name", "action", "step")
    ordering = ("-id",)
    fields = ("when", "who", "level", "what", "subject", "because", "before", "after", "hash")
    readonly_fields = fields
    when = moment_column("at", "When")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Audit]:
        return with_subject_names(super().get_queryset(request))

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
