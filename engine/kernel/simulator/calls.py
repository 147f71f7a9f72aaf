"""What a test says of a call, as the transport would have said it."""

from collections.abc import Mapping

from engine.kernel.signals import CallFailed, CallSucceeded, Event, Json
from engine.kernel.steps.graphql_response import read_response

_RETRIED_STATUS = frozenset({408, 425, 429})


def answered(token: int, transport: str, answer: Mapping[str, Json]) -> Event:
    """Turn what a test says of a call into what the transport would have said."""
    if "error" in answer:
        code = str(answer.get("code", answer["error"]))
        return CallFailed(token, str(answer["error"]), code, str(answer.get("message", code)), answer.get("body"))
    if "result" in answer or transport == "python":
        return CallSucceeded(token, answer.get("result", {} if "result" not in answer else None))
    if transport == "email":
        return CallSucceeded(token, {"id": answer.get("id", "mail")})
    return _answered_graphql(token, answer) if transport == "graphql" else _answered_http(token, answer)


def _answered_graphql(token: int, answer: Mapping[str, Json]) -> Event:
    """Take `data` and `errors` as the response body; none given: success, empty."""
    body = {key: answer[key] for key in ("data", "errors") if key in answer} or answer.get("body") or {"data": {}}
    said = _answered_http(token, {**answer, "body": body})
    if not isinstance(said, CallSucceeded):
        return said
    read = read_response(**said.value)
    if read is None:
        return CallFailed(token, "transport", "bad_answer", "This is not a GraphQL response.", said.value)
    if read.code:
        return CallFailed(token, "business", read.code, read.message, read.value)
    return CallSucceeded(token, read.value)


def _answered_http(token: int, answer: Mapping[str, Json]) -> Event:
    status = int(answer.get("status", 200))
    value = {"status": status, "headers": answer.get("headers", {}), "body": answer.get("body", {})}
    if status < 400:
        return CallSucceeded(token, value)
    again = status in _RETRIED_STATUS or status >= 500
    return CallFailed(token, "transport" if again else "business", f"http_{status}", f"the answer was {status}", value)
