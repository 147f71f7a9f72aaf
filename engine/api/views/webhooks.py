"""Webhooks over REST: subscribe, hold, try and replay, and look at what became of each message."""

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
    """Write deliveries without their bodies and tries."""
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
        """Tell an address about events from now on; its secret is answered this once."""
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
        """Change whatever is given: whom it tells, and about what."""
        body = read_body(request, WebhookChangeBody)
        changed = webhooks.change_webhook(actor=self.actor, webhook_id=webhook_id, **body)
        return Response(WebhookSerializer.write(changed))

    @matched
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Forget a webhook and its deliveries."""
        webhooks.delete_webhook(actor=self.actor, webhook_id=webhook_id)
        return Response(status=204)


class HoldView(ApiView):
    """Hold a webhook or let it go on: the verb stands in the route."""

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
        """Make a new secret, answered this once; the one before signs beside it for a while."""
        refuse_key(request, "A webhook's secret")
        body = read_body(request, RotateBody)
        return Response(with_secret(webhooks.rotate_secret(actor=self.actor, webhook_id=webhook_id, **body)))


class PingView(ApiView):
    @once
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send a message that tells nothing, to try the address."""
        read_body(request, NoBody)
        made = webhooks.ping_webhook(actor=self.actor, webhook_id=webhook_id)
        return Response(DeliveryDetailSerializer.write(made), status=202)


class ReplayFailedView(ApiView):
    @once
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send everything again that has failed, or what failed since a moment."""
        count = deliveries.replay_failed(actor=self.actor, webhook_id=webhook_id, **read_body(request, ReplayBody))
        return Response({"replayed": count}, status=202)


class DeliveriesView(ApiView):
    def get(self, request: Request) -> Response:
        """List what webhooks were told, newest first."""
        rows = filters.narrowed(request, deliveries.list_deliveries(actor=self.actor), filters.DELIVERIES)
        return Response(answer_page(request, rows.defer("body"), NEWEST, shape_deliveries))


class DeliveryView(ApiView):
    def get(self, request: Request, delivery_id: UUID) -> Response:
        """Show one delivery: what is sent, and what came of each try."""
        found = deliveries.find_delivery(actor=self.actor, delivery_id=delivery_id)
        return Response(DeliveryDetailSerializer.write(found))


class ReplayView(ApiView):
    @once
    def post(self, request: Request, delivery_id: UUID) -> Response:
        """Send a delivery again: the same id, the same body."""
        read_body(request, NoBody)
        found = deliveries.replay_delivery(actor=self.actor, delivery_id=delivery_id)
        return Response(DeliveryDetailSerializer.write(found), status=202)
