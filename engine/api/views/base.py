"""What every view shares: the actor, how bodies are read, and the answer for unknown URLs."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, NoReturn
from urllib.parse import quote

from django.urls import Resolver404, resolve
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_201_CREATED
from rest_framework.views import APIView

from engine.api.json_bodies import BoundedJSONParser
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Token


class JsonAlways(BaseContentNegotiation):
    """Answer JSON whatever the Accept header says; `?format=` is a parameter of our own views."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, str(first.media_type)


class ApiView(APIView):
    """A view of `/api/v1/`: JSON in, JSON out, the actor from the token or the session."""

    parser_classes: tuple[type[BaseParser], ...] = (BoundedJSONParser,)
    content_negotiation_class = JsonAlways
    made: ClassVar[str] = ""
    """The path of what a POST creates, relative to this URL, such as `{id}/`; empty if it has no URL of its own."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse chunked bodies, and query parameters that are sent twice."""
        super().initial(request, *args, **kwargs)
        for name, said in request.query_params.lists():
            if len(said) > 1:
                message = f"Send {name} only once. Separate several values with commas."
                raise Invalid(message, [FieldError(name, "twice", message)])
        if "Transfer-Encoding" in request.headers and not request.META.get("CONTENT_LENGTH"):
            message = "Chunked request bodies are not supported; send Content-Length."
            raise Invalid(message, [FieldError("Content-Length", "required", message)])

    def headers_of(self, answer: Any) -> Mapping[str, str]:
        """Return the headers that belong to an answer, also when it is repeated."""
        if not self.made:
            return {}
        below = self.made.format_map({name: quote(str(value), safe="") for name, value in answer.items()})
        return {"Location": self.request.build_absolute_uri(self.request.path + below)}

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Add the Location of what was created."""
        if response.status_code == HTTP_201_CREATED and isinstance(response, Response):
            for name, value in self.headers_of(response.data).items():
                response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    @cached_property
    def actor(self) -> Actor:
        """Return the actor. A token acts in its person's own tenant, a session in the tenant that was chosen."""
        request: Request = self.request
        found: Actor = (request.auth if isinstance(request.auth, Token) else request._request).actor  # type: ignore[union-attr]
        return found


class NothingHere(ApiView):
    """Answer unknown URLs in the same way as unknown ids."""

    schema = None
    permission_classes = (AllowAny,)
    http_method_names = ()

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse every method; say so if only the last slash is missing."""
        with suppress(Resolver404):
            if resolve(f"{request.path}/").func.view_class is not NothingHere:  # type: ignore[attr-defined]
                raise NotFound("Not found. URLs end with a slash.")
        raise NotFound
