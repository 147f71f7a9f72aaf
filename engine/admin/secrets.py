"""What a tenant's workflows need: secrets, whose values only go in."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

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
    """Write something that has a name: a new one under a name that is free, or one that is there, whose name stays."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.name:
            self.fields["name"].initial, self.fields["name"].disabled = self.instance.name, True

    def clean_name(self) -> str:
        """Refuse to write over what somebody made: services write anew what has the name already."""
        name: str = self.cleaned_data["name"]
        there = type(self.instance).objects.filter(tenant_id=self.actor.tenant_id, name=name)
        if not self.instance.name and there.exists():
            kind = self.instance._meta.verbose_name
            raise forms.ValidationError(f"There is a {kind} of this name already. Open it in the list to change it.")
        return name


class SecretForm(NamedSettingForm):
    """Write a secret, new or anew."""

    name = forms.CharField(max_length=63, help_text="Calls use it as secret.NAME.", widget=UnfoldAdminTextInputWidget())
    value = forms.CharField(
        max_length=10_000,
        strip=False,
        required=False,
        help_text=f"At least {SHORTEST} characters. It is kept encrypted and never shown again.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    origins = forms.CharField(
        required=False,
        label="May be sent to",
        help_text="One address a line, such as https://api.example.com. If empty, calls may send it anywhere. "
        "To add one, type the value again; to take one away, leave the value empty.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["value"].required = not self.instance.name
        self.initial.setdefault("origins", "\n".join(self.instance.origins))

    def act(self, typed: dict[str, Any]) -> Secret:
        value, origins = typed["value"] or None, typed["origins"].split()
        return tenant_settings.put_secret(actor=self.actor, name=typed["name"], value=value, origins=origins)


def forget(request: HttpRequest, secret: Secret) -> str:
    """Forget a secret."""
    tenant_settings.delete_secret(actor=actor_of(request), name=secret.name)
    return f"The secret {secret.name} is forgotten; calls that use it fail from now on."


class TenantSetting(TenantAdmin):
    """A page of something the tenant sets up; its history stands in the tenant's own chain, among that of others."""

    kind: ClassVar[str]
    """How its acts end: a secret and a calendar may have the same name."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        acts = Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=actor.tenant_id, new__name=row.name)
        return acts.filter(action__endswith=f"_{self.kind}")


@admin.register(Secret)
class SecretAdmin(TenantSetting):
    kind = "secret"
    nothing = "No secret yet. A call names one instead of a password, and nobody reads it again."
    form = SecretForm
    list_display = ("name", "sent_to", "who", "changed")
    changed = moment_column("changed_at", "Written")
    search_fields = ("name",)
    ordering = ("name",)
    buttons = (
        Button(
            "forget",
            "Forget it",
            forget,
            TO_AUTHOR,
            danger=True,
            preview="Its value is gone for good. One that a version in force or a running instance needs is not forgotten.",
        ),
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name", "value", "origins"]

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:engine_secret_changelist")

    @display(description="May be sent to")
    def sent_to(self, secret: Secret) -> str:
        """Name its origins; one without any may go wherever calls go."""
        return ", ".join(secret.origins) or "⚠ anywhere"

    @display(description="Written by", ordering="changed_by_name")
    def who(self, secret: Secret) -> str:
        return secret.changed_by_name.capitalize()
