"""The admin pages of tenants, for level 6: each visit is recorded in the audit of the tenant."""

from functools import wraps
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.models import Audit
from engine.services.people.tenants_and_roles import MOST_UNDO_SECONDS, change_tenant, choose_tenant, create_tenant
from engine.services.tenants.cross_tenant_access import note_looks
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_CROSS_TENANTS
from workflowplatform.accounts.middleware import CHOSEN_TENANT
from workflowplatform.accounts.models import Tenant
from workflowplatform.database.tenancy import crossing


class TenantForm(ServiceForm):
    """Create a tenant, or change its title and limits."""

    name = forms.CharField(
        max_length=63,
        help_text="Small letters, digits, - and _. It cannot change.",
        widget=UnfoldAdminTextInputWidget(),
    )
    title = forms.CharField(required=False, max_length=200, widget=UnfoldAdminTextInputWidget())
    concurrent_limit = forms.IntegerField(
        required=False,
        min_value=1,
        label="Concurrent instances",
        help_text="Empty: no limit.",
        widget=UnfoldAdminIntegerFieldWidget(),
    )
    http_allow = forms.CharField(
        required=False,
        label="Allowed origins for calls",
        help_text="One per line, such as https://api.example.com. Empty: any public origin.",
        widget=UnfoldAdminTextareaWidget(),
    )

    undo_seconds = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MOST_UNDO_SECONDS,
        label="Undo of answers",
        help_text="Seconds in which an answer given on a page can be taken back, where a template says nothing. Empty: none.",
        widget=UnfoldAdminIntegerFieldWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenant = self.instance
        if tenant._state.adding:
            self.fields = {name: self.fields[name] for name in ("name", "title")}
            return
        self.fields.pop("name", None)
        origins = "\n".join(tenant.http_allow or [])
        self.initial.update(
            title=tenant.title,
            concurrent_limit=tenant.concurrent_limit,
            http_allow=origins,
            undo_seconds=tenant.undo_seconds,
        )

    def act(self, typed: dict[str, Any]) -> Tenant:
        if self.instance._state.adding:
            return create_tenant(actor=self.actor, **typed)
        typed["http_allow"] = typed["http_allow"].split() or None
        return change_tenant(actor=self.actor, tenant=self.instance, **typed)


def every_tenant(actor: Actor) -> Any:
    """Return all tenants to level 6, and none to others."""
    return Tenant.objects.all() if actor.level >= TO_CROSS_TENANTS else Tenant.objects.none()


def enter(request: HttpRequest, tenant: Tenant) -> str:
    """Work in this tenant from now on; its audit records the visit."""
    choose_tenant(actor=actor_of(request), tenant=tenant)
    request.session[CHOSEN_TENANT] = str(tenant.pk)
    return f"You now work in {tenant}. Its audit records your visit."


def is_elsewhere(actor: Actor, tenant: Tenant) -> bool:
    return tenant.pk != actor.tenant_id


def _across(pattern: Any) -> Any:
    """Show level 6 every tenant on the tenant pages; others see only their own rows there too."""
    view = pattern.callback

    @wraps(view)
    def seen(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        actor = request.actor  # type: ignore[attr-defined]
        if not actor or actor.level < TO_CROSS_TENANTS:
            return view(request, *args, **kwargs)
        with crossing("tenants"):
            response = view(request, *args, **kwargs)
            return response.render() if isinstance(response, TemplateResponse) else response

    pattern.callback = seen
    return pattern


@admin.register(Tenant)
class TenantPage(TenantAdmin):
    visible = staticmethod(every_tenant)
    form = TenantForm
    list_display = ("words", "name", "created")
    search_fields = ("name", "title")
    ordering = ("name",)
    created = moment_column("created_at", "Created")
    buttons = (Button("enter", "Work in this tenant", enter, TO_CROSS_TENANTS, is_elsewhere),)

    def get_urls(self) -> list[Any]:
        return [_across(pattern) for pattern in super().get_urls()]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["title", "concurrent_limit", "undo_seconds", "http_allow"] if obj else ["name", "title"]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """List tenants, and record the visit in the audit of each one shown."""
        answer = super().changelist_view(request, extra_context)
        shown = getattr(answer, "context_data", None) or {}
        if "cl" in shown:
            ids = [tenant.pk for tenant in shown["cl"].result_list]
            note_looks(actor=actor_of(request), tenants=ids, at=request.path)
        return answer

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Find a tenant for its pages, and record the visit in its audit."""
        tenant = super().get_object(request, object_id, from_field)
        if tenant is not None:
            note_looks(actor=actor_of(request), tenants=[tenant.pk], at=request.path)
        return tenant

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.audit_of_tenant(actor, row.pk)

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:index")

    @display(description="Tenant", ordering="name")
    def words(self, tenant: Tenant) -> str:
        return str(tenant)
