"""Instances over REST: start, read and cancel them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import prefetch_related_objects
from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api import filters
from engine.api.idempotency import once
from engine.api.pagination import FIELDS, answer_page, read_fields
from engine.api.request_bodies import ReasonBody, StartBody, naming, read_body
from engine.api.serializers import HistorySerializer, InstanceSerializer, StepRunSerializer, TaskSerializer
from engine.api.views.base import ApiView
from engine.db.keyset_pagination import NEWEST
from engine.errors import Invalid
from engine.models import Instance, Task
from engine.services.instances import lifecycle as instances
from engine.services.instances import lists as instance_lists
from engine.services.instances import steps
from workflowplatform.accounts.actor import Actor

BESIDE = ("waits", "tasks")
"""Fields of an instance that are rows of their own."""


def shape_instances(actor: Actor, rows: Sequence[Instance], fields: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Write instances with their waits and the open tasks that the actor sees, in two queries; or only some fields."""
    wanted = {name for name in BESIDE if not fields or name in fields}
    waits = instance_lists.waits_seen(actor, _unread(rows)) if "waits" in wanted else {}
    columns = TaskSerializer.columns()
    tasks = instance_lists.open_tasks_of(actor, [row.pk for row in rows], columns) if "tasks" in wanted else {}
    for row in _unread(rows):
        row.shown_waits = waits.get(row.pk, ())  # type: ignore[attr-defined]
    for row in rows:
        row.shown_tasks = tasks.get(row.pk, ())  # type: ignore[attr-defined]
    return InstanceSerializer.write_all(rows, fields)


def _unread(rows: Sequence[Instance]) -> list[Instance]:
    """Return the instances whose waits were not read along."""
    return [row for row in rows if "waits" not in getattr(row, "_prefetched_objects_cache", ())]


def shape_instance(actor: Actor, row: Instance, tasks: Iterable[Task] | None = None) -> dict[str, Any]:
    """Write one instance; pass `tasks` if they are already loaded."""
    if tasks is None:
        return shape_instances(actor, [row])[0]
    prefetch_related_objects([row], "waits")
    row.shown_tasks = tasks  # type: ignore[attr-defined]
    return InstanceSerializer.write(row)


class InstancesView(ApiView):
    made = "{id}/"

    def get(self, request: Request) -> Response:
        """List the instances that you can see, newest first."""
        asked = filters.asked(request, filters.INSTANCES, FIELDS, filters.STATE)
        fields = read_fields(request, InstanceSerializer)
        only = InstanceSerializer.columns(fields)
        page = partial(instance_lists.page_of_instances, self.actor, asked, NEWEST, only=only)
        return Response(answer_page(request, page, NEWEST, partial(shape_instances, self.actor, fields=fields)))

    @once
    def post(self, request: Request) -> Response:
        """Start an instance and run it to its first wait."""
        body = read_body(request, StartBody)
        with naming("template", *(["version"] if body.get("version") else [])):
            started = self._start(body)
        return Response(shape_instance(self.actor, started.instance, started.tasks), status=201)

    def _start(self, body: dict[str, Any]) -> instances.StartedInstance:
        """Start, naming invalid fields by their path in the body."""
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
        """List who did what, oldest first."""
        return Response(HistorySerializer.write_all(access.history_of(self.actor, instance_id)))


class StepsView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> Response:
        """List the runs of its steps in the order started, then the pending ones."""
        return Response(StepRunSerializer.write_all(steps.list_steps(actor=self.actor, instance_id=instance_id)))


class CancelView(ApiView):
    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Cancel the instance; its open tasks and waits are withdrawn."""
        cancelled = instances.cancel_instance(
            actor=self.actor, instance_id=instance_id, **read_body(request, ReasonBody)
        )
        return Response(shape_instance(self.actor, cancelled))
