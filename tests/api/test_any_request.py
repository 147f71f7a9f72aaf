"""Schemathesis against every operation of the document: whatever is sent, right or wrong, the answer is as the document says.

No server error, no answer that differs from its declared status, type or shape, no operation that works without a token. Half of
the requests fit the document and half do not; most name things that are there. Each is undone, so that all meet the same scene.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from engine.api.openapi import document
from engine.api.operations_table import OPERATIONS
from tests.api.conftest import caller_of
from tests.api.scene import Scene, set_whole_scene
from tests.cast import Cast

CASES, FEW = 100, 3
LEFT_OUT = {"stream/"}
"""What answers without end."""
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
REFUSED_UNREAD = {412, 413}
"""Refusals before the body is read, which the check of unfit bodies does not know."""
CHECKED = sorted((method, route) for method, route in OPERATIONS if route not in LEFT_OUT)
QUICK = [
    one for one in CHECKED if one in {("POST", "instances/"), ("GET", "tasks/"), ("PUT", "webhooks/{webhook_id}/")}
]


@pytest.fixture(scope="module")
def schema() -> Any:
    """Return the document, bound to the product itself."""
    whole = json.loads(json.dumps(document()))
    whole["servers"] = [{"url": "http://testserver/api/v1"}]
    read = schemathesis.openapi.from_dict(whole)
    read.app = get_wsgi_application()
    return read


@pytest.fixture
def same_connection() -> Generator[None]:
    """Let requests leave the test's own connection open, as Django's test client does."""
    ends = (signals.request_started, signals.request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    yield
    for end in ends:
        end.connect(close_old_connections)


@pytest.fixture
def scene(cast: Cast, settings: Any, same_connection: None) -> Scene:
    settings.WORKFLOW_TOKEN_REQUESTS = settings.WORKFLOW_TENANT_REQUESTS = 0
    return set_whole_scene(cast)


def places(route: str, scene: Scene) -> dict[str, Any]:
    """Name things that are there, for the places of a route."""
    known = {
        "number": 1, "key": "nobodys", "instance_id": scene.instance, "task_id": scene.task, "schedule_id": scene.schedule,
        "letter_id": scene.letter, "attachment_id": scene.other, "webhook_id": scene.webhook, "delivery_id": scene.delivery,
    }  # fmt: skip
    names = {
        "templates": "idea", "people": "uri", "roles": "finance", "calendars": "office", "secrets": "api_key",
    }  # fmt: skip
    known["name"] = names.get(route.partition("/")[0], "")
    return {name: value for name, value in known.items() if f"{{{name}}}" in route}


@contextmanager
def undone() -> Iterator[None]:
    """Let nothing stay of what a request did."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def requests_to(operation: Any, known: dict[str, Any]) -> Any:
    """Return requests that fit, at what is there and elsewhere, and requests that do not fit."""
    kinds = [operation.as_strategy(GenerationMode.POSITIVE, path_parameters=known or None)] * 2
    if known:
        kinds.append(operation.as_strategy(GenerationMode.POSITIVE))
    if operation.body or operation.query:
        kinds += [operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=known or None)] * 2
    return st.one_of(kinds)


def try_operation(schema: Any, scene: Scene, method: str, route: str, cases: int) -> None:
    operation = schema[f"/{route}"][method]
    who = "ada" if route.startswith("tasks") else "gwen"
    token = {"Authorization": f"Token {caller_of(who).token}"}

    @settings(
        max_examples=cases,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=requests_to(operation, places(route, scene)), conditional=st.integers(0, 9))
    def try_one(case: Any, conditional: int) -> None:
        """An `If-Match` made up by chance is refused before the body is read, so most requests come without."""
        if conditional:
            case.headers = {name: text for name, text in (case.headers or {}).items() if name != "If-Match"}
        with undone():
            answer = case.call(headers=token)
            checks = [*CHECKS, *([] if answer.status_code in REFUSED_UNREAD else [negative_data_rejection])]
            case.validate_response(
                answer, checks=[*checks, *([ignored_auth] if conditional < 2 else [])], headers=token
            )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try_one()


@pytest.mark.slow
@pytest.mark.parametrize(("method", "route"), CHECKED, ids=lambda part: part)
def test_whatever_is_sent_the_answer_is_as_declared(schema: Any, scene: Scene, method: str, route: str) -> None:
    try_operation(schema, scene, method, route, CASES)


@pytest.mark.parametrize(("method", "route"), QUICK, ids=lambda part: part)
def test_a_few_requests_are_answered_as_declared(schema: Any, scene: Scene, method: str, route: str) -> None:
    try_operation(schema, scene, method, route, FEW)
