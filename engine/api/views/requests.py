"""What people do with a request of their own over REST: withdraw it, remind, comment, add files."""

from uuid import UUID

from django.http.response import HttpResponseBase
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engine import access
from engine.api.idempotency import once
from engine.api.request_bodies import CommentBody, NoBody, ReasonBody, read_body
from engine.api.response_shapes import RemindedSerializer
from engine.api.serializers import AttachmentSerializer, CommentSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.instances import requests
from engine.storage.attachments import download


class WithdrawView(ApiView):
    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Withdraw an instance that you started, before anybody has answered it."""
        body = read_body(request, ReasonBody)
        withdrawn = requests.withdraw_instance(actor=self.actor, instance_id=instance_id, **body)
        return Response(shape_instance(self.actor, withdrawn))


class RemindView(ApiView):
    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Remind the people that an instance of yours waits for, once in 24 hours."""
        read_body(request, NoBody)
        reminded = requests.remind_people(actor=self.actor, instance_id=instance_id)
        return Response(RemindedSerializer.write(reminded))


class CaseCommentView(ApiView):
    def get(self, request: Request, instance_id: UUID) -> Response:
        """List the comments on the instance and on those of its tasks that you see, oldest first."""
        return Response(CommentSerializer.write_all(access.comments_of_case(self.actor, instance_id)))

    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Add a comment to the instance."""
        body = read_body(request, CommentBody)
        said = requests.comment_instance(actor=self.actor, instance_id=instance_id, **body)
        return Response(CommentSerializer.write(said), status=201)


class CaseFilesView(ApiView):
    parser_classes = (*ApiView.parser_classes, MultiPartParser)
    made = "{id}/"

    def get(self, request: Request, instance_id: UUID) -> Response:
        """List the files of the instance and of those of its tasks that you see, oldest first."""
        return Response(AttachmentSerializer.write_all(access.files_of_case(self.actor, instance_id)))

    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Add a file to the instance."""
        file = request.FILES.get("file")
        if file is None:
            access.instance_of(self.actor, instance_id)
            message = "Send a form with one file in the field `file`."
            raise Invalid(message, [FieldError("file", "required", message)])
        added = requests.add_case_file(actor=self.actor, instance_id=instance_id, name=file.name or "", content=file)
        return Response(AttachmentSerializer.write(added), status=201)


class CaseFileView(ApiView):
    def get(self, request: Request, instance_id: UUID, attachment_id: UUID) -> HttpResponseBase:
        """Download the file."""
        found, content = requests.open_case_file(actor=self.actor, instance_id=instance_id, attachment_id=attachment_id)
        return download(found.name, content)
