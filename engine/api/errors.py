"""Answer every refusal as problem+json: `{type, title, status, code, detail, errors}`.

One table turns the platform's own refusals into statuses, one the framework's. Further facts of a refusal
(who won a race, which findings) are members of the answer under their own names.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.response import Response

from engine import errors
from engine.db.transactions import is_database_away
from engine.kernel.forms import FieldError
from engine.kernel.timing.periods import spell_moment
from engine.services.health import note_full_disk
from workflowplatform.database.error_causes import BUSY, DISK_FULL, READ_ONLY, UNAVAILABLE, cause_of

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

TITLES: Mapping[int, str] = {
    400: "Invalid request",
    401: "Authentication required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    412: "Changed since you read it",
    413: "Too large",
    415: "Unsupported media type",
    422: "Unprocessable content",
    429: "Too many requests",
    500: "Server error",
    501: "Not implemented",
    503: "Service unavailable",
}

STATUSES: Mapping[type[errors.WorkflowError], int] = {
    errors.NotFound: 404,
    errors.Refused: 403,
    errors.Conflict: 409,
    errors.Unreadable: 409,
    errors.Invalid: 400,
    errors.Unprocessable: 422,
    errors.IdReused: 422,
    errors.KeyReused: 422,
}

FRAMEWORK_CODES: Mapping[type[exceptions.APIException], str] = {
    exceptions.ParseError: "invalid",
    exceptions.ValidationError: "invalid",
    exceptions.NotAuthenticated: "not_authenticated",
    exceptions.AuthenticationFailed: "not_authenticated",
    exceptions.PermissionDenied: "refused",
    exceptions.MethodNotAllowed: "method_not_allowed",
    exceptions.NotAcceptable: "not_acceptable",
    exceptions.UnsupportedMediaType: "unsupported_media_type",
    exceptions.Throttled: "throttled",
}

FRAMEWORK_DETAILS: Mapping[type[exceptions.APIException], str] = {
    exceptions.NotAuthenticated: "Send your token with the header `Authorization: Token …`.",
}
"""Where the framework's own sentence does not say what to do."""


class TooLarge(exceptions.APIException):
    """The body is larger than the platform takes."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


def answer_error(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Turn an exception into an answer; None leaves it to Django as the defect it is."""
    if isinstance(error, errors.WorkflowError):
        return _answer_refusal(error)
    if isinstance(error, Http404):
        return _answer_refusal(errors.NotFound())
    return _answer_framework(_as_framework(error))


def problem(
    status: int, code: str, detail: str, field_errors: Sequence[FieldError] = (), facts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Build the body of a refusal."""
    listed = [
        {"path": sendable(error.path), "code": error.code, "message": sendable(error.message)} for error in field_errors
    ]
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "code": code, "detail": sendable(detail)}
    return {**(facts or {}), **body, "errors": listed}


def sendable(text: str) -> str:
    """Return a text that can be sent back: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()


def _answer_refusal(error: errors.WorkflowError) -> Response:
    code = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    body = problem(code, error.code, error.message, _errors_of(error), _facts_of(error))
    return Response(body, status=code, content_type=MEDIA_TYPE)


def _errors_of(error: errors.WorkflowError) -> Sequence[FieldError]:
    if isinstance(error, errors.Unprocessable):
        return [FieldError(finding.path, finding.code, finding.message) for finding in error.findings]
    return error.errors if isinstance(error, errors.Invalid | errors.NotFound | errors.IdReused) else ()


def _facts_of(error: errors.WorkflowError) -> dict[str, Any]:
    """Return the facts of a refusal under their own names; the word `status` is taken by HTTP's."""
    if isinstance(error, errors.Unprocessable):
        return {"findings": [finding.as_json() for finding in error.findings]}
    return {"current_status" if name == "status" else name: _plain(value) for name, value in error.facts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return spell_moment(value)
    return value if isinstance(value, str | int | float | list | None) else str(value)


def _as_framework(error: Exception) -> exceptions.APIException | None:
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, RequestDataTooBig):
        return TooLarge("The body is too large.")
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied()
    if isinstance(error, SuspiciousOperation):
        return exceptions.ParseError("The request is malformed.")
    return absence(error) if is_database_away(error) else None


def absence(error: BaseException) -> "Unavailable":
    """Return the answer for a busy server, an absent database or one that cannot be written; the log keeps the cause."""
    cause = cause_of(error)
    log.warning(cause.event, code=cause.code, cause=str(error.__cause__ or error).strip())
    if cause.code == DISK_FULL:
        note_full_disk()
    return ABSENCES[cause.code]()


class Unavailable(exceptions.APIException):
    """The database does not answer."""

    wait = 2
    """Seconds after which to ask again: a server that only restarts is back by then."""
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = UNAVAILABLE
    default_detail = "The database is not available. Try again shortly."


class Busy(Unavailable):
    """More is asked at once than this server or its database can do."""

    default_code = BUSY
    default_detail = "The server is busy. Try again shortly."


class ReadOnly(Unavailable):
    """The database can be read and not written, as during a failover or maintenance."""

    wait = 5
    default_code = READ_ONLY
    default_detail = "The database is read-only at the moment. Nothing was changed. Try again shortly."


class DiskFull(Unavailable):
    """The database has no room left."""

    wait = 30
    default_code = DISK_FULL
    default_detail = "The database has no disk space left. Nothing was changed. Try again later."


ABSENCES: Mapping[str, type[Unavailable]] = {
    kind.default_code: kind for kind in (Unavailable, Busy, ReadOnly, DiskFull)
}
"""How each cause is answered."""


def _answer_framework(error: exceptions.APIException | None) -> Response | None:
    if error is None:
        return None
    if isinstance(error, exceptions.NotFound):
        return _answer_refusal(errors.NotFound())
    code = FRAMEWORK_CODES.get(type(error)) or str(error.default_code)
    field_errors = list(_flat(error.detail)) if isinstance(error, exceptions.ValidationError) else []
    detail = "Some fields are invalid." if field_errors else FRAMEWORK_DETAILS.get(type(error)) or str(error.detail)
    return Response(
        problem(error.status_code, code, detail, field_errors),
        status=error.status_code,
        headers=_headers_of(error),
        content_type=MEDIA_TYPE,
    )


def _headers_of(error: exceptions.APIException) -> dict[str, str]:
    headers = {"WWW-Authenticate": getattr(error, "auth_header", None), "Retry-After": getattr(error, "wait", None)}
    return {name: str(value) for name, value in headers.items() if value is not None}


def _flat(detail: Any, path: str = "") -> Sequence[FieldError]:
    """Write nested validation errors as one list; the path `""` is the whole body."""
    named: Iterable[tuple[object, Any]]
    if isinstance(detail, Mapping):
        named = detail.items()
    elif isinstance(detail, list) and any(isinstance(item, Mapping | list) for item in detail):
        named = enumerate(detail)
    else:
        listed = detail if isinstance(detail, list) else [detail]
        return [FieldError(path, getattr(item, "code", "invalid"), str(item)) for item in listed]
    return [error for name, inner in named for error in _flat(inner, _below(path, name))]


def _below(path: str, name: object) -> str:
    if name == "non_field_errors":
        return path
    return f"{path}.{name}" if path else str(name)
