"""Read what a GraphQL server answered: the data, or the errors that it tells in a body of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.kernel.signals import Json

NO_CODE = "graphql_error"
LONGEST_CODE, LONGEST_MESSAGE = 100, 500


@dataclass(frozen=True, slots=True)
class GraphqlResult:
    """What a step gets, and why it fails where the server said so."""

    value: dict[str, Json]
    code: str = ""
    message: str = ""


def read_response(status: Json, headers: Json, body: Json) -> GraphqlResult | None:
    """Read the body of an answer; None where it is no answer to a query at all."""
    if not isinstance(body, Mapping) or not ("data" in body or body.get("errors")):
        return None
    value: dict[str, Json] = {"data": body.get("data"), "status": status, "headers": headers}
    errors = body.get("errors")
    if not errors:
        return GraphqlResult(value)
    first = errors[0] if isinstance(errors, list) else errors
    return GraphqlResult({**value, "errors": errors}, _code(first), _message(first))


def _code(error: Json) -> str:
    extensions = error.get("extensions") if isinstance(error, Mapping) else None
    code = extensions.get("code") if isinstance(extensions, Mapping) else None
    return _clean(code, LONGEST_CODE) if isinstance(code, str) and code.strip() else NO_CODE


def _message(error: Json) -> str:
    message = error.get("message") if isinstance(error, Mapping) else None
    return _clean(message, LONGEST_MESSAGE) if isinstance(message, str) and message else "The query was refused."


def _clean(text: str, longest: int) -> str:
    """Cut what is long and leave out what cannot be kept."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:longest]
