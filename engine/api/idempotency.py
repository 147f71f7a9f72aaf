"""Do a repeated request once: `Idempotency-Key`.

The first request writes its answer in the transaction of the act itself, under (tenant, actor, route, key). A repeat
gets that answer, byte for byte, and changes nothing; the same key with another body is refused. Twins that come at the
same moment queue on an advisory lock, so that the second finds what the first wrote. A refused act leaves no key: it
changed nothing and may be tried again.

Every act over REST pays for this, so it is two short statements: the one that asks brings BEGIN along, the one that keeps the
answer travels with the COMMIT.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api.errors import KeyUsedBefore
from engine.db.transactions import do_whole
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.runtime.commit import run_hot, send_hot
from workflowplatform.accounts.actor import Actor

ASK = "SELECT body_sha256, status, answer FROM wf_asked_before(%(tenant)s::uuid, %(actor)s::uuid, %(route)s, %(key)s)"
KEEP = """
INSERT INTO wf_idempotency_keys (tenant_id, actor_id, route, key, body_sha256, status, answer, created_at)
VALUES (%(tenant)s::uuid, %(actor)s::uuid, %(route)s, %(key)s, %(digest)s, %(status)s, to_jsonb(%(text)s::text),
  clock_timestamp())
"""

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
        message = f"{what} is kept nowhere, so this takes no {HEADER}."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])


def _handle(handler: Handler, view: Any, request: Request, kwargs: dict[str, Any]) -> HttpResponseBase:
    key = _key_of(request)
    if key is None:
        return handler(view, request, **kwargs)
    return _answer(view, request, key, lambda: handler(view, request, **kwargs))


def _key_of(request: Request) -> str | None:
    key: str | None = request.headers.get(HEADER)
    if key is None:
        return None
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        message = f"{HEADER} is 1 to {LONGEST_KEY} printable ASCII characters."
        raise Invalid(message, [FieldError(HEADER, "invalid", message)])
    return key


def _answer(view: Any, request: Request, key: str, act: Callable[[], Response]) -> HttpResponseBase:
    """Ask whether this was asked before, behind whoever asks the same at this moment; else act, and keep the answer."""
    actor: Actor = view.actor
    digest = _digest(request.data)
    scope = {"tenant": actor.tenant_id, "actor": actor.person_id, "route": request.path, "key": key}
    for kept_digest, status, text in run_hot(ASK, scope):
        if kept_digest != digest:
            raise KeyUsedBefore
        headers = view.headers_of(json.loads(text)) if text else {}
        return _written(text, status, {**headers, "Idempotent-Replayed": "true"})
    response = act()
    text = JSONRenderer().render(response.data).decode()
    send_hot(KEEP, scope | {"digest": digest, "status": response.status_code, "text": text})
    return _written(text, response.status_code, {**view.headers_of(response.data), **response.headers})


def _written(text: str, status: int, headers: Mapping[str, str]) -> HttpResponse:
    """Answer with a text that is written already: what was kept and what is said are the same bytes."""
    answer = HttpResponse(text, status=status, content_type="application/json")
    for name, value in headers.items():
        answer.headers.setdefault(name, value)
    if not text:
        del answer["Content-Type"]
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
