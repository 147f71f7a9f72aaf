"""Bring the cast on stage, each with a token of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from engine.services.people.tokens import create_token
from tests.cast import Cast, ada, adam, cast, committed_cast, gwen, sam, uri, zoe
from workflowplatform.accounts.models import User

__all__ = ["ada", "adam", "cast", "committed_cast", "gwen", "sam", "uri", "zoe"]

ROOT = "/api/v1/"


@dataclass
class Caller:
    """A program with a token: speaks JSON, remembers nothing."""

    token: str | None = None
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a request; a body of bytes is sent as it is."""
        given = {"Authorization": f"Token {self.token}", **headers} if self.token else headers
        raw = body if isinstance(body, bytes) else json.dumps(body)
        address = path if path.startswith(("/", "http")) else ROOT + path
        sent = {} if body is None else {"data": raw, "content_type": "application/json"}
        return self.client.generic(method, address, headers=given, **sent)  # type: ignore[arg-type]

    def get(self, path: str, **query: str) -> HttpResponse:
        address = path if path.startswith("http") else ROOT + path
        return self.client.get(address, query or None, headers={"Authorization": f"Token {self.token}"})

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> HttpResponse:
        return self("POST", path, {} if body is None else body, **({"Idempotency-Key": key} if key else {}))


Callers = Callable[[str], Caller]


def caller_of(name: str) -> Caller:
    """Give a person a token, as they would give themselves one."""
    person = User.objects.get(username=name)
    return Caller(create_token(actor=None, person=person, name="tests")[1])


@pytest.fixture
def call(cast: Cast) -> Callers:
    """Return the caller of a person by name; the same one when asked again."""
    known: dict[str, Caller] = {}
    return lambda name: known[name] if name in known else known.setdefault(name, caller_of(name))


@pytest.fixture
def stranger() -> Caller:
    """A caller without a token."""
    return Caller()
