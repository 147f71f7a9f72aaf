"""Human tasks over REST: find, claim, release, complete, and ask why."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.access.task_filters import COLUMN, FILTERS
from engine.api import filters
from engine.api.idempotency import once
from engine.api.pagination import answer_page
from engine.api.request_bodies import CompleteBody, NoBody, read_body
from engine.api.serializers import ReasonSerializer, TaskSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.models import Task
from engine.services.tasks import lifecycle as tasks
from engine.services.tasks.lists import ORDERS, VIEWS, list_named
from workflowplatform.accounts.actor import Actor, actor_of


def shape_tasks(rows: Sequence[Task]) -> list[Any]:
    """Write tasks."""
    return TaskSerializer.write_all(rows)


class TasksView(ApiView):
    def get(self, request: Request) -> Response:
        """List one view of the tasks; without a choice all open ones that the actor sees."""
        view = self._word(request, "view", VIEWS) or "team"
        conditions = filters.conditions(request, FILTERS, "view", "sort", COLUMN)
        asked = list_named(self.actor, view, conditions, self._word(request, "sort", ORDERS))
        return Response(answer_page(request, asked.page, asked.order, shape_tasks))

    def _word(self, request: Request, name: str, known: Iterable[str]) -> str:
        wanted = request.query_params.get(name)
        if wanted is not None and wanted not in known:
            message = f"Use one of {', '.join(known)}."
            raise Invalid(message, [FieldError(name, "invalid", message)])
        return wanted or ""


class TaskView(ApiView):
    def get(self, request: Request, task_id: UUID) -> Response:
        """Show one task."""
        return Response(TaskSerializer.write(access.task_of(self.actor, task_id)))


class ClaimView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Bind the task to the actor."""
        read_body(request, NoBody)
        return Response(TaskSerializer.write(tasks.claim_task(actor=self.actor, task_id=task_id)))


class ReleaseView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Give the task back."""
        read_body(request, NoBody)
        return Response(TaskSerializer.write(tasks.release_task(actor=self.actor, task_id=task_id)))


class CompleteView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Answer the task; the instance as it then stands comes back, its next tasks and state included."""
        body = read_body(request, CompleteBody)
        done = tasks.complete_task(actor=self.actor, task_id=task_id, **body)
        return Response(
            {**shape_instance(self.actor, done.instance, done.next_tasks), "task": TaskSerializer.write(done.task)}
        )


class WhyView(ApiView):
    def get(self, request: Request, task_id: UUID) -> Response:
        """Explain rule by rule whether somebody may act on the task."""
        task = access.task_of(self.actor, task_id)
        person = self._person(request)
        reasons = access.explain_task(person, task)
        if person.person_id != self.actor.person_id:
            reasons = [reason.about(person.name.capitalize()) for reason in reasons]
        return Response(
            {
                "task": task.pk,
                "person": person.name,
                "may_act": all(reason.ok for reason in reasons),
                "reasons": ReasonSerializer.write_all(reasons),
            }
        )

    def _person(self, request: Request) -> Actor:
        name = request.query_params.get("person")
        if name is None:
            return self.actor
        person = access.visible_people(self.actor).filter(username=name.replace("\0", "")).first()
        if person is None:
            raise NotFound
        return actor_of(person)
