"""Actions on tasks over REST besides claim, release and complete."""

from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.etags import EditedView, matched
from engine.api.idempotency import once
from engine.api.request_bodies import (
    AskBody,
    AssignBody,
    BulkBody,
    CommentBody,
    DelegateBody,
    NextBody,
    ReasonBody,
    ReturnBody,
    SnoozeBody,
    TaskDraftBody,
    TickBody,
    read_body,
)
from engine.api.serializers import BulkResultSerializer, CommentSerializer, TaskDraftSerializer, TaskSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.models import TaskDraft
from engine.services.tasks import assignment, bulk, checklists, comments, drafts, handover, redo, reopening, suspension
from engine.services.tasks.lifecycle import claim_instance


class AssignView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Assign the task to a person, or to nobody."""
        body = read_body(request, AssignBody)
        return Response(TaskSerializer.write(assignment.assign_task(actor=self.actor, task_id=task_id, **body)))


class DelegateView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Ask another person to fill the task in; it comes back to you for the final word."""
        body = read_body(request, DelegateBody)
        return Response(TaskSerializer.write(handover.delegate_task(actor=self.actor, task_id=task_id, **body)))


class AskView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Ask a person for information; the task stays yours and waits for the answer."""
        body = read_body(request, AskBody)
        return Response(TaskSerializer.write(handover.ask_about_task(actor=self.actor, task_id=task_id, **body)))

    def delete(self, request: Request, task_id: UUID) -> Response:
        """Withdraw the question; the task waits no more."""
        handover.withdraw_question(actor=self.actor, task_id=task_id)
        return Response(status=204)


class ReturnView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Answer the question you were asked, or return the task that was delegated to you; 204 if you no longer see it."""
        body = read_body(request, ReturnBody)
        task = handover.return_task(actor=self.actor, task_id=task_id, **body)
        return Response(TaskSerializer.write(task)) if task else Response(status=204)


class DraftView(EditedView):
    def hold(self, task_id: UUID) -> object:
        return claim_instance(self.actor, task_id)

    def get(self, request: Request, task_id: UUID) -> Response:
        """Show the draft of the answer; an empty one if none was saved."""
        found = drafts.draft_for(actor=self.actor, task_id=task_id)
        return Response(TaskDraftSerializer.write(found or TaskDraft()))

    @once
    @matched
    def post(self, request: Request, task_id: UUID) -> Response:
        """Save a draft of the answer."""
        body = read_body(request, TaskDraftBody)
        return Response(TaskDraftSerializer.write(drafts.save_task_draft(actor=self.actor, task_id=task_id, **body)))

    @matched
    def delete(self, request: Request, task_id: UUID) -> Response:
        """Delete the draft."""
        drafts.discard_task_draft(actor=self.actor, task_id=task_id)
        return Response(status=204)


class CommentView(ApiView):
    def get(self, request: Request, task_id: UUID) -> Response:
        """List the comments on the task, oldest first."""
        return Response(CommentSerializer.write_all(access.comments_of(self.actor, task_id)))

    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Add a comment to the task."""
        body = read_body(request, CommentBody)
        said = comments.comment_task(actor=self.actor, task_id=task_id, **body)
        return Response(CommentSerializer.write(said), status=201)


class TickView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Tick or untick an item of the checklist."""
        body = read_body(request, TickBody)
        return Response(TaskSerializer.write(checklists.tick_point(actor=self.actor, task_id=task_id, **body)))


class SuspendView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Suspend the task."""
        body = read_body(request, ReasonBody)
        return Response(TaskSerializer.write(suspension.suspend_task(actor=self.actor, task_id=task_id, **body)))


class ResumeView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Resume the task."""
        body = read_body(request, ReasonBody)
        return Response(TaskSerializer.write(suspension.resume_task(actor=self.actor, task_id=task_id, **body)))


class ReopenView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Reopen an answered task while the next step is untouched; return the task that is offered now."""
        body = read_body(request, ReasonBody)
        return Response(TaskSerializer.write(reopening.reopen_task(actor=self.actor, task_id=task_id, **body)))


class SnoozeView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Snooze the task until a given time."""
        body = read_body(request, SnoozeBody)
        return Response(TaskSerializer.write(suspension.snooze_task(actor=self.actor, task_id=task_id, **body)))


class SkipView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Skip the task; return the instance afterwards."""
        body = read_body(request, ReasonBody)
        done = suspension.skip_task(actor=self.actor, task_id=task_id, **body)
        shaped: dict[str, Any] = shape_instance(self.actor, done.instance, done.next_tasks)
        return Response({**shaped, "task": TaskSerializer.write(done.task)})


class RedoView(ApiView):
    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Have an answered task done again; return the instance afterwards, with the task that is open anew."""
        body = read_body(request, ReasonBody)
        done = redo.redo_task(actor=self.actor, task_id=task_id, **body)
        shaped: dict[str, Any] = shape_instance(self.actor, done.instance, done.next_tasks)
        return Response({**shaped, "task": TaskSerializer.write(done.task)})


class NextView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Claim the most urgent task that you may claim; 204 if there is none."""
        body = read_body(request, NextBody)
        found = assignment.take_next_task(actor=self.actor, **body)
        return Response(TaskSerializer.write(found)) if found else Response(status=204)


class BulkView(ApiView):
    @once
    def post(self, request: Request) -> Response:
        """Do one action on many tasks, with a result for each."""
        body = read_body(request, BulkBody)
        rows = bulk.act_on_tasks(actor=self.actor, **body)
        return Response({"results": BulkResultSerializer.write_all(rows)})
