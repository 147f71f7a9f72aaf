"""Report to load balancers, `bin/up` and operators whether the platform serves."""

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.views.base import ApiView
from engine.conf import conf
from engine.services import health
from workflowplatform.accounts.levels import Level
from workflowplatform.version import VERSION


class HealthView(ApiView):
    """Open to everyone; details only for level 6, or where the operator opened them."""

    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        found = health.look_at_services()
        body: dict[str, object] = {"status": found.status, "version": VERSION}
        if self._may_see_details(request):
            body |= {"database": found.database, "redis": found.redis, "work": found.work, "schema": found.schema}
            body |= health.queue_facts() if found.database == health.FINE else {}
        return Response(body, status=200 if found.serves else 503)

    def _may_see_details(self, request: Request) -> bool:
        return conf.health_details or getattr(request.user, "level", 0) >= Level.SUPERGOD
