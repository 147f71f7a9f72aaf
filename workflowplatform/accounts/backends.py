"""Decide who comes in by name and password: people, from where their password may be used."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from workflowplatform.accounts.models import User
from workflowplatform.http.client_address import is_from_this_machine

DEMO = "demo-"


def is_demo_password(name: str, password: str) -> bool:
    """Return whether everybody knows a password: the demo's people have their names in it."""
    return password.lower() == f"{DEMO}{name}".lower()


class PeopleBackend(ModelBackend):
    """Authenticate people. Its refusal is final: Django's own backend stays for sessions that it opened before."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User:
        """Return the person, after the same work for every name; raise where they may not come in."""
        person = super().authenticate(request, username=username, password=password, **kwargs)
        if not isinstance(person, User):
            raise PermissionDenied
        if is_demo_password(person.username, password or "") and not is_from_this_machine(request):
            raise PermissionDenied
        return person

    def user_can_authenticate(self, user: Any) -> bool:
        """Answer no for deactivated people and for service accounts, which have tokens only."""
        return super().user_can_authenticate(user) and not user.is_service
