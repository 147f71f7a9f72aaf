"""Secrets of a tenant: values can be written, never read back."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.kernel.expressions.secret_redaction import SHORTEST
from engine.models import Audit, Secret
from engine.services.tenants import settings as tenant_settings
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR


class NamedSettingForm(ServiceForm):
    """Create something under a free name, or change an existing one, whose name is fixed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.name:
            self.fields["name"].initial, self.fields["name"].disabled = self.instance.name, True

    def clean_name(self) -> str:
        """Refuse a name that is taken: the service would overwrite what has it."""
        name: str = self.cleaned_data["name"]
        there = type(self.instance).objects.filter(tenant_id=self.actor.tenant_id, name=name)
        if not self.instance.name and there.exists():
            kind = self.instance._meta.verbose_name
            message = f"There is already a {kind} with this name. Open it in the list to change it."
            raise forms.ValidationError(message, code="taken")
        return name


class SecretForm(NamedSettingForm):
    """Create or change a secret."""

    name = forms.CharField(max_length=63, help_text="Calls use it as secret.NAME.", widget=UnfoldAdminTextInputWidget())
    value = forms.CharField(
        max_length=10_000,
        strip=False,
        required=False,
        help_text=f"At least {SHORTEST} characters. Stored encrypted and never shown again.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    origins = forms.CharField(
        required=False,
        label="May be sent to",
        help_text="One origin per line, such as https://api.example.com. If empty, calls may send it anywhere. "
        "To add an origin, enter the value again; to remove one, leave the value empty.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["value"].required = not self.instance.name
        self.initial.setdefault("origins", "\n".join(self.instance.origins))

    def act(self, typed: dict[str, Any]) -> Secret:
        value, origins = typed["value"] or None, typed["origins"].split()
        return tenant_settings.put_secret(actor=self.actor, name=typed["name"], value=value, origins=origins)


def delete(request: HttpRequest, secret: Secret) -> str:
    tenant_settings.delete_secret(actor=actor_of(request), name=secret.name)
    return f"Secret {secret.name} was deleted. Calls that use it now fail."


class TenantSetting(TenantAdmin):
    """A page of a tenant's settings; its history is part of the tenant's audit chain."""

    kind: ClassVar[str]
    """How its audit actions end: a secret and a calendar may have the same name."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        acts = access.visible_audit(actor).filter(subject_id=actor.tenant_id, new__name=row.name)
        return acts.filter(action__endswith=f"_{self.kind}")


@admin.register(Secret)
class SecretAdmin(TenantSetting):
    kind = "secret"
    empty_text = "Calls use secrets for passwords and keys. A value can be replaced but never read."
    form = SecretForm
    list_display = ("name", "sent_to", "who", "changed")
    changed = moment_column("changed_at", "Changed")
    search_fields = ("name",)
    ordering = ("name",)
    buttons = (
        Button(
            "delete-secret",
            "Delete",
            delete,
            TO_AUTHOR,
            danger=True,
            preview="Its value is lost for good. A secret that an active version or a running instance needs is not deleted.",
        ),
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name", "value", "origins"]

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:engine_secret_changelist")

    @display(description="May be sent to")
    def sent_to(self, secret: Secret) -> str:
        return ", ".join(secret.origins) or "⚠ anywhere"

    @display(description="Changed by", ordering="changed_by_name")
    def who(self, secret: Secret) -> str:
        return secret.changed_by_name.capitalize()
