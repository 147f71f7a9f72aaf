"""What every view shares: who acts, how bodies are read, and the answer where nothing is."""

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

from engine.api.parsers import BoundedJSONParser
from engine.errors import Invalid, NotFound
from engine.kernel.forms import FieldError
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Token


class JsonAlways(BaseContentNegotiation):
    """Answer JSON whatever is asked for: there is nothing else, and `?format=` means something of our own."""

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
    """Where below this address stands what a POST makes here, such as `{id}/`; empty where it has no address of its own."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what would be half understood: a body that this server cannot read, a word of the address said twice."""
        super().initial(request, *args, **kwargs)
        for name, said in request.query_params.lists():
            if len(said) > 1:
                message = f"Say {name} once; where several are taken, part them with commas."
                raise Invalid(message, [FieldError(name, "twice", message)])
        if "Transfer-Encoding" in request.headers and not request.META.get("CONTENT_LENGTH"):
            message = "This server reads no bodies in pieces: say with Content-Length how long it is."
            raise Invalid(message, [FieldError("Content-Length", "required", message)])

    def headers_of(self, answer: Any) -> Mapping[str, str]:
        """Say which headers belong to an answer and are said again whenever it is given again."""
        if not self.made:
            return {}
        below = self.made.format_map({name: quote(str(value), safe="") for name, value in answer.items()})
        return {"Location": self.request.build_absolute_uri(self.request.path + below)}

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Say where to find what was made."""
        if response.status_code == HTTP_201_CREATED and isinstance(response, Response):
            for name, value in self.headers_of(response.data).items():
                response[name] = value
        return super().finalize_response(request, response, *args, **kwargs)

    @cached_property
    def actor(self) -> Actor:
        """Say who acts. A token acts in its person's own tenant; a session where its person works now."""
        request: Request = self.request
        found: Actor = (request.auth if isinstance(request.auth, Token) else request._request).actor  # type: ignore[union-attr]
        return found


class NothingHere(ApiView):
    """Answer every address that is not there, with the body that unknown ids get."""

    schema = None
    permission_classes = (AllowAny,)
    http_method_names = ()

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse whatever the method is; who only forgot the last slash is told so."""
        with suppress(Resolver404):
            if resolve(f"{request.path}/").func.view_class is not NothingHere:  # type: ignore[attr-defined]
                raise NotFound("There is nothing here: addresses end with a slash.")
        raise NotFound
