"""Retention over REST: how long ended work is kept, the last run, and a run now."""

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.idempotency import once
from engine.api.request_bodies import RetentionBody, read_body
from engine.api.response_shapes import RetentionSerializer
from engine.api.views.base import ApiView
from engine.services.retention import runs as retention_runs


class RetentionView(ApiView):
    def get(self, request: Request) -> Response:
        """Show the rules, the last run, and what would be deleted now."""
        return Response(RetentionSerializer.write(retention_runs.show_retention(actor=self.actor)))

    @once
    def post(self, request: Request) -> Response:
        """Apply the rules now; a dry run deletes nothing."""
        asked = retention_runs.ask_retention(actor=self.actor, **read_body(request, RetentionBody))
        return Response(RetentionSerializer.write(asked), status=202)
