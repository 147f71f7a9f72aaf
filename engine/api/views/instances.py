"""Instances over REST: start, look at, and end them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api import filters
from engine.api.idempotency import once
from engine.api.pagination import answer_page
from engine.api.request_bodies import ReasonBody, StartBody, naming, read_body
from engine.api.serializers import HistorySerializer, InstanceSerializer, StepRunSerializer
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import NEWEST
from engine.errors import Invalid
from engine.models import Instance, Task
from engine.services.instances import lifecycle as instances
from engine.services.instances import steps
from workflowplatform.accounts.actor import Actor


def shape_instances(actor: Actor, rows: Sequence[Instance]) -> list[dict[str, Any]]:
    """Write instances with their waits, and the open tasks that the actor sees: two queries however many there are."""
    prefetch_related_objects(rows, "waits")
    open_tasks = access.tasks_team(actor).filter(instance_id__in=[row.pk for row in rows]) if rows else ()
    tasks = by_instance(open_tasks)
    return [_write(row, tasks.get(row.pk, ())) for row in rows]


def shape_instance(actor: Actor, row: Instance, tasks: Iterable[Task] | None = None) -> dict[str, Any]:
    """Write one instance; `tasks` if they are at hand already."""
    if tasks is None:
        return shape_instances(actor, [row])[0]
    prefetch_related_objects([row], "waits")
    return _write(row, tasks)


def _write(row: Instance, tasks: Iterable[Task]) -> dict[str, Any]:
    row.shown_tasks = tasks  # type: ignore[attr-defined]
    return InstanceSerializer.write(row)


def by_instance(tasks: Iterable[Task]) -> dict[UUID, list[Task]]:
    """Sort tasks into their instances, keeping their order."""
    found: dict[UUID, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.instance_id].append(task)
    return found


class InstancesView(ApiView):
    made = "{id}/"

    def get(self, request: Request) -> Response:
        """List the instances that the actor sees, newest first."""
        rows = filters.narrowed(request, access.visible_instances(self.actor), filters.INSTANCES, filters.STATE)
        return Response(answer_page(request, rows, NEWEST, lambda page: shape_instances(self.actor, page)))

    @once
    def post(self, request: Request) -> Response:
        """Start an instance and run it to its first wait."""
        body = read_body(request, StartBody)
        with naming("template", *(["version"] if body.get("version") else [])):
            started = self._start(body)
        return Response(shape_instance(self.actor, started.instance, started.tasks), status=201)

    def _start(self, body: dict[str, Any]) -> instances.StartedInstance:
        """Start, naming fields that do not fit as they stand in the body."""
        try:
            return instances.start_instance(actor=self.actor, **body)
        except Invalid as refusal:
            within = [replace(error, path=f"input.{error.path}".rstrip(".")) for error in refusal.errors]
            raise Invalid(refusal.message, within, code=refusal.code) from refusal


class InstanceView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> Response:
        """Show one instance."""
        return Response(shape_instance(self.actor, access.instance_of(self.actor, instance_id)))


class HistoryView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> Response:
        """Tell who did what, oldest first."""
        return Response(HistorySerializer.write_all(access.history_of(self.actor, instance_id)))


class StepsView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> Response:
        """List the runs of its steps, in the order begun, then what is pending."""
        return Response(StepRunSerializer.write_all(steps.list_steps(actor=self.actor, instance_id=instance_id)))


class CancelView(ApiView):
    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """End the case by hand; everything open in it is withdrawn."""
        cancelled = instances.cancel_instance(
            actor=self.actor, instance_id=instance_id, **read_body(request, ReasonBody)
        )
        return Response(shape_instance(self.actor, cancelled))
