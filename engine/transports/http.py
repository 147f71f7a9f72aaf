"""Call an address over HTTP, through the address guard.

No proxy, cookie jar or .netrc of the machine takes part. Redirects are followed at most three times, each looked at as
the first address was; whatever the author put into headers or the body stays with the origin it was written for. A redirect to
another origin is followed only as a plain GET: one that asks for the body again is refused, since a request that arrives without
it would seem to have succeeded.
"""

import json
import ssl
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote

import certifi
import httpcore
import httpx

from engine.conf import conf
from engine.kernel.expressions.secret_redaction import Hider
from engine.transports.address_guard import AddressRefused, Origin, may_be_private, named_origins, origin_of
from engine.transports.outcomes import Call, CallResult, Failed, Json, Succeeded
from engine.transports.pinned_network import Deadline, GuardedNetwork
from engine.transports.response_checks import LARGEST

MOST_REDIRECTS = 3
LATER_STATUSES = frozenset({408, 425, 429})
"""Statuses for which a later attempt may succeed, besides all of 5xx."""
OURS_TO_SET = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "upgrade"})
TRAVELLING = frozenset({"host", "accept", "accept-encoding", "user-agent", "connection"})
"""Headers that go along when a redirect leads to another origin."""
PLAIN_METHODS = frozenset({"GET", "HEAD"})
"""Methods with which a redirect leads to another origin."""
USER_AGENT = "workflow-platform"


class SecretElsewhere(Exception):
    """A secret would go where it is not meant to."""


class BadRequest(Exception):
    """What the step evaluates to cannot be sent."""


class BadAnswer(Exception):
    """What came back cannot be kept."""


def send_http(call: Call) -> CallResult:
    """Send one request and class the answer by its status."""
    try:
        return outcome_of(*_exchange(call))
    except AddressRefused as refused:
        return Failed("authorization", "address_refused", str(refused))
    except SecretElsewhere as refused:
        return Failed("authorization", "secret_elsewhere", str(refused))
    except BadRequest as bad:
        return Failed("definition", "bad_request", str(bad))
    except BadAnswer as bad:
        return Failed("transport", "bad_answer", str(bad))
    except httpcore.LocalProtocolError:
        return Failed("definition", "bad_request", "The method or a header is not valid HTTP.")
    except httpcore.TimeoutException:
        return Failed("timeout", "no_answer", f"There was no answer within {call.timeout_seconds:g} s.")
    except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
        return Failed("transport", "no_answer", _what_broke(error))


def _what_broke(error: Exception) -> str:
    """Describe where a request failed; the error's own text may contain secrets."""
    if isinstance(error, httpcore.ConnectError):
        return "The server could not be reached: its name is unknown, or it refused the connection."
    if isinstance(error, ssl.SSLError):
        return "The TLS connection failed."
    return "The connection was lost before the answer arrived."


def outcome_of(response: httpx.Response, body: bytes) -> CallResult:
    """Return the outcome that a status means for the step."""
    status = response.status_code
    value = {
        "status": status,
        "headers": {name.lower(): value for name, value in response.headers.items()},
        "body": read_body(response, body),
    }
    if 200 <= status < 400:
        return Succeeded(value)
    error_class = "transport" if status in LATER_STATUSES or not 400 <= status < 500 else "business"
    return Failed(
        error_class, f"http_{status}", f"The answer was {status} {response.reason_phrase}".rstrip() + ".", value
    )


def _exchange(call: Call) -> tuple[httpx.Response, bytes]:
    """Send, follow, and read the last answer, all under one deadline."""
    deadline = Deadline(call.timeout_seconds)
    with httpx.Client(transport=GuardedTransport(call, deadline), trust_env=False) as client:
        request = build_request(client, call)
        _refuse_other_origin(call, origin_of(request.url))
        for _ in range(MOST_REDIRECTS + 1):
            response = client.send(request, stream=True, follow_redirects=False)
            try:
                if response.next_request is None or not call.redirects:
                    return response, _read(response)
                request = _follow(call, request, response.next_request)
            finally:
                response.close()
    raise BadAnswer(f"The address redirects more than {MOST_REDIRECTS} times.")


def build_request(client: httpx.Client, call: Call) -> httpx.Request:
    """Build what the author wrote: a text body as it is, anything else as JSON."""
    asked = call.request
    headers = _headers_to_send(asked.get("headers") or {}, call.key)
    body = asked.get("body")
    try:
        return client.build_request(
            str(asked.get("method") or "GET").upper(),
            _address(str(asked.get("url") or ""), asked.get("query")),
            headers=headers,
            content=body if isinstance(body, str | bytes) else None,
            json=None if isinstance(body, str | bytes) else body,
        )
    except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
        raise BadRequest("The URL, a header or the body is not valid.") from error


def _address(url: str, query: Json) -> httpx.URL:
    """Append the query given by the author to the one already in the URL."""
    if query is not None and not isinstance(query, Mapping):
        raise BadRequest("A query must be an object.")
    return httpx.URL(url).copy_merge_params(dict(query)) if query else httpx.URL(url)


def _headers_to_send(written: Mapping[str, Json], key: str) -> dict[str, str]:
    if not isinstance(written, Mapping):
        raise BadRequest("Headers must be an object.")
    headers = {str(name).lower(): str(value) for name, value in written.items()}
    if forbidden := OURS_TO_SET & headers.keys():
        raise BadRequest(f"The header {min(forbidden)} cannot be set by a template.")
    # An Idempotency-Key that the author wrote wins; ours is made of printable ASCII, as headers must be.
    return {
        "user-agent": USER_AGENT,
        "accept-encoding": "identity",
        "idempotency-key": quote(key, safe="!#$&'()*+,/:;=?@[]^`{|}~ "),
        **headers,
    }


def _refuse_other_origin(call: Call, origin: Origin) -> None:
    """Refuse to send a call's secrets to an origin that they do not name."""
    for name, secret in call.secrets.items():
        if secret.origins and origin not in named_origins(secret.origins):
            raise SecretElsewhere(
                f"The secret {name} may not be sent to {origin.scheme}://{origin.host}:{origin.port}."
            )


def _follow(call: Call, before: httpx.Request, after: httpx.Request) -> httpx.Request:
    """Follow a redirect: never from https to http, and another origin gets nothing of what the author wrote."""
    old, new = origin_of(before.url), origin_of(after.url)
    if (old.scheme, new.scheme) == ("https", "http"):
        raise AddressRefused("The address redirects from https to http.")
    return after if old == new else _bare(call, after, new)


def _bare(call: Call, after: httpx.Request, origin: Origin) -> httpx.Request:
    """Return what another origin is asked: a plain GET without any secret, not even one that the first origin put in."""
    if after.method not in PLAIN_METHODS or after.headers.get("content-length", "0") != "0":
        raise AddressRefused(
            f"The address redirects to {origin.host}, which must not receive a body meant for another server."
        )
    hider = Hider({name: secret.value for name, secret in call.secrets.items()})
    if hider.holds(str(after.url)):
        raise SecretElsewhere(f"The address redirects to {origin.host} and hands it a secret.")
    for name, value in list(after.headers.items()):
        if name not in TRAVELLING or hider.holds(value):
            del after.headers[name]
    after.headers.setdefault("user-agent", USER_AGENT)
    return after


def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > LARGEST:
            raise BadAnswer("The answer is larger than 1 MB.")
    return _unpacked(bytes(body), response.headers.get("content-encoding", "identity").lower())


def _unpacked(body: bytes, encoding: str) -> bytes:
    """Unpack an answer that came compressed though it was not asked to, no further than the limit."""
    if encoding in {"", "identity"} or not body:
        return body
    if encoding not in {"gzip", "deflate"}:
        raise BadAnswer("The answer is compressed in a way that was not requested.")
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(body, LARGEST + 1)
    except zlib.error as error:
        raise BadAnswer("The answer cannot be decompressed.") from error
    if len(unpacked) > LARGEST:
        raise BadAnswer("The answer is larger than 1 MB.")
    return unpacked


def read_body(response: httpx.Response, body: bytes) -> Json:
    """Return JSON as values, anything else as text, nothing as null."""
    if not body:
        return None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            pass
    return body.decode(response.charset_encoding or "utf-8", "replace").replace("\0", "\ufffd")


@lru_cache(maxsize=1)
def tls() -> ssl.SSLContext:
    """Return what TLS trusts: the public authorities, and those the machine adds."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


class GuardedTransport(httpx.BaseTransport):
    """The way of every request, redirects included: check the origin, then connect through the guarded network."""

    def __init__(self, call: Call, deadline: Deadline) -> None:
        self._tenant, self._deadline = call.http_allow, deadline

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        private = may_be_private(request.url, operator=conf.http_allow, tenant=self._tenant)
        pool = httpcore.ConnectionPool(
            ssl_context=tls(), network_backend=GuardedNetwork(self._deadline, private=private)
        )
        answer = pool.handle_request(_raw(request))
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(pool, answer),
            extensions=answer.extensions,
            request=request,
        )


def _raw(request: httpx.Request) -> httpcore.Request:
    url = httpcore.URL(
        scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
    )
    return httpcore.Request(request.method, url, headers=request.headers.raw, content=request.stream)


class _Body(httpx.SyncByteStream):
    """An answer's bytes; closing it closes the connection, which is used once."""

    def __init__(self, pool: httpcore.ConnectionPool, answer: httpcore.Response) -> None:
        self._pool, self._answer = pool, answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
        self._pool.close()
