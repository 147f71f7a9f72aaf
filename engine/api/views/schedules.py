"""Schedules over REST: create, change, pause and preview them."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api import filters
from engine.api.etags import EditedView, matched
from engine.api.idempotency import once
from engine.api.pagination import answer_page, read_count
from engine.api.request_bodies import NoBody, ScheduleBody, ScheduleChangeBody, naming, read_body
from engine.api.serializers import ScheduleSerializer, SlotSerializer
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import NEWEST
from engine.models import Schedule
from engine.services.schedules import changes as schedule_changes
from engine.services.schedules import lifecycle as schedules

USUAL_PREVIEW = 10


def shape_schedules(rows: list[Any]) -> list[Any]:
    """Write schedules."""
    return ScheduleSerializer.write_all(rows)


class SchedulesView(ApiView):
    made = "{id}/"

    def get(self, request: Request) -> Response:
        """List the schedules, newest first."""
        rows = filters.narrowed(request, schedules.list_schedules(actor=self.actor), filters.SCHEDULES)
        return Response(answer_page(request, rows, NEWEST, shape_schedules))

    @once
    def post(self, request: Request) -> Response:
        """Create a schedule for a template."""
        body = read_body(request, ScheduleBody)
        with naming("template"):
            schedule = schedules.create_schedule(actor=self.actor, **body)
        return Response(ScheduleSerializer.write(schedule), status=201)


class ScheduleView(EditedView):
    passing = frozenset({"next_at"})

    def hold(self, schedule_id: UUID) -> object:
        return schedules.schedule_to_change(self.actor, schedule_id)

    def get(self, request: Request, schedule_id: UUID) -> Response:
        """Show one schedule."""
        return Response(ScheduleSerializer.write(schedules.find_schedule(actor=self.actor, schedule_id=schedule_id)))

    @matched
    def put(self, request: Request, schedule_id: UUID) -> Response:
        """Change the fields that are given: when it starts, and with which input."""
        body = read_body(request, ScheduleChangeBody)
        return Response(
            ScheduleSerializer.write(
                schedule_changes.change_schedule(actor=self.actor, schedule_id=schedule_id, **body)
            )
        )

    @matched
    def delete(self, request: Request, schedule_id: UUID) -> Response:
        """Cancel a schedule for good; its history stays visible."""
        schedules.cancel_schedule(actor=self.actor, schedule_id=schedule_id)
        return Response(status=204)


class HoldView(ApiView):
    """Pause or resume a schedule: the route names the action."""

    move: Callable[..., Schedule]

    @once
    def post(self, request: Request, schedule_id: UUID) -> Response:
        """Pause or resume."""
        read_body(request, NoBody)
        return Response(ScheduleSerializer.write(type(self).move(actor=self.actor, schedule_id=schedule_id)))


class PauseView(HoldView):
    move = staticmethod(schedules.pause_schedule)


class ResumeView(HoldView):
    move = staticmethod(schedules.resume_schedule)


class PreviewView(ApiView):
    def get(self, request: Request, schedule_id: UUID) -> Response:
        """List the next runs, with the reason if one is moved."""
        n = read_count(request, "n", usual=USUAL_PREVIEW, most=schedules.MOST_PREVIEWED)
        slots = schedules.preview_schedule(actor=self.actor, schedule_id=schedule_id, n=n)
        return Response(SlotSerializer.write_all(slots))
