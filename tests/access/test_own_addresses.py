"""Everybody asks for their own, behind the wall and with real commits: no address of the product breaks.

The other tests of an address mostly run as the owner of the tables, and inside one transaction. What begins none of its own, or
needs rows that its tenant does not show, breaks only here and in the product.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from tests.access.test_both_walls import BODY, acmes, addresses
from tests.api.conftest import Caller
from tests.api.scene import set_whole_scene
from tests.application import as_application
from tests.cast import Cast, committed_cast  # noqa: F401  the fixture
from workflowplatform.accounts.middleware import CHOSEN_TENANT
from workflowplatform.accounts.models import User
from workflowplatform.database import tenancy

FORM = {"answer": "x", "reason": "x", "note": "x", "text": "x", "name": "x", "outcome": "approve", "to": "uri"}
BODIES = ({}, {"reason": "x"}, {"text": "x"}, {"to": "ada"}, BODY)
FOR_PAGES = ("GET", "POST")
ENDS = ("logout/", "deactivate/", "revoke/", "archive/", "cancel/")
"""Requests that would break later ones come last."""


class Asking:
    """One person with a token and a browser."""

    def __init__(self, person: User, within: Any = None) -> None:
        self.caller = None if within else Caller(create_token(actor=None, person=person)[1])
        self.browser = Client(raise_request_exception=False)
        self.browser.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        if within:
            session = self.browser.session
            session[CHOSEN_TENANT] = str(within.pk)
            session.save()

    def ask(self, method: str, address: str) -> Iterator[int]:
        """Ask and read the answer to its end; over REST by the token, where there is one, with every body."""
        if not address.startswith("/api/"):
            if method in FOR_PAGES:
                yield _read(getattr(self.browser, method.lower())(address, FORM if method == "POST" else None))
            return
        for body in BODIES if method in ("POST", "PUT") else [None]:
            if self.caller:
                yield _read(self.caller(method, address, body))
            else:
                sent: Any = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
                yield _read(self.browser.generic(method, address, **sent))


def _read(answer: Any) -> int:
    if answer.streaming:
        b"".join(answer.streaming_content)
    return int(answer.status_code)


@pytest.mark.parametrize(
    ("who", "methods"),
    [
        ("gwen", ["POST"]),
        *(
            pytest.param(name, ["GET", "POST", "PUT", "DELETE"], marks=pytest.mark.slow)
            for name in ("gwen", "uri", "zoe")
        ),
    ],
)
def test_no_door_breaks_behind_the_wall(
    who: str,
    methods: list[str],
    committed_cast: Cast,  # noqa: F811
    record_property: Callable[[str, Any], None],
) -> None:
    cast = committed_cast
    scene = set_whole_scene(cast)
    create_person(actor=None, tenant=cast.acme, name="greta", level=5)
    names = acmes(cast, scene)
    person = Asking(getattr(cast, who), within=cast.acme if who == "zoe" else None)
    found, asked, granted = [], 0, 0
    with as_application(outside=tenancy.NOBODY):
        for method in methods:
            for address in sorted(addresses(names), key=lambda one: one.endswith(ENDS)):
                for status in person.ask(method, address):
                    asked, granted = asked + 1, granted + (status < 400)
                    if status >= 500:
                        found.append((method, address, status))
    record_property("figure", f"{who}: {asked} requests, {granted} granted, {len(found)} that broke")
    assert found == []
    assert granted > (20 if who == "uri" else asked / 10)
