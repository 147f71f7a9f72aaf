"""Operations over REST: suspend, repair and signal instances, and handle dead letters."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from engine.api import filters
from engine.api.idempotency import once
from engine.api.pagination import answer_page
from engine.api.request_bodies import Body, InstanceSignalBody, NoBody, ReasonBody, RetryBody, SkipBody, read_body
from engine.api.serializers import DeadLetterSerializer
from engine.api.views.base import ApiView
from engine.api.views.instances import shape_instance
from engine.db.keyset_pagination import NEWEST
from engine.models import Instance
from engine.services.instances import repair as operations
from engine.services.instances import signals


class OperateView(ApiView):
    """Operate an instance: the route names the action."""

    act: Callable[..., Instance]
    shape: ClassVar[type[Body]] = ReasonBody

    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Suspend, resume, retry or skip; return the instance afterwards."""
        body = read_body(request, self.shape)
        instance = type(self).act(actor=self.actor, instance_id=instance_id, **body)
        return Response(shape_instance(self.actor, instance))


class SuspendView(OperateView):
    act = staticmethod(operations.suspend_instance)


class ResumeView(OperateView):
    act = staticmethod(operations.resume_instance)


class RetryView(OperateView):
    act = staticmethod(operations.retry_step)
    shape = RetryBody


class SkipView(OperateView):
    act = staticmethod(operations.skip_step)
    shape = SkipBody


class InstanceSignalsView(ApiView):
    @once
    def post(self, request: Request, instance_id: UUID) -> Response:
        """Send a named signal to the instance."""
        sent = signals.send_signal(actor=self.actor, instance_id=instance_id, **read_body(request, InstanceSignalBody))
        return Response({"delivered": sent.delivered, "kept": sent.kept})


def shape_letters(rows: list[Any]) -> list[Any]:
    """Write dead letters."""
    return DeadLetterSerializer.write_all(rows)


class DeadLettersView(ApiView):
    def get(self, request: Request) -> Response:
        """List the signals that could not be applied, newest first."""
        rows = filters.narrowed(request, operations.list_dead_letters(actor=self.actor), filters.DEAD_LETTERS)
        return Response(answer_page(request, rows, NEWEST, shape_letters))


class ReplayView(ApiView):
    @once
    def post(self, request: Request, letter_id: UUID) -> Response:
        """Put a dead letter back into the queue."""
        read_body(request, NoBody)
        instance = operations.replay_dead_letter(actor=self.actor, letter_id=letter_id)
        return Response(shape_instance(self.actor, instance))


class DiscardView(ApiView):
    @once
    def post(self, request: Request, letter_id: UUID) -> Response:
        """Discard a dead letter."""
        body = read_body(request, ReasonBody)
        instance = operations.discard_dead_letter(actor=self.actor, letter_id=letter_id, **body)
        return Response(shape_instance(self.actor, instance))
