"""Files of tasks over REST: sent as a form, fetched as a download that no browser shows in place."""

from uuid import UUID

from django.http.response import HttpResponseBase
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.idempotency import once
from engine.api.serializers import AttachmentSerializer
from engine.api.views.base import ApiView
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.tasks import attachments
from engine.storage.attachments import download


class AttachmentsView(ApiView):
    parser_classes = (*ApiView.parser_classes, MultiPartParser)
    made = "{id}/"

    def get(self, request: Request, task_id: UUID) -> Response:
        """List the files of the task, oldest first."""
        return Response(AttachmentSerializer.write_all(access.attachments_of(self.actor, task_id)))

    @once
    def post(self, request: Request, task_id: UUID) -> Response:
        """Add a file to the task."""
        file = request.FILES.get("file")
        if file is None:
            access.task_of(self.actor, task_id)
            message = "Send a form with one file in the field `file`."
            raise Invalid(message, [FieldError("file", "required", message)])
        added = attachments.attach_file(actor=self.actor, task_id=task_id, name=file.name or "", content=file)
        return Response(AttachmentSerializer.write(added), status=201)


class AttachmentView(ApiView):
    def get(self, request: Request, task_id: UUID, attachment_id: UUID) -> HttpResponseBase:
        """Download the file."""
        found, content = attachments.open_attachment(actor=self.actor, task_id=task_id, attachment_id=attachment_id)
        return download(found.name, content)

    def delete(self, request: Request, task_id: UUID, attachment_id: UUID) -> Response:
        """Delete the file."""
        attachments.detach_file(actor=self.actor, task_id=task_id, attachment_id=attachment_id)
        return Response(status=204)
