"""The audit over REST: what was done in a tenant, and whether that record is whole."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api import filters
from engine.api.paging import LAST_WRITTEN, answer_page
from engine.api.serializers import AuditSerializer, BrokenSerializer
from engine.api.views.base import ApiView
from engine.services import auditing


def shape_acts(rows: list[Any]) -> list[Any]:
    """Write rows of the audit."""
    return list(AuditSerializer(rows, many=True).data)


class AuditView(ApiView):
    def get(self, request: Request) -> Response:
        """List what was done in the tenant, newest first."""
        rows = filters.narrowed(request, auditing.list_audit(actor=self.actor), filters.AUDIT)
        return Response(answer_page(request, rows, LAST_WRITTEN, shape_acts))


class VerifyView(ApiView):
    def get(self, request: Request) -> Response:
        """Check every chain of the tenant."""
        verdict = auditing.verify_audit(actor=self.actor)
        broken = BrokenSerializer(verdict.broken, many=True).data
        return Response({"ok": not broken, "rows": verdict.rows, "chains": verdict.chains, "broken": broken})
