"""The audit over REST: what was done in a tenant, and whether that record is whole."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api import filters
from engine.api.pagination import answer_page, read_limit
from engine.api.serializers import AuditSerializer, BrokenSerializer
from engine.api.views.base import ApiView
from engine.audit.cursor import BEGINNING, Position, read_position
from engine.db.keyset_pagination import LAST_WRITTEN, moment
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Audit
from engine.services.audit import verification
from engine.services.audit.exports import export_audit

AFTER, NOW = "after", "now"
FORMAT = "format"


def shape_acts(rows: list[Any]) -> list[Any]:
    """Write rows of the audit."""
    return AuditSerializer.write_all(rows)


class AuditView(ApiView):
    def get(self, request: Request) -> Response:
        """List what was done in the tenant, newest first; with `after`, follow it oldest first."""
        rows = filters.narrowed(request, verification.list_audit(actor=self.actor), filters.AUDIT, AFTER)
        asked = request.query_params.get(AFTER)
        if asked is None:
            return Response(answer_page(request, rows, LAST_WRITTEN, shape_acts))
        since = _moment_meant(asked)
        if since is not None:
            return Response(answer_page(request, rows.filter(at__gt=since), LAST_WRITTEN, shape_acts))
        return Response(_follow(request, rows, _position_meant(asked)))


def _moment_meant(text: str) -> Any:
    """Read `after` as the moment that it meant before it became a position; `since` says that now."""
    with suppress(ValueError):
        return moment(text)
    return None


def _position_meant(text: str) -> Position | None:
    if text == NOW:
        return None
    try:
        return read_position(text) if text else BEGINNING
    except ValueError as error:
        raise Invalid(str(error), [FieldError(AFTER, "invalid", str(error))]) from error


def _follow(request: Request, rows: QuerySet[Audit], after: Position | None) -> Mapping[str, Any]:
    """Answer a stretch of the audit; `next` is always given, so that a client can continue later."""
    if "cursor" in request.query_params:
        message = "Use either `cursor` or `after`, not both."
        raise Invalid(message, [FieldError("cursor", "invalid", message)])
    stretch = verification.follow_audit(rows=rows, after=after, most=read_limit(request.query_params.get("limit")))
    query = request.query_params.copy()
    query[AFTER] = str(stretch.end)
    address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    return {"results": shape_acts(list(stretch.rows)), "next": address, "previous": None, "more": stretch.more}


class ExportView(ApiView):
    def get(self, request: Request) -> StreamingHttpResponse:
        """Download the audit as a signed file: CSV, or one JSON object per line."""
        rows = filters.narrowed(request, verification.list_audit(actor=self.actor), filters.AUDIT, FORMAT)
        asked = {name: str(value) for name, value in request.query_params.items() if name != FORMAT}
        form = request.query_params.get(FORMAT, "json")
        export = export_audit(actor=self.actor, rows=rows, form=form, asked=asked)
        named = {"Content-Disposition": f'attachment; filename="{export.name}"'}
        return StreamingHttpResponse(export.lines, content_type=export.content_type, headers=named)


class VerifyView(ApiView):
    def get(self, request: Request) -> Response:
        """Check every chain of the tenant."""
        verdict = verification.verify_audit(actor=self.actor)
        broken = BrokenSerializer.write_all(verdict.broken)
        return Response({"ok": not broken, "rows": verdict.rows, "chains": verdict.chains, "broken": broken})
