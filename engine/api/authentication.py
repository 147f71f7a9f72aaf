"""Authenticate a request by a token of an active person, and hold a narrowed token to its scopes before anything is looked up.

A scope takes away and never gives: the person's level and roles decide as ever. Managing people, roles and tokens is in
no scope, so that a narrowed token cannot make itself a wider one.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.utils import timezone
from knox.crypto import hash_token
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from engine.errors import Refused
from engine.runtime.claims import token_with
from engine.services.people.sign_in_log import MOST_ADDRESSES, note_token_use
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Token, User
from workflowplatform.accounts.scopes import Scope
from workflowplatform.database import tenancy

if TYPE_CHECKING:
    from rest_framework.views import APIView

SCHEME = "Token"
NOTED_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is: a busy program must not write a row with each request."""
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
    "substitutions": None,
    "roles": None,
    "tokens": None,
}
"""What a change takes, by the first word of the address; None and unlisted: no narrowed token will do."""


class TokenAuthentication(BaseAuthentication):
    """Accept `Authorization: Token …`. Tokens are stored as knox hashes them, so one indexed read finds the row."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        scheme, _, given = get_authorization_header(request).partition(b" ")
        if scheme.lower() != SCHEME.lower().encode():
            return None
        with tenancy.crossing("who asks"):
            found = token_with(hash_token(given.strip().decode("utf-8", "replace")))
        if found is None:
            raise AuthenticationFailed("This token is unknown, expired or revoked.")
        token, actor = found
        token.actor = actor
        tenancy.asked_by(actor.tenant_id)
        _note_use(token, actor, request.META.get("REMOTE_ADDR", ""))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that unauthenticated requests get 401 rather than 403."""
        return SCHEME


def _note_use(token: Token, actor: Actor, address: str) -> None:
    if not _is_noted(token, address, timezone.now()):
        note_token_use(token=token, actor=actor, address=address)


def _is_noted(token: Token, address: str, at: datetime) -> bool:
    """Return whether this use adds nothing to what the token's row says: so that a busy program writes nothing."""
    last = token.last_used_at
    if last is None or last < at - NOTED_EVERY or last.date() != at.date():
        return False
    return address in token.used_from or len(token.used_from) >= MOST_ADDRESSES


def needed_scope(method: str, route: str) -> Scope | None:
    """Return the scope that an operation needs."""
    if method in SAFE_METHODS:
        return Scope.READ
    if method == "POST" and route in STARTING:
        return Scope.START
    return WRITING.get(route.partition("/")[0])


class WithinScope(BasePermission):
    """Allow what the token's scopes name."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        scopes = request.auth.scopes if isinstance(request.auth, Token) else []
        needed = needed_scope(request.method or "", request.path.removeprefix("/api/v1/"))
        if scopes and needed not in scopes:
            words = f"This token is narrowed to {', '.join(scopes)}; this takes {needed or 'a token without scopes'}."
            raise Refused(words, code="scope", needed=str(needed or ""))
        return True
