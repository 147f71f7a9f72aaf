"""What a tenant's workflows need: secrets, whose values only go in, and business calendars."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from engine.admin.base import TenantAdmin
from engine.admin.buttons import Button
from engine.admin.columns import moment_column
from engine.admin.forms import ServiceForm
from engine.admin.mending import read_json
from engine.admin.rights import actor_of
from engine.models import Audit, BusinessCalendar, Secret
from engine.services import setup
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

USUAL_WEEK = {
    "timezone": "Europe/Berlin",
    "hours": {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
    "holidays": [],
}


class SecretForm(ServiceForm):
    """Write a secret, new or anew."""

    name = forms.CharField(max_length=63, help_text="Calls use it as secret.NAME.", widget=UnfoldAdminTextInputWidget())
    value = forms.CharField(
        max_length=10_000,
        strip=False,
        help_text="It is kept encrypted and never shown again.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.name:
            self.fields["name"].initial, self.fields["name"].disabled = self.instance.name, True

    def act(self, typed: dict[str, Any]) -> Secret:
        return setup.put_secret(actor=self.actor, name=typed["name"], value=typed["value"])


def forget(request: HttpRequest, secret: Secret) -> str:
    """Forget a secret."""
    setup.delete_secret(actor=actor_of(request), name=secret.name)
    return f"The secret {secret.name} is forgotten; calls that use it fail from now on."


class TenantSetting(TenantAdmin):
    """A page of something the tenant sets up; its history stands in the tenant's own chain."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=actor.tenant_id, subject_id=actor.tenant_id, new__name=row.name)


@admin.register(Secret)
class SecretAdmin(TenantSetting):
    nothing = "No secret yet. A call names one instead of a password, and nobody reads it again."
    form = SecretForm
    list_display = ("name", "who", "changed")
    changed = moment_column("changed_at", "Written")
    search_fields = ("name",)
    ordering = ("name",)
    buttons = (Button("forget", "Forget it", forget, TO_AUTHOR, danger=True),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name", "value"]

    def after_button(self, request: HttpRequest, row: Any) -> str:
        return reverse("admin:engine_secret_changelist")

    @display(description="Written by", ordering="changed_by_name")
    def who(self, secret: Secret) -> str:
        return secret.changed_by_name.capitalize()


class CalendarForm(ServiceForm):
    """Write a business calendar, new or anew."""

    name = forms.CharField(max_length=63, help_text="Templates name it.", widget=UnfoldAdminTextInputWidget())
    title = forms.CharField(max_length=200, required=False, widget=UnfoldAdminTextInputWidget())
    content = forms.CharField(
        label="Hours and holidays (JSON)",
        help_text="timezone, hours by day, holidays, half_days.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 16, "spellcheck": "false", "class": "wf-code"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        written = self.instance.content or USUAL_WEEK
        self.fields["content"].initial = json.dumps(written, indent=2, ensure_ascii=False)
        self.fields["title"].initial = self.instance.title
        if self.instance.name:
            self.fields["name"].initial, self.fields["name"].disabled = self.instance.name, True

    def act(self, typed: dict[str, Any]) -> BusinessCalendar:
        content = read_json(typed["content"], {})
        return setup.put_calendar(actor=self.actor, name=typed["name"], title=typed["title"], content=content)


@admin.register(BusinessCalendar)
class CalendarAdmin(TenantSetting):
    nothing = "No calendar yet. Templates and schedules name one to count working hours and days."
    form = CalendarForm
    list_display = ("words", "zone", "days", "changed")
    changed = moment_column("changed_at", "Written")
    ordering = ("name",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["name", "title", "content"]

    @display(description="Calendar", header=True, ordering="name")
    def words(self, calendar: BusinessCalendar) -> list[str]:
        return [str(calendar), calendar.name]

    @display(description="Time zone")
    def zone(self, calendar: BusinessCalendar) -> str:
        return str(calendar.content.get("timezone", ""))

    @display(description="Closed on")
    def days(self, calendar: BusinessCalendar) -> str:
        count = len(calendar.content.get("holidays") or ())
        return f"{count} holidays" if count != 1 else "1 holiday"
