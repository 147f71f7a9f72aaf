"""Human tasks over REST: find, claim, release, complete, and ask why."""

from collections.abc import Iterable
from functools import partial
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.access.task_filters import COLUMN, FILTERS
from engine.api import filters
from engine.api.idempotency import once
from engine.api.pagination import FIELDS, answer_page, read_fields
from engine.api.request_bodies import CompleteBody, NoBody, read_body
from engine.api.serializers import ReasonSerializer, TaskSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from engine.services.tasks import lifecycle as tasks
from engine.services.tasks.lists import ORDERS, VIEWS, list_named
from workflowplatform.accounts.actor import Actor, actor_of


class TasksView(ApiView):
    def get(self, request: Request) -> Response:
        """List one view of the tasks; without `view`, all open tasks that you can see."""
        view = self._word(request, "view", VIEWS) or "team"
        conditions = filters.asked(request, FILTERS, "view", "sort", FIELDS, COLUMN)
        asked = list_named(self.actor, view, conditions, self._word(request, "sort", ORDERS))
        fields = read_fields(request, TaskSerializer)
        columns = (*TaskSerializer.columns(fields), *(column.name for column in asked.order))
        page = partial(asked.page, only=tuple(dict.fromkeys(columns)))
        return Response(answer_page(request, page, asked.order, partial(TaskSerializer.write_all, fields=fields)))

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
        """Claim the task."""
        read_body(request, NoBody)
        return Response(TaskSerializer.write(tasks.claim_task(actor=self.actor, task_id=task_id)))


class ReleaseView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Release the task."""
        read_body(request, NoBody)
        return Response(TaskSerializer.write(tasks.release_task(actor=self.actor, task_id=task_id)))


class CompleteView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Complete the task; return the instance afterwards, with its next tasks and state."""
        body = read_body(request, CompleteBody)
        done = tasks.complete_task(actor=self.actor, task_id=task_id, **body)
        return Response(
            {**shape_instance(self.actor, done.instance, done.next_tasks), "task": TaskSerializer.write(done.task)}
        )


class WhyView(ApiView):
    def get(self, request: Request, task_id: UUID) -> Response:
        """Explain, rule by rule, whether a person may act on the task."""
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
