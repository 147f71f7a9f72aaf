"""Open an event stream: check access and the starting position; engine.streaming sends the events."""

from typing import NoReturn

from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.views.base import ApiView
from engine.audit.cursor import Position, read_position, settled_position
from engine.conf import conf
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
    """The server runs as WSGI, which would need a thread for every stream."""

    status_code = status.HTTP_501_NOT_IMPLEMENTED
    default_code = "asgi_only"
    default_detail = "This server cannot stream because it does not run as ASGI. Use audit/?after= instead."


class Crowded(exceptions.Throttled):
    """Too many streams are open already."""

    default_code = "streams"


class StreamView(ApiView):
    http_method_names = ("get", "options")

    def get(self, request: Request) -> Response:
        """Stream what happens as server-sent events, from `Last-Event-ID` or from now."""
        ticket = getattr(request._request, "scope", {}).get(TICKET)
        if ticket is None:
            raise NotServedHere
        after, here = _asked_from(request), settled_position()
        if after is not None:
            refuse_unreached(after, here)
        try:
            ticket.listener = hub.admit(self.actor, _pass_of(request), after or here)
        except TooManyStreams as crowd:
            raise Crowded(wait=conf.stream_check_seconds, detail=crowd.message) from crowd
        return Response(status=204)


def _asked_from(request: Request) -> Position | None:
    for name in request.query_params:
        if name != AFTER:
            _refuse(name, f"Unknown filter: {name}.")
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
