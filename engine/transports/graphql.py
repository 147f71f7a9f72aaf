"""Ask a GraphQL server: a POST through the guarded HTTP, whose answer may refuse with status 200."""

from dataclasses import replace
from typing import Any

from engine.kernel.steps.graphql_response import read_response
from engine.transports.http import send_http
from engine.transports.outcomes import Call, CallResult, Failed, Succeeded

ACCEPT = "application/graphql-response+json, application/json;q=0.9"


def send_graphql(call: Call) -> CallResult:
    """Send one query; what HTTP refuses is refused as there, errors in the body are the other side's no."""
    asked = call.request
    if not isinstance(asked.get("variables", {}), dict | None):
        return Failed("definition", "bad_request", "The variables of a query must be an object.")
    if not str(asked.get("query") or "").strip():
        return Failed("definition", "bad_request", "There is no query.")
    result = send_http(replace(call, request=_as_http(dict(asked))))
    return result if isinstance(result, Failed) else _outcome_of(result)


def _as_http(asked: dict[str, Any]) -> dict[str, Any]:
    body = {"query": asked["query"], "variables": asked.get("variables") or {}}
    if asked.get("operation"):
        body["operationName"] = asked["operation"]
    headers = asked.get("headers") or {}
    if isinstance(headers, dict):  # what is no object of headers is refused by HTTP
        headers = {**({} if any(str(name).lower() == "accept" for name in headers) else {"accept": ACCEPT}), **headers}
    return {"method": "POST", "url": asked.get("url"), "headers": headers, "body": body}


def _outcome_of(result: Succeeded) -> CallResult:
    answer = read_response(**result.value)
    if answer is None:
        return Failed("transport", "bad_answer", "The answer is not a GraphQL response.", result.value)
    if answer.code:
        return Failed("business", answer.code, answer.message, answer.value)
    return Succeeded(answer.value)
