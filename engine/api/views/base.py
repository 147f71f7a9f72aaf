"""What every view shares: who acts, how bodies are read, and the answer where nothing is."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from engine.api.parsers import BoundedJSONParser
from engine.errors import NotFound
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
        """Refuse whatever the method is."""
        raise NotFound
