"""Do a repeated request once: `Idempotency-Key`.

The first request writes its answer in the transaction of the act itself, under (tenant, actor, route, key). A repeat
gets that answer, byte for byte, and changes nothing; the same key with another body is refused. Twins that come at the
same moment queue on an advisory lock, so that the second finds what the first wrote. A refused act leaves no key: it
changed nothing and may be tried again.
"""

import hashlib
import json
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import connection
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.errors import KeyUsedBefore
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import IdempotencyKey
from engine.transactions import do_in_one_transaction
from workflowplatform.accounts.actor import Actor

HEADER = "Idempotency-Key"
LONGEST_KEY = 200

Handler = Callable[..., Response]


def once(handler: Handler) -> Callable[..., HttpResponseBase]:
    """Run a view's method in one transaction, and only once for each Idempotency-Key."""

    @wraps(handler)
    def handle(view: Any, request: Request, **kwargs: Any) -> HttpResponseBase:
        return do_in_one_transaction(partial(_handle, handler, view, request, kwargs))

    return handle


def refuse_key(request: Request, what: str) -> None:
    """Refuse a key where the answer holds a secret, which is kept nowhere and so cannot be repeated."""
    if HEADER in request.headers:
        message = f"{what} is kept nowhere, so this takes no {HEADER}."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])


def _handle(handler: Handler, view: Any, request: Request, kwargs: dict[str, Any]) -> HttpResponseBase:
    key = _key_of(request)
    if key is None:
        return handler(view, request, **kwargs)
    return _answer(view.actor, request, key, lambda: handler(view, request, **kwargs))


def _key_of(request: Request) -> str | None:
    key: str | None = request.headers.get(HEADER)
    if key is None:
        return None
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"{HEADER} is 1 to {LONGEST_KEY} printable ASCII characters."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])
    return key


def _answer(actor: Actor, request: Request, key: str, act: Callable[[], Response]) -> HttpResponseBase:
    scope = {"tenant_id": actor.tenant_id, "actor_id": actor.person_id, "route": request.path, "key": key}
    _queue_on(scope)
    digest = _digest(request.data)
    kept = IdempotencyKey.objects.filter(**scope).first()
    if kept is not None:
        return _repeat(kept, digest)
    response = act()
    text = JSONRenderer().render(response.data).decode()
    IdempotencyKey.objects.create(**scope, body_sha256=digest, status=response.status_code, answer=text)
    return response


def _queue_on(scope: dict[str, Any]) -> None:
    """Let twins of one request follow each other, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", ["|".join(map(str, scope.values()))])


def _repeat(kept: IdempotencyKey, digest: str) -> HttpResponse:
    if kept.body_sha256 != digest:
        raise KeyUsedBefore
    answer = HttpResponse(kept.answer, status=kept.status, content_type="application/json")
    answer["Idempotent-Replayed"] = "true"
    return answer


def _digest(body: Any) -> str:
    """Hash what was meant, not how it was spaced."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=_digest_file).encode()).hexdigest()


def _digest_file(file: UploadedFile) -> str:
    found = hashlib.sha256(f"{file.name}|".encode())
    for chunk in file.chunks():
        found.update(chunk)
    file.seek(0)
    return found.hexdigest()
