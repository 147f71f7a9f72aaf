"""Columns that several lists share: moments in words, and the names of what an act was done to."""

from collections.abc import Callable
from typing import Any

from django.db.models import Case, CharField, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from unfold.decorators import display

from engine.admin.sentences import moment_words
from engine.models import Audit, Instance, Template
from workflowplatform.accounts.models import Tenant, User


def moment_column(field: str, description: str) -> Callable[[Any, Any], str]:
    """Make a column that says a moment in the reader's zone and sorts by it."""

    @display(description=description, ordering=field)
    def column(page: Any, row: Any) -> str:
        return moment_words(getattr(row, field))

    return column


def _name_of(rows: QuerySet[Any], *fields: str, tenant: str = "tenant_id") -> Subquery:
    """Look a name up in the tenant of the act itself: a list shows no name of another one, whatever an act points to."""
    named = rows.filter(pk=OuterRef("subject_id"), **{tenant: OuterRef("tenant_id")})
    return Subquery(named.annotate(called=Coalesce(*fields, Value(""), output_field=CharField())).values("called")[:1])


def with_subject_names(acts: QuerySet[Audit]) -> QuerySet[Audit]:
    """Add what each act was done to, by the name people use, in the same question."""
    names = Case(
        When(subject_kind="person", then=_name_of(User.objects.all(), "username")),
        When(subject_kind="template", then=_name_of(Template.objects.all(), "title")),
        When(subject_kind="instance", then=_name_of(Instance.objects.all(), "reference", "template__title")),
        When(subject_kind="tenant", then=_name_of(Tenant.objects.all(), "name", tenant="id")),
        default=Value(""),
        output_field=CharField(),
    )
    return acts.annotate(subject_name=names)
