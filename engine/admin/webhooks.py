"""Webhooks and what they were told: who gets what, whether it arrives, and to hold, try and replay."""

import json
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

STATUS_LABELS = {"active": "success", "paused": "warning", "disabled": "danger"}
DELIVERY_LABELS = {"pending": "info", "delivered": "success", "failed": "danger"}
SHOWN = 25


def pause(request: HttpRequest, webhook: Webhook) -> str:
    """Hold a webhook."""
    webhooks.pause_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "The webhook is held. What happens meanwhile is told when you resume it."


def resume(request: HttpRequest, webhook: Webhook) -> str:
    """Let a webhook go on."""
    webhooks.resume_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "The webhook goes on where it stopped, in your name."


def ping(request: HttpRequest, webhook: Webhook) -> str:
    """Try the address."""
    webhooks.ping_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return "A message that tells nothing is on its way. Look below in a few seconds."


def replay_failed(request: HttpRequest, webhook: Webhook) -> str:
    """Send what failed again."""
    count = deliveries.replay_failed(actor=actor_of(request), webhook_id=webhook.pk)
    return "One delivery is sent again." if count == 1 else f"{count} deliveries are sent again."


def forget(request: HttpRequest, webhook: Webhook) -> str:
    """Delete a webhook."""
    webhooks.delete_webhook(actor=actor_of(request), webhook_id=webhook.pk)
    return f"The webhook “{webhook}” and its deliveries are gone."


def rotate(request: HttpRequest, webhook: Webhook) -> HttpResponse:
    """Make a new secret and show it here and now."""
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
    """Read a number of days; nothing typed is the usual time."""
    if not typed.strip():
        return webhooks.OLD_SECRET_FOR
    try:
        return timedelta(days=int(typed))
    except (ValueError, OverflowError):
        message = "Type for how many days the old secret is to sign too, such as 1."
        raise Invalid(message, [FieldError("keep_for", "invalid", message)]) from None


def secret_page(request: HttpRequest, webhook: Webhook, secret: str, *, rotated: bool) -> HttpResponse:
    """Show a secret this once, on a page of its own: a message would leave it in a cookie."""
    title = "New secret" if rotated else "Webhook made"
    context = {"title": title, "webhook": webhook, "plain": secret, "rotated": rotated}
    context |= {"wf_both": webhooks.has_two_secrets(webhook), "opts": Webhook._meta}
    answer = TemplateResponse(request, "admin/webhook_shown.html", {**admin.site.each_context(request), **context})
    answer["Cache-Control"] = "no-store"
    return answer


def after_rotating(actor: Actor, webhook: Webhook) -> str:
    """Say what a new secret means for the other side."""
    both = f"The present one signs too for {webhooks.OLD_SECRET_FOR.days} day, or as long as you say below."
    before = " The one before it, which still signs, stops at once." if webhooks.has_two_secrets(webhook) else ""
    return f"A new secret is made and shown once. {both}{before} Give the new one to the other side in time."


def replay(request: HttpRequest, delivery: WebhookDelivery) -> str:
    """Send one delivery again."""
    deliveries.replay_delivery(actor=actor_of(request), delivery_id=delivery.pk)
    return "It is sent again: the same id, the same body."


def is_active(actor: Actor, webhook: Webhook) -> bool:
    """Offer it while the webhook sends."""
    return webhook.status == "active"


def is_held(actor: Actor, webhook: Webhook) -> bool:
    """Offer it while the webhook sends nothing."""
    return webhook.status != "active"


def is_over(actor: Actor, delivery: WebhookDelivery) -> bool:
    """Offer it when a delivery is no longer on its way."""
    return delivery.status != "pending"


def event_words(event: str) -> str:
    """Say an event as people do: `task.opened` is “Task opened”."""
    return event.replace(".", " ").capitalize()


def last_try(delivery: WebhookDelivery) -> DeliveryAttempt | None:
    """Return what was tried last, of tries that were read along."""
    tries = list(delivery.log.all())
    return tries[-1] if tries else None


class WebhookForm(ServiceForm):
    """Make a webhook."""

    title = forms.CharField(max_length=200, label="What it is for", widget=UnfoldAdminTextInputWidget())
    url = forms.CharField(
        max_length=2000,
        label="Address",
        help_text="Such as https://example.com/hooks.",
        widget=UnfoldAdminTextInputWidget(),
    )
    events = forms.MultipleChoiceField(
        choices=[(event, event_words(event)) for event in EVENTS],
        label="Tell it about",
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    templates = forms.CharField(
        required=False,
        label="Only of these templates",
        help_text="Names with commas between them; none means all.",
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
    nothing = "Nobody outside is told of anything. A webhook tells another program what happens here."
    visible = staticmethod(access.visible_webhooks)
    list_display = ("words", "state_label", "about", "health", "owner")
    list_filter = ("status",)
    search_fields = ("title", "url")
    ordering = ("-id",)
    change_form_template = "admin/webhook_page.html"
    buttons = (
        Button(
            "delete-webhook",
            "Delete",
            forget,
            TO_MANAGE_WEBHOOKS,
            danger=True,
            preview="Nothing is told to this address any more, and its deliveries are forgotten. Pause it to hold it.",
        ),
        Button("replay", "Send failed ones again", replay_failed, TO_OPERATE),
        Button(
            "rotate",
            "New secret",
            rotate,
            TO_MANAGE_WEBHOOKS,
            asks="Reason for a new secret",
            more=(
                Question(
                    "keep_for", "Days for which the old one signs too", "1 where you type nothing; 0 ends it now."
                ),
            ),
            preview=after_rotating,
            mark=webhooks.secret_mark,
        ),
        Button("ping", "Try it", ping, TO_MANAGE_WEBHOOKS, is_active),
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
        """Show the secret here and now."""
        return secret_page(request, obj, obj.plain, rotated=False)

    def after_button(self, request: HttpRequest, row: Any) -> str:
        gone = not Webhook.objects.filter(pk=row.pk).exists()
        return reverse("admin:engine_webhook_changelist") if gone else super().after_button(request, row)

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(tenant_id=actor.tenant_id, subject_kind="tenant", new__webhook=str(row.pk))

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Tell a webhook: whom it tells what, how it fares, and what it was told last."""
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

    @display(description="Tells about")
    def about(self, webhook: Webhook) -> str:
        first = ", ".join(event_words(event) for event in webhook.events[:2])
        more = f" and {len(webhook.events) - 2} more" if len(webhook.events) > 2 else ""
        return f"{first}{more}" + (f" of {', '.join(webhook.templates)}" if webhook.templates else "")

    @display(description="How it fares")
    def health(self, webhook: Webhook) -> str:
        if webhook.failures:
            since = moment_words(webhook.failing_since) if webhook.failing_since else ""
            return f"{webhook.failures} failed in a row, since {since}"
        return f"arrived {moment_words(webhook.delivered_at)}" if webhook.delivered_at else "nothing was sent yet"

    @display(description="Tells what they see", ordering="owner_name")
    def owner(self, webhook: Webhook) -> str:
        return webhook.owner_name.capitalize()


@admin.register(WebhookDelivery)
class DeliveryAdmin(TenantAdmin):
    nothing = "No webhook has told anything yet. What they send stands here, with every try."
    visible = staticmethod(access.visible_deliveries)
    list_display = ("what", "to_whom", "state_label", "tries", "made", "next_try")
    list_filter = ("status", "webhook")
    list_select_related = ("webhook",)
    ordering = ("-id",)
    change_form_template = "admin/delivery_page.html"
    made = moment_column("created_at", "Happened")
    buttons = (Button("replay", "Send it again", replay, TO_OPERATE, is_over),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return []

    def history_acts(self, actor: Actor, row: Any) -> QuerySet[Audit]:
        return Audit.objects.filter(
            tenant_id=actor.tenant_id,
            subject_kind="tenant",
            action="replay_deliveries",
            new__webhook=str(row.webhook_id),
        )

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Tell a delivery: what was sent, and what came of each try."""
        if row is None:
            return {}
        told = json.loads(row.body)
        facts = [(name.replace("_", " "), value) for name, value in told["data"].items() if value is not None]
        seen = access.visible_instances(actor_of(request)).filter(pk=row.instance_id) if row.instance_id else None
        return {
            "title": f"{event_words(row.event)}, to {row.webhook}",
            "subtitle": None,
            "wf_delivery": row,
            "wf_facts": facts,
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

    @display(description="Tries", ordering="attempts")
    def tries(self, delivery: WebhookDelivery) -> int:
        return delivery.attempts

    @display(description="Next try", ordering="due_at")
    def next_try(self, delivery: WebhookDelivery) -> str:
        if delivery.status != "pending":
            return "–"
        return moment_words(delivery.due_at) if delivery.webhook.status == "active" else "when it is resumed"
