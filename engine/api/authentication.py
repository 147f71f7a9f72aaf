"""Tell who calls: a token of an active person, or a browser's session."""

from datetime import timedelta

from django.utils import timezone
from knox.crypto import hash_token
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from engine.runtime.locked_reads import token_with
from engine.services.people.sign_in_log import is_noted, note_token_use
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Token, User
from workflowplatform.database import tenancy

SCHEME = "Token"
NOTED_EVERY = timedelta(minutes=1)
"""How exact `last_used_at` is: a busy program must not write a row with each request."""


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
        token.actor = actor  # type: ignore[attr-defined]
        tenancy.asked_by(actor.tenant_id)
        _note_use(token, actor, request.META.get("REMOTE_ADDR", ""))
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme, so that a stranger gets 401 rather than 403."""
        return SCHEME


def _note_use(token: Token, actor: Actor, address: str) -> None:
    if not is_noted(token, address, timezone.now(), NOTED_EVERY):
        note_token_use(token=token, actor=actor, address=address)
