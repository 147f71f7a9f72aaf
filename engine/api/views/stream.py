"""The door to the stream: who may listen, and from where. What is heard goes out by engine.streaming."""

from typing import NoReturn

from django.conf import settings
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.views.base import ApiView
from engine.audit.cursor import Position, horizon, read_position
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.audit.verification import refuse_unreached
from engine.services.stream_events import Pass
from engine.streaming.asgi import TICKET
from engine.streaming.hub import TooManyStreams, hub
from workflowplatform.accounts.models import Token

WHERE = "Last-Event-ID"
AFTER = "after"


class NotServedHere(exceptions.APIException):
    """The server speaks WSGI, which would keep a thread for every listener."""

    status_code = status.HTTP_501_NOT_IMPLEMENTED
    default_code = "asgi_only"
    default_detail = "This server cannot stream: it must be run as ASGI. Follow audit/?after= instead."


class Crowded(exceptions.Throttled):
    """Too many streams are open already."""

    default_code = "streams"


class StreamView(ApiView):
    http_method_names = ("get", "options")

    def get(self, request: Request) -> Response:
        """Tell what happens as server-sent events, from `Last-Event-ID` on, else from now on."""
        ticket = getattr(request._request, "scope", {}).get(TICKET)
        if ticket is None:
            raise NotServedHere
        after, here = _asked_from(request), horizon()
        if after is not None:
            refuse_unreached(after, here)
        try:
            ticket.listener = hub.admit(self.actor, _pass_of(request), after or here)
        except TooManyStreams as crowd:
            raise Crowded(wait=settings.WORKFLOW_STREAM_CHECK_SECONDS, detail=crowd.message) from crowd
        return Response(status=204)


def _asked_from(request: Request) -> Position | None:
    for name in request.query_params:
        if name != AFTER:
            _refuse(name, f"There is no filter {name} here.")
    text = request.headers.get(WHERE) or request.query_params.get(AFTER)
    try:
        return read_position(text) if text else None
    except ValueError as error:
        _refuse(AFTER, str(error))


def _refuse(field: str, message: str) -> NoReturn:
    raise Invalid(message, [FieldError(field, "invalid", message)])


def _pass_of(request: Request) -> Pass:
    if isinstance(request.auth, Token):
        return Pass(token=request.auth.digest)
    return Pass(session=request._request.session.session_key)
