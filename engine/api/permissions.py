"""Hold a narrowed token to its scopes, before anything is looked up.

A scope takes away and never gives: the person's level and roles decide as ever. Managing people, roles and tokens is in
no scope, so that a narrowed token cannot make itself a wider one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from engine.errors import Refused
from workflowplatform.accounts.models import Token
from workflowplatform.accounts.scopes import Scope

if TYPE_CHECKING:
    from rest_framework.views import APIView

STARTING = frozenset({"instances/", "events/"})
WRITING: Mapping[str, Scope | None] = {
    "templates": Scope.AUTHOR,
    "secrets": Scope.AUTHOR,
    "calendars": Scope.AUTHOR,
    "webhooks": Scope.AUTHOR,
    "retention": Scope.AUTHOR,
    "deliveries": Scope.OPERATE,
    "instances": Scope.OPERATE,
    "tasks": Scope.OPERATE,
    "signals": Scope.OPERATE,
    "schedules": Scope.OPERATE,
    "dead-letters": Scope.OPERATE,
    "people": None,
    "roles": None,
    "tokens": None,
}
"""What a change takes, by the first word of the address; None and unlisted: no narrowed token will do."""


def needed_scope(method: str, route: str) -> Scope | None:
    """Say which scope an operation takes."""
    if method in SAFE_METHODS:
        return Scope.READ
    if method == "POST" and route in STARTING:
        return Scope.START
    return WRITING.get(route.partition("/")[0])


class WithinScope(BasePermission):
    """Let through what the token's scopes name."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        scopes = request.auth.scopes if isinstance(request.auth, Token) else []
        needed = needed_scope(request.method or "", request.path.removeprefix("/api/v1/"))
        if scopes and needed not in scopes:
            words = f"This token is narrowed to {', '.join(scopes)}; this takes {needed or 'a token without scopes'}."
            raise Refused(words, code="scope", needed=str(needed or ""))
        return True
