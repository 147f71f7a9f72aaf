"""Serve metrics to Prometheus: to this machine, or with a token of level 6."""

from ipaddress import ip_address

from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from engine import metrics
from engine.api.views.base import ApiView
from engine.errors import NotFound
from engine.services import health
from workflowplatform.accounts.levels import Level
from workflowplatform.http.client_address import FORWARDED

TEXT = "text/plain; version=0.0.4; charset=utf-8"


class MetricsView(ApiView):
    """Everyone else gets the answer of an unknown URL."""

    schema = None
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> HttpResponse:
        """Answer in the text format of Prometheus."""
        if not (comes_from_here(request) or getattr(request.user, "level", 0) >= Level.SUPERGOD):
            raise NotFound
        return HttpResponse(metrics.exposition(health.queue_facts()), content_type=TEXT)


def comes_from_here(request: Request) -> bool:
    """Return whether the request comes from this machine itself, not through a proxy."""
    if request.META.get(FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
