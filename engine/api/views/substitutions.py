"""Absences and deputies over REST."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine.access.absences import absence_of
from engine.api import filters
from engine.api.etags import EditedView, matched
from engine.api.idempotency import once
from engine.api.pagination import answer_page
from engine.api.request_bodies import SubstitutionBody, SubstitutionChangeBody, read_body
from engine.api.response_shapes import SubstitutionDetailSerializer, SubstitutionSerializer
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import NEWEST
from engine.services.people import absences


def shape_substitutions(rows: list[Any]) -> list[Any]:
    """Write absences."""
    return SubstitutionSerializer.write_all(rows)


class SubstitutionsView(ApiView):
    made = "{id}/"

    def get(self, request: Request) -> Response:
        """List the absences that you can see and that are not over, the last entered first."""
        rows = filters.narrowed(request, absences.list_absences(actor=self.actor), filters.SUBSTITUTIONS)
        return Response(answer_page(request, rows, NEWEST, shape_substitutions))

    @once
    def post(self, request: Request) -> Response:
        """Enter when a person is away and who stands in. What that brings about is in `warnings`."""
        body = read_body(request, SubstitutionBody)
        made = absences.enter_absence(actor=self.actor, **body)
        return Response(SubstitutionDetailSerializer.write(made), status=201)


class SubstitutionView(EditedView):
    passing = frozenset({"warnings"})

    def hold(self, absence_id: UUID) -> object:
        return absences.absence_to_change(self.actor, absence_id)

    def get(self, request: Request, absence_id: UUID) -> Response:
        """Show one absence, with what it brings about."""
        return Response(SubstitutionDetailSerializer.write(absence_of(self.actor, absence_id)))

    @matched
    def put(self, request: Request, absence_id: UUID) -> Response:
        """Change the fields that are given."""
        body = read_body(request, SubstitutionChangeBody)
        changed = absences.change_absence(actor=self.actor, absence_id=absence_id, **body)
        return Response(SubstitutionDetailSerializer.write(changed))

    @matched
    def delete(self, request: Request, absence_id: UUID) -> Response:
        """End an absence now, or take back one that has not begun."""
        absences.end_absence(actor=self.actor, absence_id=absence_id)
        return Response(status=204)
