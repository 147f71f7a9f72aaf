"""Answer programs by a shorter way: a request to the API with a token needs no session, no sign-in and no form token.

`Authorization: Token …` decides alone who asks: a token that is not valid is refused, whatever cookies come along
(`engine.api.authentication`). So such a request goes past the middlewares that are for browsers, straight to the view.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation

from workflowplatform.database import tenancy

Answer = Callable[[HttpRequest], HttpResponseBase]

API = "/api/v1/"
SCHEME = "token"


def is_program(request: HttpRequest) -> bool:
    """Return whether a request brings a token, valid or not, to a route of the API."""
    if not request.path_info.startswith(API):
        return False
    return str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")[0].lower() == SCHEME


def innermost(answer: Any) -> Answer:
    """Return what answers inside all middlewares, as Django wraps them: each knows the next one."""
    while (middleware := getattr(answer, "__wrapped__", None)) is not None:
        inside = getattr(middleware, "get_response", None)
        if inside is None:
            break
        answer = inside
    found: Answer = answer
    return found


class ProgramMiddleware:
    """Branch off for programs; what the middlewares on the other way say in headers, it says too."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        self._view = innermost(get_response)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_program(request):
            return self.get_response(request)
        request.get_host()  # refuses hosts that are not ours
        request.user = AnonymousUser()
        request.actor = None  # type: ignore[attr-defined]
        with tenancy.answering(lambda: tenancy.NOBODY), timezone.override(None), translation.override("en"):
            response = self._view(request)
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = tenancy.kept(response.streaming_content)  # type: ignore[arg-type]
        if not isinstance(response, StreamingHttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))  # type: ignore[attr-defined]
        response.headers.setdefault("X-Frame-Options", settings.X_FRAME_OPTIONS)
        return response
