"""Let a Prometheus read the figures: from this machine, or with a level-6 token."""

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
    """Nothing is here for anybody else: a stranger gets the answer of an unknown address."""

    schema = None
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> HttpResponse:
        """Answer in Prometheus' text form."""
        if not (comes_from_here(request) or getattr(request.user, "level", 0) >= Level.SUPERGOD):
            raise NotFound
        return HttpResponse(metrics.exposition(health.queue_facts()), content_type=TEXT)


def comes_from_here(request: Request) -> bool:
    """Tell whether this machine itself asks: what a proxy in front brings in may come from anywhere."""
    if request.META.get(FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
