"""A secret goes to the server that it is for, and nowhere else: whatever that server answers, nothing of it is kept or logged."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

from engine.dispatch.drain import drain
from engine.dispatch.webhooks import post
from engine.errors import Invalid, Unprocessable
from engine.extensions import functions
from engine.extensions.functions import BusinessError, workflow_function
from engine.kernel.expressions.secret_marks import SecretValue, hidden, mark
from engine.models import Instance, Secret
from engine.services.templates.versions import activate_version, save_draft
from engine.services.tenants.settings import put_secret
from engine.services.webhooks.deliveries import Try
from engine.storage.encryption import encrypt
from engine.transports.base import Failed, Succeeded, make_call
from engine.transports.webhook_signature import new_secret
from tests.cast import Cast
from tests.services.outside import Outside, outside_world
from tests.workflows import activated, fall_due, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7
from workflowplatform.logs import logging_settings

pytestmark = pytest.mark.security("secrets stay secret")

VALUE = 's3cr3t/välue+"quoted" & more'
PLAIN = "tok_4f9a8b7c6d5e"


@pytest.fixture
def outside(settings: Any) -> Iterator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        yield world


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry of functions, given back as it was."""
    monkeypatch.setattr(functions, "_registered", dict(functions._registered))
    monkeypatch.setattr(functions, "_transactional", set(functions._transactional))
    monkeypatch.setattr(functions, "_with_secrets", set(functions._with_secrets))


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[io.StringIO]:
    """Everything logged, as the product writes it."""
    caplog.set_level(logging.DEBUG)
    lines = logging_settings(level="DEBUG", for_people=False)["formatters"]["lines"]
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(lines["()"](processors=lines["processors"], foreign_pre_chain=lines["foreign_pre_chain"]))
    logging.getLogger().addHandler(handler)
    yield handler.stream
    logging.getLogger().removeHandler(handler)


def everything_stored() -> str:
    """Return every row of every table as text."""
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name != "django_migrations"]
        found = []
        for table in tables:
            cursor.execute(f'SELECT to_jsonb(t)::text FROM "{table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def leaks(text: str, value: str) -> list[str]:
    """Name the spellings of a value that a text contains."""
    forms = {
        "plain": value,
        "JSON": json.dumps(value)[1:-1],
        "twice JSON": json.dumps(json.dumps(value)[1:-1])[1:-1],
        "URL": quote(value),
        "URL whole": quote(value, safe=""),
        "base64": base64.b64encode(value.encode()).decode().rstrip("=")[:-1],
    }
    return [name for name, form in forms.items() if form in text]


CALLS = """
workflow: calls-out
title: Calls out
steps:
  - id: ask
    call:
      http:
        method: POST
        url: "ORIGIN/mirror/STATUS?key=${secret.token}"
        headers: {authorization: "Bearer ${secret.token}"}
        body: {inner: "${secret.awkward}", text: "in the middle ${secret.awkward} of it"}
    FATE
  - id: keep
    set: {told: "${KEPT}"}
"""
TAKEN = ("", "result.ask")
CAUGHT = ("on_error: [{match: 'true', steps: [{set: {why: '${error}'}}]}]", "state.why")


def run(cast: Cast, source: str, name: str) -> Instance:
    gwen = cast.actor("gwen")
    put_secret(actor=gwen, name="token", value=PLAIN)
    put_secret(actor=gwen, name="awkward", value=VALUE)
    activated(gwen, source)
    instance = started(cast.actor("ada"), name)
    drain()
    instance.refresh_from_db()
    return instance


@pytest.mark.parametrize("status", [200, 422, 500])
def test_what_a_server_echoes_is_hidden_before_it_is_committed(
    committed_cast: Cast, outside: Outside, status: int, logged: io.StringIO
) -> None:
    fate, kept = TAKEN if status < 400 else CAUGHT
    source = CALLS.replace("ORIGIN", outside.origin).replace("STATUS", str(status))
    instance = run(committed_cast, source.replace("FATE", fate).replace("KEPT", kept), "calls-out")
    (request,) = outside.requests
    assert request[2]["authorization"] == f"Bearer {PLAIN}"
    assert json.loads(request[3])["inner"] == VALUE
    assert instance.status == "completed"
    stored = everything_stored()
    assert (leaks(stored, PLAIN), leaks(stored, VALUE), leaks(logged.getvalue(), PLAIN)) == ([], [], [])
    assert (
        json.dumps(hidden("token"))[1:-1] in logged.getvalue()
    )  # what the HTTP library tells of headers, at its most talkative
    assert hidden("token") in json.dumps(instance.state, ensure_ascii=False)
    assert hidden("awkward") in json.dumps(instance.state, ensure_ascii=False)


# Functions

TELLS = """
workflow: tells
title: Tells
steps:
  - id: ask
    call: {python: {function: test_teller, args: {token: "${secret.token}"}}}
    on_error: [{steps: [{set: {why: "${error}"}}]}]
"""


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_function_returns_raises_or_logs_is_hidden(
    committed_cast: Cast, registered: None, logged: io.StringIO, inside: bool
) -> None:
    @workflow_function("test_teller", transactional=inside, secrets=True)
    def teller(*, token: str) -> None:
        assert token == PLAIN
        logging.getLogger("host").warning("asking with %s", token)
        raise BusinessError(f"no-{token}", f"{token} is out of money")

    instance = run(committed_cast, TELLS, "tells")
    assert leaks(everything_stored(), PLAIN) == []
    assert instance.state["why"]["message"] == f"{hidden('token')} is out of money"
    assert leaks(logged.getvalue(), PLAIN) == []
    assert "asking with" in logged.getvalue()


def test_a_row_that_the_database_refuses_is_not_quoted_in_a_log(
    committed_cast: Cast, registered: None, logged: io.StringIO, settings: Any
) -> None:
    """PostgreSQL names the values of a refused row, and only at the commit."""
    settings.WORKFLOW_DISPATCHER = "rq"
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE test_tokens (token text UNIQUE DEFERRABLE INITIALLY DEFERRED)")

    @workflow_function("test_teller", transactional=True, secrets=True)
    def teller(*, token: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO test_tokens VALUES (%s), (%s)", [token, token])

    try:
        gwen = committed_cast.actor("gwen")
        put_secret(actor=gwen, name="token", value=PLAIN)
        activated(gwen, "workflow: waits\ntitle: W\nsteps:\n  - wait: {for: PT1H}\n" + TELLS.partition("steps:\n")[2])
        fall_due(started(committed_cast.actor("ada"), "waits"))
        drain()
        assert "already exists" in logged.getvalue()
        assert leaks(logged.getvalue() + everything_stored(), PLAIN) == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE test_tokens")


def test_a_function_that_is_not_registered_for_secrets_gets_none(
    committed_cast: Cast, registered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    @workflow_function("test_teller", secrets=True)
    def teller(**values: Any) -> None:
        given.append(values)

    gwen = committed_cast.actor("gwen")
    put_secret(actor=gwen, name="token", value=PLAIN)
    draft = save_draft(actor=gwen, source=TELLS)
    assert [finding["code"] for finding in draft.findings] == []
    activate_version(actor=gwen, name="tells", number=1)
    monkeypatch.setattr(functions, "_with_secrets", set())  # the next release registers it otherwise
    instance = started(committed_cast.actor("ada"), "tells")
    drain()
    instance.refresh_from_db()
    assert (instance.state["why"]["class"], instance.state["why"]["code"]) == ("authorization", "secrets_refused")
    assert given == []
    again = save_draft(actor=gwen, source=TELLS)
    assert [finding["code"] for finding in again.findings] == ["function_secrets"]
    with pytest.raises(Unprocessable):
        activate_version(actor=gwen, name="tells", number=2)


# Origins

SENDS = """
workflow: sends
title: Sends
steps:
  - id: ask
    call:
      http: {method: METHOD, url: "URL", headers: {authorization: "Bearer ${secret.token}"}, body: BODY}
    on_error: [{steps: [{set: {why: "${error}"}}]}]
"""


def sent(cast: Cast, url: str, method: str = "GET", body: str = "null", origins: list[str] | None = None) -> Instance:
    gwen = cast.actor("gwen")
    put_secret(actor=gwen, name="token", value=PLAIN, origins=origins)
    activated(gwen, SENDS.replace("METHOD", method).replace("URL", url).replace("BODY", body))
    instance = started(cast.actor("ada"), "sends")
    drain()
    instance.refresh_from_db()
    return instance


@pytest.fixture
def other(outside: Outside, settings: Any) -> Iterator[Outside]:
    """Another server, which calls may reach as well."""
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [outside.origin, world.origin]
        yield world


def test_a_secret_is_sent_to_the_origins_that_it_names_and_to_no_other(
    committed_cast: Cast, outside: Outside, other: Outside
) -> None:
    instance = sent(committed_cast, f"{outside.origin}/json", origins=[outside.origin])
    assert "why" not in instance.state
    assert outside.requests[0][2]["authorization"] == f"Bearer {PLAIN}"
    instance = sent(committed_cast, f"{other.origin}/json")
    assert (instance.state["why"]["class"], instance.state["why"]["code"]) == ("authorization", "secret_elsewhere")
    assert other.requests == []


def test_a_secret_that_names_origins_is_not_mailed(mailoutbox: list[Any]) -> None:
    bound = {"token": SecretValue(PLAIN, ("https://api.example.com",))}
    request = {"to": "a@example.com", "text": mark("token")}
    result = make_call("email", request, key="k", timeout_seconds=5, secrets=bound)
    assert isinstance(result, Failed)
    assert (result.code, mailoutbox) == ("secret_elsewhere", [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    ("method", "body"), [("GET", "null"), ("POST", '"the body ${secret.token}"'), ("PUT", "{a: 1}")]
)
def test_no_redirect_takes_a_secret_or_a_body_to_another_origin(
    outside: Outside, other: Outside, status: int, method: str, body: str
) -> None:
    request = {
        "method": method,
        "url": f"{outside.origin}/moved/{status}/{other.origin}/json",
        "headers": {"authorization": mark("token"), "user-agent": mark("token"), "x-mine": "own"},
        "body": None if body == "null" else {"inner": mark("token")},
    }
    result = make_call("http", request, key="k", timeout_seconds=5, secrets={"token": SecretValue(PLAIN)})
    assert PLAIN in outside.requests[0][2]["authorization"]
    assert PLAIN not in str(other.requests)
    assert "own" not in str(other.requests)
    assert [one for one in other.requests if one[3] or one[0] != "GET"] == []
    followed = method == "GET" or status == 303 or (status == 302) or (status == 301 and method == "POST")
    assert (isinstance(result, Succeeded), len(other.requests)) == (followed, int(followed))


def test_a_redirect_that_hands_the_secret_on_in_its_address_is_refused(outside: Outside, other: Outside) -> None:
    request = {"url": f"{outside.origin}/moved/302/{other.origin}/json%3Fkey={mark('token')}"}
    result = make_call("http", request, key="k", timeout_seconds=5, secrets={"token": SecretValue(PLAIN)})
    assert isinstance(result, Failed)
    assert (result.code, other.requests) == ("secret_elsewhere", [])


def test_a_redirect_within_the_origin_keeps_what_was_sent(outside: Outside) -> None:
    request = {"method": "POST", "url": f"{outside.origin}/moved/307//json", "body": {"inner": mark("token")}}
    secrets = {"token": SecretValue(PLAIN, (outside.origin,))}
    assert isinstance(make_call("http", request, key="k", timeout_seconds=5, secrets=secrets), Succeeded)
    assert [PLAIN in str(one[3]) for one in outside.requests] == [True, True]


# Setting up


def test_a_secret_goes_to_new_origins_only_with_its_value(gwen: Actor) -> None:
    put_secret(actor=gwen, name="token", value=PLAIN)
    assert put_secret(actor=gwen, name="token", origins=["https://a.example", "https://B.example/"]).origins == [
        "https://a.example",
        "https://b.example",
    ]
    assert put_secret(actor=gwen, name="token", origins=["https://a.example"]).origins == ["https://a.example"]
    for wider in (["https://a.example", "https://evil.example"], ["https://evil.example"], []):
        with pytest.raises(Invalid) as refusal:
            put_secret(actor=gwen, name="token", origins=wider)
        assert [(error.path, error.code) for error in refusal.value.errors] == [("value", "required")]
    assert Secret.objects.get(name="token").origins == ["https://a.example"]
    assert put_secret(actor=gwen, name="token", value=PLAIN + "2").origins == ["https://a.example"]
    assert put_secret(actor=gwen, name="token", value=PLAIN, origins=[]).origins == []


@pytest.mark.parametrize(
    "origin", ["a.example", "https://a.example/path", "ftp://a.example", "https://u:p@a.example", "*"]
)
def test_what_is_no_origin_is_refused(gwen: Actor, origin: str) -> None:
    with pytest.raises(Invalid) as refusal:
        put_secret(actor=gwen, name="token", value=PLAIN, origins=[origin])
    assert refusal.value.errors[0].path == "origins"


@pytest.mark.parametrize("value", ["", "short", "       ", "seven77"])
def test_a_value_too_short_to_be_hidden_is_refused(gwen: Actor, value: str) -> None:
    with pytest.raises(Invalid):
        put_secret(actor=gwen, name="token", value=value)


def test_a_secret_without_origins_is_a_warning(gwen: Actor) -> None:
    put_secret(actor=gwen, name="token", value=PLAIN)
    source = SENDS.replace("METHOD", "GET").replace("URL", "https://a.example").replace("BODY", "null")
    assert {finding["code"] for finding in save_draft(actor=gwen, source=source).findings} == {"unbound_secret"}
    put_secret(actor=gwen, name="token", origins=["https://a.example"])
    assert save_draft(actor=gwen, source=source).findings == []


def test_a_call_whose_secret_is_gone_is_not_made(committed_cast: Cast, outside: Outside) -> None:
    gwen = committed_cast.actor("gwen")
    put_secret(actor=gwen, name="token", value=PLAIN)
    source = SENDS.replace("METHOD", "POST").replace("URL", f"{outside.origin}/json").replace("BODY", "{a: 1}")
    activated(gwen, source)
    Secret.objects.all().delete()
    instance = started(committed_cast.actor("ada"), "sends")
    drain()
    instance.refresh_from_db()
    assert (instance.state["why"]["code"], outside.requests) == ("unreadable_secret", [])


# Elsewhere


def test_a_webhook_that_answers_with_its_secret_leaves_none_of_it(outside: Outside) -> None:
    secret = new_secret()
    url = f"{outside.origin}/mirror/500?{quote(secret)}"
    one = Try(uuid7(), uuid7(), 1, url, json.dumps({"s": secret}), (encrypt(secret),), None)
    answer = post(one)
    assert answer.status == 500
    assert leaks(answer.text + answer.error, secret.removeprefix("whsec_")) == []
