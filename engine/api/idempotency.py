"""Run a view's method once for each `Idempotency-Key`; a repeated request gets the first answer, byte for byte."""

import json
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.json_bodies import AnswerRenderer
from engine.db.transactions import do_whole
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.services.idempotency import KeyedRequest, digest_of

HEADER = "Idempotency-Key"
LONGEST_KEY = 200

Handler = Callable[..., Response]


def once(handler: Handler) -> Callable[..., HttpResponseBase]:
    """Run a view's method in one transaction, and only once for each Idempotency-Key."""

    @wraps(handler)
    def handle(view: Any, request: Request, **kwargs: Any) -> HttpResponseBase:
        return do_whole(partial(_handle, handler, view, request, kwargs))

    return handle


def refuse_key(request: Request, what: str) -> None:
    """Refuse a key where the answer holds a secret, which is kept nowhere and so cannot be repeated."""
    if HEADER in request.headers:
        message = f"{what} is not stored, so the answer cannot be repeated. Send this request without {HEADER}."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])


def _handle(handler: Handler, view: Any, request: Request, kwargs: dict[str, Any]) -> HttpResponseBase:
    key = _key_of(request)
    if key is None:
        return handler(view, request, **kwargs)
    keyed = KeyedRequest(view.actor, request.path, key, digest_of(request.data))
    kept = keyed.kept_answer()
    if kept is not None:
        status, text = kept
        headers = view.headers_of(json.loads(text)) if text else {}
        return _written(text, status, {**headers, "Idempotent-Replayed": "true"})
    response = handler(view, request, **kwargs)
    text = AnswerRenderer().render(response.data).decode()
    keyed.keep_answer(response.status_code, text)
    return _written(text, response.status_code, {**view.headers_of(response.data), **response.headers})


def _key_of(request: Request) -> str | None:
    key: str | None = request.headers.get(HEADER)
    if key is None:
        return None
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"{HEADER} must have 1 to {LONGEST_KEY} printable ASCII characters."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])
    return key


def _written(text: str, status: int, headers: Mapping[str, str]) -> HttpResponse:
    """Answer with a text that is rendered already: the kept answer and the sent one are the same bytes."""
    answer = HttpResponse(text, status=status, content_type="application/json")
    for name, value in headers.items():
        answer.headers.setdefault(name, value)
    if not text:
        del answer["Content-Type"]
    return answer
