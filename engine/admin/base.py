"""The one ModelAdmin that all others derive from: rows, choices, filters, history and permissions of one tenant.

A row of another tenant gives the same answer as a missing row, at every URL. Pages read through engine.access and act
through services. Django's own log is not written: the history of a row comes from our audit.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NoReturn

from django.contrib.admin import RelatedFieldListFilter
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import get_fields_from_path, quote, unquote
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.admin import ModelAdmin

from engine import access
from engine.admin.descriptions import Line, lines_of
from engine.admin.permissions import Rights, actor_of, rights_to
from engine.admin.row_actions import Button, ButtonRow
from engine.models import Audit
from workflowplatform.accounts.actor import Actor

MOST_LINES = 500
"""The most entries that a history page shows, newest first."""


def rows_of_tenant(model: type[Model], actor: Actor) -> QuerySet[Any]:
    """Return the rows of the actor's tenant, or none if the model has no tenant."""
    if not any(field.name == "tenant" for field in model._meta.fields):
        return model._default_manager.none()
    return model._default_manager.filter(tenant_id=actor.tenant_id)


def _parameters_of(model: type[Model], entry: Any) -> Iterator[str]:
    """List the query parameters of a filter: exact values, and `isnull` where the field can be empty."""
    path = entry[0] if isinstance(entry, tuple) else entry
    if not isinstance(path, str):
        yield path.parameter_name
        return
    field: Any = get_fields_from_path(model, path)[-1]
    yield from (path, f"{path}__exact")
    if field.is_relation:
        yield f"{path}__{field.target_field.name}__exact"
    if field.null or field.many_to_many:
        yield f"{path}__isnull"


class TenantRelatedFilter(RelatedFieldListFilter):
    """Offer only rows that the actor sees as filter values."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[Any]:
        rows = model_admin.rows_behind(field.remote_field.model, request)
        return [(row.pk, str(row)) for row in rows]


class TenantAdmin(ModelAdmin):
    """Show and offer only rows of the actor's tenant, to the levels in engine.admin.permissions."""

    keeps_tenants_apart: ClassVar[bool] = True
    visible: ClassVar[Any] = None
    """The function of engine.access that returns the rows for an actor; None: all rows of the tenant."""
    buttons: ClassVar[tuple[Button, ...]] = ()
    empty_text: ClassVar[str] = ""
    """What an empty list says: what it would show and where that comes from."""
    list_per_page = 50
    compressed_fields = False
    actions: ClassVar[Any] = None

    # Rows

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        actor = actor_of(request)
        if actor.level < self.rights.view:
            return self.model._default_manager.none()
        visible = type(self).visible
        rows = visible(actor) if visible else rows_of_tenant(self.model, actor)
        ordering = self.get_ordering(request)
        return rows.order_by(*ordering) if ordering else rows

    def rows_behind(self, model: type[Model], request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of another model that the actor sees, by its own admin page if it has one."""
        page = self.admin_site._registry.get(model)
        return page.get_queryset(request) if page else rows_of_tenant(model, actor_of(request))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = self.rows_behind(db_field.remote_field.model, request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs["queryset"] = self.rows_behind(db_field.remote_field.model, request)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [self._tenant_filter(entry) for entry in super().get_list_filter(request)]

    def _tenant_filter(self, entry: Any) -> Any:
        if isinstance(entry, str) and get_fields_from_path(self.model, entry)[-1].is_relation:
            return (entry, TenantRelatedFilter)
        return entry

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only the filters that the page offers, with exact values.

        Any other lookup would let a reader guess hidden values, such as a password hash, one character at a time. A NUL
        is no value of any field, and the database raises on it.
        """
        offered = (name for entry in self.list_filter for name in _parameters_of(self.model, entry))
        return lookup in offered and "\0" not in value

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> NoReturn:
        raise Http404

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            self._refuse_unseen(request, object_id)
        return super().change_view(request, object_id, form_url, extra_context)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._refuse_unseen(request, object_id)
        return super().delete_view(request, object_id, extra_context)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Refuse selected rows that are no valid keys: Django would pass them to the database unchecked."""
        try:
            for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
                self.opts.pk.to_python(chosen)
        except ValidationError as error:
            raise BadRequest from error
        return super().response_action(request, queryset)

    def _refuse_unseen(self, request: HttpRequest, object_id: str) -> None:
        """Find the row before checking rights: Django checks first and would answer 403 instead of 404."""
        if self.get_object(request, unquote(object_id)) is None:
            raise Http404

    # Permissions

    @property
    def rights(self) -> Rights:
        return rights_to(self.opts.label_lower)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return actor_of(request).level >= self.rights.view

    def has_add_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).level >= self.rights.add

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return actor_of(request).level >= self.rights.change

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return actor_of(request).level >= self.rights.delete

    def has_module_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).level >= self.rights.view

    # History: our audit, not Django's log

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": f"History: {row}",
            "original": row,
            "opts": self.opts,
            "lines": self.history_lines(request, row),
        }
        return TemplateResponse(request, "admin/object_history.html", context)

    def history_lines(self, request: HttpRequest, row: Model) -> list[Line]:
        """Return what was done to a row, newest first."""
        return lines_of(self.history_acts(actor_of(request), row).order_by("-seq")[:MOST_LINES])

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        """Return the audit entries of this row."""
        return access.visible_audit(actor).filter(subject_id=row.pk)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: the service wrote the audit."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: the service wrote the audit."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """Do nothing: the service wrote the audit."""

    # Forms and buttons

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Pass the request to the form, so that it knows the actor. It has its own fields and none of the model's."""
        form = super().get_form(request, obj, change=change, **kwargs | {"fields": ()})
        form.request = request
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Do nothing: the form's service already saved."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool) -> None:
        """Do nothing: the form's service already saved."""

    def get_urls(self) -> list[Any]:
        return [*ButtonRow(self).urls(), *super().get_urls()]

    def after_button(self, request: HttpRequest, row: Any) -> str:
        """Return the URL to show after a button was pressed: the row by default."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[quote(row.pk)])

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs.get("obj")
        context["wf_buttons"] = ButtonRow(self).offered(request, row) if row is not None else []
        context.update({"show_save_and_continue": False, "show_save_and_add_another": False})
        context.update(self.page_context(request, row))
        return super().render_change_form(request, context, *args, **kwargs)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the row's page shows besides the form."""
        return {}
