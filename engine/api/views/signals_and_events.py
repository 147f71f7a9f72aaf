"""What arrives from outside without naming an instance: keyed signals and events."""

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
        """Send a signal to whoever waits for its name and key."""
        sent = signals.send_keyed_signal(actor=self.actor, **read_body(request, SignalBody))
        return Response({"delivered": sent.delivered, "kept": sent.kept})


class EventsView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Start what listens for an event."""
        accepted = events.accept_event(actor=self.actor, **read_body(request, EventBody))
        return Response(StartedSerializer.write(accepted))
