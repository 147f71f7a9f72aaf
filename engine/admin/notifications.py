"""Notifications to people and chats, whether they arrived, and the chats of roles."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button
from engine.admin.service_forms import ServiceForm
from engine.models import Audit, Notification, RoleChat
from engine.models.notification import CHATS
from engine.services.notifications.reports import resend_notification
from engine.services.notifications.role_chats import set_role_chat, try_role_chat
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS, TO_OPERATE

STATUS_LABELS = {"pending": "info", "sent": "success", "dropped": "warning", "failed": "danger"}
STATES = {"pending": "waits", "sent": "sent", "dropped": "not needed", "failed": "failed"}
CHANNEL_WORDS = {"mail": "E-mail", "push": "Push", "slack": "Slack", "teams": "Teams"}
CHAT_LABELS = {"works": "success", "failed": "danger"}


def resend(request: HttpRequest, row: Notification) -> str:
    resend_notification(actor=actor_of(request), notification_id=row.pk)
    return "It is being sent again. What is no news any more by then is not sent."


def has_failed(actor: Actor, row: Notification) -> bool:
    return row.status == "failed"


@admin.register(Notification)
class NotificationAdmin(TenantAdmin):
    empty_text = "Every message to a person or a chat is listed here for 30 days, with what went wrong."
    visible = staticmethod(access.visible_notifications)
    list_display = ("receiver", "about", "by", "state_label", "tried", "made", "result")
    list_filter = ("status", "channel", "kind")
    ordering = ("-id",)
    made = moment_column("created_at", "Happened")
    buttons = (Button("resend", "Send again", resend, TO_OPERATE, has_failed),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["receiver", "about", "by", "state_label", "tried", "made", "next_try", "result"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return self.get_fields(request, obj)

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).none()

    @display(description="To")
    def receiver(self, row: Notification) -> str:
        return row.person.display_name if row.person else str(row.role)

    @display(description="About", ordering="kind")
    def about(self, row: Notification) -> str:
        return row.kind.replace("_", " ").capitalize()

    @display(description="By", ordering="channel")
    def by(self, row: Notification) -> str:
        return CHANNEL_WORDS[row.channel]

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state_label(self, row: Notification) -> tuple[str, str]:
        return row.status, STATES[row.status]

    @display(description="Attempts", ordering="tries")
    def tried(self, row: Notification) -> int:
        return row.tries

    @display(description="Next attempt", ordering="due_at")
    def next_try(self, row: Notification) -> str:
        return moment_words(row.due_at) if row.status == "pending" else "–"

    @display(description="Result")
    def result(self, row: Notification) -> str:
        return row.error or "–"


class RoleChatForm(ServiceForm):
    """Set up a chat of a role, or change it; its address is written and never read back."""

    role = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    chat = forms.ChoiceField(choices=[(one, CHANNEL_WORDS[one]) for one in CHATS], widget=UnfoldAdminSelectWidget())
    address = forms.CharField(
        max_length=2000,
        label="Address of the incoming webhook",
        help_text="It is kept encrypted and never shown: anyone who knows it can write there.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "off"}),
    )
    language = forms.ChoiceField(
        choices=[("", "The platform's"), *settings.LANGUAGES], required=False, widget=UnfoldAdminSelectWidget()
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [(role.name, str(role)) for role in access.visible_roles(self.actor)]  # type: ignore[attr-defined]
        if not self.instance._state.adding:
            self.initial.update(role=self.instance.role.name, chat=self.instance.chat, language=self.instance.language)
            self.fields["role"].disabled = self.fields["chat"].disabled = True

    def act(self, typed: dict[str, Any]) -> RoleChat | None:
        return set_role_chat(actor=self.actor, **typed)


def write_test(request: HttpRequest, chat: RoleChat) -> str:
    try_role_chat(actor=actor_of(request), chat_id=chat.pk)
    return "A test is on its way to the chat. Load this page again in a few seconds to see whether it arrived."


def stop(request: HttpRequest, chat: RoleChat) -> str:
    set_role_chat(actor=actor_of(request), role=chat.role.name, chat=chat.chat, address="")
    return f"{chat.role} gets no messages there any more."


@admin.register(RoleChat)
class RoleChatAdmin(TenantAdmin):
    empty_text = "A role can get messages about its new tasks in a channel of Slack or Teams."
    visible = staticmethod(access.visible_role_chats)
    form = RoleChatForm
    list_display = ("of_role", "where", "state_label", "failure", "spoken")
    ordering = ("role__name", "chat")
    buttons = (
        Button(
            "stop",
            "Delete",
            stop,
            TO_MANAGE_WEBHOOKS,
            danger=True,
            preview="The role gets no messages there any more, and the address is deleted.",
        ),
        Button("test", "Send a test", write_test, TO_MANAGE_WEBHOOKS),
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        if obj is None:
            return list(RoleChatForm.base_fields)
        shown = ["state_label", "failure"]
        if self.has_change_permission(request, obj):
            return [*RoleChatForm.base_fields, *shown]
        return ["of_role", "where", "spoken", *shown]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["of_role", "where", "spoken", "state_label", "failure"] if obj else []

    def after_button(self, request: HttpRequest, row: Any) -> str:
        gone = not RoleChat.objects.filter(pk=row.pk).exists()
        return reverse("admin:engine_rolechat_changelist") if gone else super().after_button(request, row)

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        acts = access.visible_audit(actor).filter(subject_id=row.tenant_id, action="set_role_chat")
        return acts.filter(new__role=row.role.name, new__chat=row.chat)

    @display(description="Role", ordering="role__name")
    def of_role(self, chat: RoleChat) -> str:
        return str(chat.role)

    @display(description="Chat", ordering="chat")
    def where(self, chat: RoleChat) -> str:
        return CHANNEL_WORDS[chat.chat]

    @display(description="Language", ordering="language")
    def spoken(self, chat: RoleChat) -> str:
        return dict(settings.LANGUAGES).get(chat.language, "The platform's")

    @display(description="Status", label=CHAT_LABELS)
    def state_label(self, chat: RoleChat) -> str:
        return "failed" if chat.failed_at else "works"
