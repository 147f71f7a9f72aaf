"""Signals by key, and events: both arrive without naming an instance."""

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.idempotency import once
from engine.api.request_bodies import EventBody, SignalBody, read_body
from engine.api.response_shapes import StartedSerializer
from engine.api.views.base import ApiView
from engine.services.instances import events, signals


class SignalsView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Send a signal to the instance that waits for its name and key."""
        sent = signals.send_keyed_signal(actor=self.actor, **read_body(request, SignalBody))
        return Response({"delivered": sent.delivered, "kept": sent.kept})


class EventsView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Send an event; it starts every workflow that listens for it."""
        accepted = events.accept_event(actor=self.actor, **read_body(request, EventBody))
        return Response(StartedSerializer.write(accepted))
