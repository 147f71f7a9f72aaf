"""What can be done with tasks over REST beside claim, release and complete."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.etags import EditedView, matched
from engine.api.idempotency import once
from engine.api.request_bodies import (
    AssignBody,
    BulkBody,
    CommentBody,
    NextBody,
    ReasonBody,
    SnoozeBody,
    TaskDraftBody,
    TickBody,
    read_body,
)
from engine.api.serializers import BulkResultSerializer, CommentSerializer, TaskDraftSerializer, TaskSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.models import TaskDraft
from engine.services.tasks import assignment, bulk, checklists, comments, drafts, suspension
from engine.services.tasks.lifecycle import claim_instance


class AssignView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Bind the task to somebody, or to nobody."""
        body = read_body(request, AssignBody)
        return Response(TaskSerializer.write(assignment.assign_task(actor=self.actor, task_id=task_id, **body)))


class DraftView(EditedView):
    def hold(self, task_id: UUID) -> object:
        return claim_instance(self.actor, task_id)

    def get(self, request: Request, task_id: UUID) -> Response:
        """Show the answer begun; where there is none, an empty one that nobody saved."""
        found = drafts.draft_for(actor=self.actor, task_id=task_id)
        return Response(TaskDraftSerializer.write(found or TaskDraft()))

    @once
    @matched
    def post(self, request: Request, task_id: UUID) -> Response:
        """Keep what was typed so far."""
        body = read_body(request, TaskDraftBody)
        return Response(TaskDraftSerializer.write(drafts.save_task_draft(actor=self.actor, task_id=task_id, **body)))

    @matched
    def delete(self, request: Request, task_id: UUID) -> Response:
        """Throw away what was typed."""
        drafts.discard_task_draft(actor=self.actor, task_id=task_id)
        return Response(status=204)


class CommentView(ApiView):
    def get(self, request: Request, task_id: UUID) -> Response:
        """List what was said about the task, oldest first."""
        return Response(CommentSerializer.write_all(access.comments_of(self.actor, task_id)))

    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Say something about the task."""
        body = read_body(request, CommentBody)
        said = comments.comment_task(actor=self.actor, task_id=task_id, **body)
        return Response(CommentSerializer.write(said), status=201)


class TickView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Say that a point of the checklist is done, or not after all."""
        body = read_body(request, TickBody)
        return Response(TaskSerializer.write(checklists.tick_point(actor=self.actor, task_id=task_id, **body)))


class SuspendView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Hold the task back."""
        body = read_body(request, ReasonBody)
        return Response(TaskSerializer.write(suspension.suspend_task(actor=self.actor, task_id=task_id, **body)))


class ResumeView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Let the task go on."""
        body = read_body(request, ReasonBody)
        return Response(TaskSerializer.write(suspension.resume_task(actor=self.actor, task_id=task_id, **body)))


class SnoozeView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Put the task off until a moment."""
        body = read_body(request, SnoozeBody)
        return Response(TaskSerializer.write(suspension.snooze_task(actor=self.actor, task_id=task_id, **body)))


class SkipView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Pass over the task; the instance as it then stands comes back."""
        body = read_body(request, ReasonBody)
        done = suspension.skip_task(actor=self.actor, task_id=task_id, **body)
        shaped: dict[str, Any] = shape_instance(self.actor, done.instance, done.next_tasks)
        return Response({**shaped, "task": TaskSerializer.write(done.task)})


class NextView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Claim the most urgent task that the actor may take; 204 where there is none."""
        body = read_body(request, NextBody)
        found = assignment.take_next_task(actor=self.actor, **body)
        return Response(TaskSerializer.write(found)) if found else Response(status=204)


class BulkView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Do one act to many tasks, with a result for each."""
        body = read_body(request, BulkBody)
        rows = bulk.act_on_tasks(actor=self.actor, **body)
        return Response({"results": BulkResultSerializer.write_all(rows)})
