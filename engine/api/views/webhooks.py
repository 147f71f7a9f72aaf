"""Webhooks over REST: subscribe, pause, test and replay, and read deliveries."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api import filters
from engine.api.etags import EditedView, matched
from engine.api.idempotency import once, refuse_key
from engine.api.pagination import answer_page
from engine.api.request_bodies import NoBody, ReplayBody, RotateBody, WebhookBody, WebhookChangeBody, read_body
from engine.api.response_shapes import (
    DeliveryDetailSerializer,
    DeliverySerializer,
    WebhookSerializer,
)
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import NEWEST
from engine.models import Webhook
from engine.services.webhooks import deliveries
from engine.services.webhooks import subscriptions as webhooks


def shape_webhooks(rows: list[Any]) -> list[Any]:
    """Write webhooks without their secrets."""
    return WebhookSerializer.write_all(rows)


def shape_deliveries(rows: list[Any]) -> list[Any]:
    """Write deliveries without their bodies and attempts."""
    return DeliverySerializer.write_all(rows)


def with_secret(made: tuple[Webhook, str]) -> dict[str, Any]:
    """Write a webhook with its new secret."""
    webhook, secret = made
    return {**WebhookSerializer.write(webhook), "secret": secret}


class WebhooksView(ApiView):
    made = "{id}/"

    def get(self, request: Request) -> Response:
        """List the webhooks, newest first."""
        rows = filters.narrowed(request, webhooks.list_webhooks(actor=self.actor), filters.WEBHOOKS)
        return Response(answer_page(request, rows, NEWEST, shape_webhooks))

    def post(self, request: Request) -> Response:
        """Create a webhook. Its secret is returned only once."""
        refuse_key(request, "A webhook's secret")
        made = webhooks.create_webhook(actor=self.actor, **read_body(request, WebhookBody))
        return Response(with_secret(made), status=201)


class WebhookView(EditedView):
    passing = frozenset({"failures", "failing_since", "delivered_at"})

    def hold(self, webhook_id: UUID) -> object:
        return webhooks.webhook_to_manage(self.actor, webhook_id)

    def get(self, request: Request, webhook_id: UUID) -> Response:
        """Show one webhook."""
        return Response(WebhookSerializer.write(webhooks.find_webhook(actor=self.actor, webhook_id=webhook_id)))

    @matched
    def put(self, request: Request, webhook_id: UUID) -> Response:
        """Change the fields that are given: the URL, the events, the templates."""
        body = read_body(request, WebhookChangeBody)
        changed = webhooks.change_webhook(actor=self.actor, webhook_id=webhook_id, **body)
        return Response(WebhookSerializer.write(changed))

    @matched
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Delete a webhook and its deliveries."""
        webhooks.delete_webhook(actor=self.actor, webhook_id=webhook_id)
        return Response(status=204)


class HoldView(ApiView):
    """Pause or resume a webhook: the route names the action."""

    move: Callable[..., Webhook]

    @once
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Pause or resume."""
        read_body(request, NoBody)
        return Response(WebhookSerializer.write(type(self).move(actor=self.actor, webhook_id=webhook_id)))


class PauseView(HoldView):
    move = staticmethod(webhooks.pause_webhook)


class ResumeView(HoldView):
    move = staticmethod(webhooks.resume_webhook)


class RotateView(ApiView):
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Rotate the secret. The new one is returned only once; the old one stays valid for a while."""
        refuse_key(request, "A webhook's secret")
        body = read_body(request, RotateBody)
        return Response(with_secret(webhooks.rotate_secret(actor=self.actor, webhook_id=webhook_id, **body)))


class PingView(ApiView):
    @once
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send a test message."""
        read_body(request, NoBody)
        made = webhooks.ping_webhook(actor=self.actor, webhook_id=webhook_id)
        return Response(DeliveryDetailSerializer.write(made), status=202)


class ReplayFailedView(ApiView):
    @once
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Resend failed deliveries, all or since a given time."""
        count = deliveries.replay_failed(actor=self.actor, webhook_id=webhook_id, **read_body(request, ReplayBody))
        return Response({"replayed": count}, status=202)


class DeliveriesView(ApiView):
    def get(self, request: Request) -> Response:
        """List deliveries, newest first."""
        rows = filters.narrowed(request, deliveries.list_deliveries(actor=self.actor), filters.DELIVERIES)
        return Response(answer_page(request, rows.defer("body"), NEWEST, shape_deliveries))


class DeliveryView(ApiView):
    def get(self, request: Request, delivery_id: UUID) -> Response:
        """Show one delivery: its body, and the result of each attempt."""
        found = deliveries.find_delivery(actor=self.actor, delivery_id=delivery_id)
        return Response(DeliveryDetailSerializer.write(found))


class ReplayView(ApiView):
    @once
    def post(self, request: Request, delivery_id: UUID) -> Response:
        """Resend a delivery with the same id and body."""
        read_body(request, NoBody)
        found = deliveries.replay_delivery(actor=self.actor, delivery_id=delivery_id)
        return Response(DeliveryDetailSerializer.write(found), status=202)
