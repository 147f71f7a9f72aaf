"""GraphQL over the guarded HTTP: what is sent, and what becomes of every answer."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.dispatch.drain import drain
from engine.models import Effect
from engine.services.tenants.settings import put_secret
from engine.transports.base import Failed, Succeeded, make_call
from tests.cast import Cast
from tests.services.outside import Outside, outside_world
from tests.workflows import activated, started

ASK = "query Order($id: ID!) { order(id: $id) { id total } }"


@pytest.fixture
def outside(settings: Any) -> Iterator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        yield world


def ask(outside: Outside, path: str = "/graphql", *, seconds: float = 30, **request: Any) -> Succeeded | Failed:
    asked = {"url": outside.origin + path, "query": ASK, **request}
    return make_call("graphql", asked, key="k-1", timeout_seconds=seconds)


def test_a_query_is_posted_with_its_variables_and_its_key(outside: Outside) -> None:
    result = ask(outside, variables={"id": "7"}, operation="Order", headers={"Authorization": "Bearer x"})
    assert isinstance(result, Succeeded)
    assert result.value["data"] == {"order": {"id": "7", "total": 12}}
    assert (result.value["status"], "errors" in result.value) == (200, False)
    assert result.value["headers"]["content-type"].startswith("application/graphql-response+json")
    ((method, _path, headers, body),) = outside.requests
    assert (method, headers["authorization"], headers["idempotency-key"]) == ("POST", "Bearer x", "k-1")
    assert json.loads(body) == {"query": ASK, "variables": {"id": "7"}, "operationName": "Order"}
    assert "application/graphql-response+json" in headers["accept"]


def test_errors_in_the_answer_are_a_business_error_with_what_came(outside: Outside) -> None:
    result = ask(outside, variables={"id": "0"})
    assert isinstance(result, Failed)
    assert (result.error_class, result.code) == ("business", "NOT_FOUND")
    assert result.message == "There is no order 0."
    assert result.value["data"] == {"order": None}
    assert [error["message"] for error in result.value["errors"]] == ["There is no order 0.", "and more"]


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([{"message": "no"}], "graphql_error"),
        ([{"message": "no", "extensions": {"code": 7}}], "graphql_error"),
        ([{"extensions": "odd"}], "graphql_error"),
        (["odd"], "graphql_error"),
        ("odd", "graphql_error"),
        ([{"message": "a\x00b", "extensions": {"code": "c" * 300}}], "c" * 100),
    ],
)
def test_odd_errors_are_business_errors_all_the_same(outside: Outside, errors: Any, code: str) -> None:
    result = ask(outside, "/say", variables={"say": {"errors": errors}})
    assert isinstance(result, Failed)
    assert (result.error_class, result.code) == ("business", code)
    assert "\0" not in result.message
    assert len(result.message) <= 500


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/status/400", ("business", "http_400")),
        ("/status/401", ("business", "http_401")),
        ("/status/429", ("transport", "http_429")),
        ("/status/503", ("transport", "http_503")),
        ("/json", ("transport", "bad_answer")),
        ("/text", ("transport", "bad_answer")),
        ("/large", ("transport", "bad_answer")),
        ("/loop/0", ("transport", "bad_answer")),
        ("/cut", ("transport", "no_answer")),
    ],
)
def test_what_is_no_graphql_is_classed_as_http_is(outside: Outside, path: str, expected: tuple[str, str]) -> None:
    result = ask(outside, path)
    assert isinstance(result, Failed)
    assert (result.error_class, result.code) == expected


@pytest.mark.parametrize(
    "request_", [{"variables": [1]}, {"headers": {"Host": "x"}}, {"query": ""}, {"url": "nowhere"}]
)
def test_what_cannot_be_sent_is_not_sent(outside: Outside, request_: dict[str, Any]) -> None:
    result = ask(outside, **request_)
    assert isinstance(result, Failed)
    assert result.error_class in ("definition", "authorization")
    assert outside.requests == []


def test_the_address_guard_and_the_tenants_list_hold(outside: Outside, settings: Any) -> None:
    settings.WORKFLOW_HTTP_ALLOW = []
    guarded = ask(outside)
    settings.WORKFLOW_HTTP_ALLOW = [outside.origin]
    asked = {"url": outside.origin + "/graphql", "query": ASK}
    listed = make_call("graphql", asked, key="k", timeout_seconds=5, http_allow=["https://other.example"])
    assert [one.code for one in (guarded, listed) if isinstance(one, Failed)] == ["address_refused"] * 2
    assert outside.requests == []


def test_a_query_stays_with_its_origin_when_redirected(outside: Outside, settings: Any) -> None:
    with outside_world() as other:
        settings.WORKFLOW_HTTP_ALLOW = [outside.origin, other.origin]
        result = ask(outside, f"/to/{other.origin}/graphql", variables={"id": "7"}, headers={"X-Api-Key": "hush"})
        assert isinstance(result, Failed)
        assert (result.code, other.requests) == ("address_refused", [])


ASKS = """\
workflow: asks-graphql
steps:
  - id: order
    call:
      graphql:
        url: "ORIGIN/graphql"
        query: "query Order($id: ID!) { order(id: $id) { id total } }"
        variables: {id: "${start.id}"}
        headers: {x-key: "${secret.shop_key}"}
    on_error: [{match: error.code == 'NOT_FOUND', steps: [{complete: UNKNOWN}]}]
  - set: {total: "${result.order.data.order.total}"}
"""


@pytest.mark.parametrize(("number", "outcome", "state"), [("7", None, {"total": 12}), ("0", "UNKNOWN", {})])
def test_a_durable_step_asks_with_a_secret_that_is_kept_nowhere(
    committed_cast: Cast, outside: Outside, number: str, outcome: str | None, state: dict[str, Any]
) -> None:
    gwen = committed_cast.actor("gwen")
    put_secret(actor=gwen, name="shop_key", value="hush-hush")
    version = activated(gwen, ASKS.replace("ORIGIN", outside.origin))
    assert version.canonical["requires"]["transports"] == ["graphql"]
    instance = started(committed_cast.actor("ada"), "asks-graphql", id=number)
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.outcome, instance.state) == ("completed", outcome, state)
    assert outside.requests[0][2]["x-key"] == "hush-hush"
    assert "hush-hush" not in json.dumps(Effect.objects.get(instance=instance).request)
