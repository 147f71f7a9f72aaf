"""Webhooks and their deliveries: what is sent where, whether it arrives, and pausing, testing and resending."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from engine import access
from engine.admin.base import TenantAdmin
from engine.admin.columns import moment_column
from engine.admin.descriptions import moment_words
from engine.admin.permissions import actor_of
from engine.admin.row_actions import Button, Question
from engine.admin.service_forms import ServiceForm
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Audit, DeliveryAttempt, Webhook, WebhookDelivery
from engine.services.webhooks import deliveries
from engine.services.webhooks import subscriptions as webhooks
from engine.services.webhooks.events import EVENTS
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_MANAGE_WEBHOOKS, TO_OPERATE
from workflowplatform.database.stored_json import json_in, object_in

STATUS_LABELS = {"active": "success", "paused": "warning", "disabled": "danger"}
DELIVERY_LABELS = {"pending": "info", "delivered": "success", "failed": "danger"}
SHOWN = 25


def pause(request: HttpRequest, webhook: Webhook) -> str:
    webhooks.pause_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "The webhook is paused. Everything that happens meanwhile is sent when you resume it."


def resume(request: HttpRequest, webhook: Webhook) -> str:
    webhooks.resume_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "The webhook is active again and continues where it stopped. It now sends what you may see."


def ping(request: HttpRequest, webhook: Webhook) -> str:
    webhooks.ping_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "A test message is being sent. Its result appears below in a few seconds."


def replay_failed(request: HttpRequest, webhook: Webhook) -> str:
    count = deliveries.replay_failed(actor=actor_of(request), webhook_id=webhook.pk)
    return "1 delivery is being sent again." if count == 1 else f"{count} deliveries are being sent again."


def delete(request: HttpRequest, webhook: Webhook) -> str:
    webhooks.delete_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return f"Webhook “{webhook}” and its deliveries were deleted."


def rotate(request: HttpRequest, webhook: Webhook) -> HttpResponse:
    """Create a new secret and show it on the answer's page."""
    keep_for = days_in(request.POST.get("keep_for", ""))
    changed, secret = webhooks.rotate_secret(
        actor=actor_of(request),
        webhook_id=webhook.pk,
        keep_for=keep_for,
        reason=request.POST.get("answer", ""),
        instead_of=request.POST.get("mark", ""),
    )
    return secret_page(request, changed, secret, rotated=True)


def days_in(typed: str) -> timedelta:
    """Read a number of days; an empty field means the default."""
    if not typed.strip():
        return webhooks.OLD_SECRET_FOR
    try:
        return timedelta(days=int(typed))
    except (ValueError, OverflowError):
        message = "Enter a number of days for the old secret, such as 1."
        raise Invalid(message, [FieldError("keep_for", "invalid", message)]) from None


def secret_page(request: HttpRequest, webhook: Webhook, secret: str, *, rotated: bool) -> HttpResponse:
    """Show a secret once, on a page of its own: a message would store it in a cookie."""
    title = "New secret" if rotated else "Webhook created"
    context = {"title": title, "webhook": webhook, "plain": secret, "rotated": rotated}
    context |= {"wf_both": webhooks.has_two_secrets(webhook), "opts": Webhook._meta}
    answer = TemplateResponse(
        request, "admin/engine/webhook/secret.html", {**admin.site.each_context(request), **context}
    )
    answer["Cache-Control"] = "no-store"
    return answer


def after_rotating(actor: Actor, webhook: Webhook) -> str:
    """Describe what a new secret means for the receiver."""
    both = f"Messages are also signed with the current secret for {webhooks.OLD_SECRET_FOR.days} day, or as set below."
    before = " The secret before it, which is still used, ends at once." if webhooks.has_two_secrets(webhook) else ""
    return f"A new secret is created and shown once. {both}{before} Give the new one to the receiver in time."


def replay(request: HttpRequest, delivery: WebhookDelivery) -> str:
    deliveries.replay_delivery(actor=actor_of(request), delivery_id=delivery.pk)
    return "The delivery is being sent again with the same id and the same body."


def is_active(actor: Actor, webhook: Webhook) -> bool:
    return webhook.status == "active"


def is_held(actor: Actor, webhook: Webhook) -> bool:
    return webhook.status != "active"


def is_over(actor: Actor, delivery: WebhookDelivery) -> bool:
    return delivery.status != "pending"


def event_words(event: str) -> str:
    """Return an event in words: `task.opened` is “Task opened”."""
    return event.replace(".", " ").capitalize()


def last_try(delivery: WebhookDelivery) -> DeliveryAttempt | None:
    """Return the last attempt, from the prefetched log."""
    tries = list(delivery.log.all())
    return tries[-1] if tries else None


class WebhookForm(ServiceForm):
    title = forms.CharField(max_length=200, label="Purpose", widget=UnfoldAdminTextInputWidget())
    url = forms.CharField(
        max_length=2000,
        label="URL",
        help_text="Such as https://example.com/hooks.",
        widget=UnfoldAdminTextInputWidget(),
    )
    events = forms.MultipleChoiceField(
        choices=[(event, event_words(event)) for event in EVENTS],
        label="Events",
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    templates = forms.CharField(
        required=False,
        label="Only for these templates",
        help_text="Names separated by commas. Empty: all templates.",
        widget=UnfoldAdminTextInputWidget(),
    )

    def act(self, typed: dict[str, Any]) -> Webhook:
        names = [name.strip() for name in typed["templates"].split(",") if name.strip()]
        given = {"title": typed["title"], "url": typed["url"], "events": typed["events"], "templates": names}
        webhook, secret = webhooks.create_webhook(actor=self.actor, **given)
        webhook.plain = secret  # type: ignore[attr-defined]
        return webhook


@admin.register(Webhook)
class WebhookAdmin(TenantAdmin):
    empty_text = "A webhook tells another program what happens here."
    visible = staticmethod(access.visible_webhooks)
    list_display = ("words", "state_label", "about", "health", "owner")
    list_filter = ("status",)
    search_fields = ("title", "url")
    ordering = ("-id",)
    buttons = (
        Button(
            "delete-webhook",
            "Delete",
            delete,
            TO_MANAGE_WEBHOOKS,
            danger=True,
            preview="Nothing is sent to this URL any more, and its deliveries are deleted. To stop for a while, pause it.",
        ),
        Button("replay", "Resend failed deliveries", replay_failed, TO_OPERATE),
        Button(
            "rotate",
            "New secret",
            rotate,
            TO_MANAGE_WEBHOOKS,
            asks="Reason for the new secret",
            more=(Question("keep_for", "Days until the old secret ends", "Empty: 1 day. 0: it ends now."),),
            preview=after_rotating,
            mark=webhooks.secret_mark,
        ),
        Button("ping", "Send a test", ping, TO_MANAGE_WEBHOOKS, is_active),
        Button("pause", "Pause", pause, TO_MANAGE_WEBHOOKS, is_active),
        Button("resume", "Resume", resume, TO_MANAGE_WEBHOOKS, is_held),
    )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change=change, **kwargs | ({} if obj else {"form": WebhookForm}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if obj else list(WebhookForm.base_fields)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        return secret_page(request, obj, obj.plain, rotated=False)

    def after_button(self, request: HttpRequest, row: Any) -> str:
        gone = not Webhook.objects.filter(pk=row.pk).exists()
        return reverse("admin:engine_webhook_changelist") if gone else super().after_button(request, row)

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(subject_kind="tenant", new__webhook=str(row.pk))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what a webhook sends to whom, how well that works, and its recent deliveries."""
        if row is None:
            return {"title": "New webhook"}
        told = access.visible_deliveries(actor_of(request)).filter(webhook=row).defer("body").prefetch_related("log")
        return {
            "title": str(row),
            "subtitle": None,
            "wf_webhook": row,
            "wf_health": self.health(row),
            "wf_both": webhooks.has_two_secrets(row),
            "wf_events": [event_words(event) for event in row.events],
            "wf_deliveries": [(one, event_words(one.event), last_try(one)) for one in told.order_by("-id")[:SHOWN]],
        }

    @display(description="Webhook", header=True, ordering="title")
    def words(self, webhook: Webhook) -> list[str]:
        return [str(webhook), webhook.url if webhook.title else ""]

    @display(description="Status", label=STATUS_LABELS, ordering="status")
    def state_label(self, webhook: Webhook) -> str:
        return webhook.status

    @display(description="Events")
    def about(self, webhook: Webhook) -> str:
        first = ", ".join(event_words(event) for event in webhook.events[:2])
        more = f" and {len(webhook.events) - 2} more" if len(webhook.events) > 2 else ""
        return f"{first}{more}" + (f" of {', '.join(webhook.templates)}" if webhook.templates else "")

    @display(description="Health")
    def health(self, webhook: Webhook) -> str:
        if webhook.failures:
            since = moment_words(webhook.failing_since) if webhook.failing_since else ""
            return f"{webhook.failures} failures in a row since {since}"
        return f"last delivered {moment_words(webhook.delivered_at)}" if webhook.delivered_at else "nothing sent yet"

    @display(description="Sends what they see", ordering="owner_name")
    def owner(self, webhook: Webhook) -> str:
        return webhook.owner_name.capitalize()


@admin.register(WebhookDelivery)
class DeliveryAdmin(TenantAdmin):
    empty_text = "Everything that webhooks send is listed here, with every attempt."
    visible = staticmethod(access.visible_deliveries)
    list_display = ("what", "to_whom", "state_label", "tries", "made", "next_try")
    list_filter = ("status", "webhook")
    list_select_related = ("webhook",)
    ordering = ("-id",)
    made = moment_column("created_at", "Happened")
    buttons = (Button("replay", "Send again", replay, TO_OPERATE, is_over),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return access.visible_audit(actor).filter(
            subject_kind="tenant",
            action="replay_deliveries",
            new__webhook=str(row.webhook_id),
        )

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what was sent, and the result of each attempt."""
        if row is None:
            return {}
        told = object_in(json_in(row.body), "data")
        facts = object_in(told.get("data", told), "content").items()
        seen = access.visible_instances(actor_of(request)).filter(pk=row.instance_id) if row.instance_id else None
        return {
            "title": f"{event_words(row.event)}, to {row.webhook}",
            "subtitle": None,
            "wf_delivery": row,
            "wf_facts": [(name.replace("_", " "), value) for name, value in facts if value is not None],
            "wf_instance": seen.first() if seen is not None else None,
            "wf_log": row.log.all(),
        }

    @display(description="Event", ordering="event")
    def what(self, delivery: WebhookDelivery) -> str:
        return event_words(delivery.event)

    @display(description="Status", label=DELIVERY_LABELS, ordering="status")
    def state_label(self, delivery: WebhookDelivery) -> str:
        return delivery.status

    @display(description="Webhook", ordering="webhook__title")
    def to_whom(self, delivery: WebhookDelivery) -> str:
        return str(delivery.webhook)

    @display(description="Attempts", ordering="attempts")
    def tries(self, delivery: WebhookDelivery) -> int:
        return delivery.attempts

    @display(description="Next attempt", ordering="due_at")
    def next_try(self, delivery: WebhookDelivery) -> str:
        if delivery.status != "pending":
            return "–"
        return moment_words(delivery.due_at) if delivery.webhook.status == "active" else "when it is resumed"
