"""What every view shares: who acts, how bodies are read, and the answer where nothing is."""

from typing import Any, NoReturn

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

from engine.api.parsers import BoundedJSONParser
from engine.errors import NotFound
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Token, User


class ApiView(APIView):
    """A view of `/api/v1/`: JSON in, JSON out, the actor from the token or the session."""

    parser_classes = (BoundedJSONParser,)

    @property
    def actor(self) -> Actor:
        """Say who acts. A token acts in its person's own tenant; a session where its person works now."""
        request: Request = self.request
        if isinstance(request.auth, Token):
            assert isinstance(request.user, User)
            return actor_of(request.user)
        actor: Actor = request._request.actor  # type: ignore[attr-defined]
        return actor


class NothingHere(ApiView):
    """Answer every address that is not there, with the body that unknown ids get."""

    permission_classes = (AllowAny,)
    http_method_names = ()

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse whatever the method is."""
        raise NotFound
