"""How people come in: back-off by address and name, resets, forwarded addresses, demo people, and what the audit keeps."""

import re
import statistics
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any, ClassVar

import pytest
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from engine.models import Audit
from engine.services.audit.verification import verify_audit
from engine.services.people import accounts as people
from engine.services.people.tokens import create_token
from tests.cast import Cast
from tests.hooks import notices
from workflowplatform.accounts import mails, sign_in_throttle
from workflowplatform.accounts.models import SignInTally, Token, User

OLD, NEW = "a-Long-enough-1", "another-Long-2"
UNSENT = "workflowplatform.accounts.mails.UnsentBackend"


def with_password(person: User, password: str = OLD) -> User:
    person.set_password(password)
    person.save(update_fields=["password"])
    return person


def sign_in(name: str, password: str, client: Client | None = None, **meta: str) -> HttpResponse:
    given = {"REMOTE_ADDR": "203.0.113.9", **meta}
    return (client or Client()).post("/accounts/login/", {"username": name, "password": password}, **given)  # type: ignore[arg-type]


def acts(person: User) -> list[str]:
    return list(Audit.objects.filter(subject_id=person.pk).order_by("seq").values_list("action", flat=True))[1:]


def is_in(answer: HttpResponse) -> bool:
    return answer.status_code == 302


# What the audit keeps


@pytest.mark.security("coming and going is audited")
def test_coming_and_going_are_acts_in_the_persons_chain(cast: Cast, settings: Settings) -> None:
    settings.AXES_FAILURE_LIMIT = 2
    ada, client = with_password(cast.ada), Client()
    assert not is_in(sign_in("ada", "wrong"))
    assert is_in(sign_in("Ada", OLD, client))
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    client.post("/accounts/password/", fields, REMOTE_ADDR="203.0.113.9")
    client.post("/accounts/logout/", REMOTE_ADDR="203.0.113.9")
    for _ in range(4):
        sign_in("ada", "wrong")
    found = ["fail_sign_in", "sign_in", "change_password", "sign_out", "fail_sign_in", "lock_sign_in"]
    assert acts(ada) == found
    rows = {row.action: row for row in Audit.objects.filter(subject_id=ada.pk)}
    assert rows["sign_in"].new == {"address": "203.0.113.9"}
    assert (rows["sign_in"].actor_name, rows["fail_sign_in"].actor_name) == ("ada", "")
    assert OLD not in str(list(Audit.objects.values()))
    assert verify_audit(actor=cast.actor("gwen")).broken == ()


def test_reset_is_audited_when_asked_and_when_done(cast: Cast) -> None:
    ada, client = with_password(cast.ada), Client()
    client.post("/accounts/reset/", {"email": ada.email})
    link = re.search(r"http://testserver(\S+)", str(mail.outbox[0].body))
    assert link
    place = client.get(link[1], follow=True).redirect_chain[-1][0]
    client.post(place, {"new_password1": NEW, "new_password2": NEW})
    assert acts(ada) == ["ask_reset", "reset_password"]


def test_failed_sign_in_of_nobody_leaves_no_row(cast: Cast) -> None:
    before = Audit.objects.count()
    sign_in("nobody", "wrong")
    assert Audit.objects.count() == before


# Back-off


@pytest.mark.security("guessing is slow and tells nothing")
def test_address_that_fails_too_often_waits_longer_each_time(cast: Cast) -> None:
    with_password(cast.ada)
    free = sign_in_throttle.LIMITS["address"].free
    answers = [sign_in(f"nobody{number}", "x").status_code for number in range(free + 8)]
    assert answers[:free] == [200] * free
    assert 429 in answers[free:]
    key = sign_in_throttle.key_of("address", "203.0.113.9")
    SignInTally.objects.filter(key=key).update(until=timezone.now() + timedelta(seconds=60), failures=free + 1)
    refused = sign_in("ada", OLD)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) >= 1
    assert is_in(sign_in("ada", OLD, REMOTE_ADDR="203.0.113.10"))
    waits = []
    for _ in range(3):
        SignInTally.objects.filter(key=key).update(until=timezone.now())
        sign_in("nobody", "x")
        tally = SignInTally.objects.get(key=key)
        waits.append(round((tally.until - tally.at).total_seconds()))  # type: ignore[operator]
    assert waits[1] == 2 * waits[0]
    assert waits[2] == 2 * waits[1]


@pytest.mark.security("guessing is slow and tells nothing")
def test_name_that_is_guessed_from_everywhere_waits_but_its_known_place_comes_in(cast: Cast) -> None:
    with_password(cast.ada)
    assert is_in(sign_in("ada", OLD, REMOTE_ADDR="198.51.100.1"))
    free = sign_in_throttle.LIMITS["name"].free
    for number in range(free + 1):
        sign_in("ada", "wrong", REMOTE_ADDR=f"203.0.113.{number}")
    SignInTally.objects.filter(until__isnull=False).update(until=timezone.now() + timedelta(seconds=60))
    assert sign_in("ada", OLD, REMOTE_ADDR="203.0.113.200").status_code == 429
    assert is_in(sign_in("ada", OLD, REMOTE_ADDR="198.51.100.1"))


@pytest.mark.security("guessing is slow and tells nothing")
def test_unknown_names_are_slowed_down_and_answered_like_known_ones(cast: Cast, settings: Settings) -> None:
    with_password(cast.ada)
    without = re.compile(r"nobody|ada|csrfmiddlewaretoken\S+ value=\S+|\d+ sec\w+")

    def answers(name: str, network: str) -> list[tuple[int, str]]:
        found = [sign_in(name, "wrong", REMOTE_ADDR=f"{network}.{number}") for number in range(14)]
        return [(answer.status_code, without.sub("", answer.content.decode())) for answer in found]

    unknown, known = answers("nobody", "203.0.113"), answers("ada", "198.51.100")
    assert unknown == known
    assert {status for status, _ in known} == {200, 429}


def test_twins_share_one_turn(cast: Cast) -> None:
    """Guesses sent side by side do not all pass before the first is counted."""
    key = sign_in_throttle.key_of("name", "ada")
    free = sign_in_throttle.LIMITS["name"].free
    SignInTally.objects.create(key=key, failures=free, at=timezone.now())
    assert sign_in_throttle.take_turn("name", "ada") == 0
    assert sign_in_throttle.take_turn("name", "ada") > 0


def test_addresses_of_one_ipv6_network_count_as_one(cast: Cast) -> None:
    assert sign_in_throttle.key_of("address", "2001:db8::1") == sign_in_throttle.key_of("address", "2001:db8::ffff")
    assert sign_in_throttle.key_of("address", "2001:db8::1") != sign_in_throttle.key_of("address", "2001:db8:0:1::1")


def test_success_gives_the_turn_back_and_failures_are_forgotten(cast: Cast) -> None:
    with_password(cast.ada)
    for _ in range(sign_in_throttle.LIMITS["address"].free + 5):
        assert is_in(sign_in("ada", OLD))
    tally = SignInTally.objects.get(key=sign_in_throttle.key_of("address", "203.0.113.9"))
    assert (tally.failures, tally.until) == (0, None)
    SignInTally.objects.filter(pk=tally.pk).update(failures=99, at=timezone.now() - timedelta(days=2))
    assert sign_in("nobody", "x").status_code == 200
    assert SignInTally.objects.get(pk=tally.pk).failures == 1


# Resets


@pytest.mark.security("guessing is slow and tells nothing")
def test_resets_are_throttled(cast: Cast) -> None:
    with_password(cast.ada)
    for number in range(12):
        answer = Client().post("/accounts/reset/", {"email": cast.ada.email}, REMOTE_ADDR=f"203.0.113.{number}")
        assert answer["Location"] == "/accounts/reset/sent/"
    assert len(mail.outbox) <= sign_in_throttle.LIMITS["reset_mail"].free + 1
    answers = [
        Client().post("/accounts/reset/", {"email": f"x{n}@x.example"}, REMOTE_ADDR="198.51.100.4") for n in range(12)
    ]
    assert answers[-1].status_code == 429


class HeldBackend(BaseEmailBackend):
    """A mail server that takes a mail only once the page was answered."""

    answered = Event()
    sent_behind_it: ClassVar[list[bool]] = []

    def send_messages(self, email_messages: Any) -> int:
        self.sent_behind_it.append(self.answered.wait(10))
        return len(email_messages)


@pytest.mark.security("guessing is slow and tells nothing")
def test_reset_takes_as_long_whether_or_not_the_address_is_known(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    with_password(cast.ada)
    settings.EMAIL_BACKEND = f"{__name__}.HeldBackend"
    monkeypatch.setattr(mails, "at_once", False)
    HeldBackend.sent_behind_it.clear()

    def seconds(email: str) -> float:
        HeldBackend.answered.clear()
        began = time.monotonic()
        Client().post("/accounts/reset/", {"email": email}, REMOTE_ADDR=f"203.0.113.{len(spent)}")
        taken = time.monotonic() - began
        HeldBackend.answered.set()
        for sending in (one for one in threading.enumerate() if one.name == "account mail"):
            sending.join()
        return taken

    spent: list[float] = []
    for email in (cast.ada.email, "nobody@acme.example") * 3:
        spent.append(seconds(email))
    known, unknown = statistics.median(spent[::2]), statistics.median(spent[1::2])
    record_property("figure", f"reset: known {known * 1000:.0f} ms, unknown {unknown * 1000:.0f} ms, sent behind it")
    assert HeldBackend.sent_behind_it == [True] * 3


@pytest.mark.security("reset links are never logged")
def test_without_a_mail_server_no_link_is_logged_and_the_page_says_what_to_do(
    cast: Cast, settings: Settings, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with_password(cast.ada)
    settings.EMAIL_BACKEND = UNSENT
    page = Client().get("/accounts/reset/").content.decode()
    assert notices(page) == ["no_mail"]
    assert "<form" not in page
    assert Client().post("/accounts/reset/", {"email": cast.ada.email}).status_code == 200
    mails.send_reset(cast.ada, base_url="http://testserver")
    written = caplog.text + "".join(capfd.readouterr())
    assert "mail not sent" in written
    assert "/accounts/reset/" not in written
    assert cast.ada.email not in written
    with pytest.raises(people.Refused) as refusal:
        people.invite_person(actor=cast.actor("gwen"), person=cast.uri, base_url="http://testserver")
    assert refusal.value.code == "no_mail"


def test_settings_without_a_mail_server_choose_the_backend_that_keeps_silent() -> None:
    from pathlib import Path

    text = Path("workflowplatform/settings.py").read_text()
    assert "console.EmailBackend" not in text
    assert UNSENT in text


# Tokens


@pytest.mark.security("tokens have an end")
@pytest.mark.parametrize("wished", [True, False])
def test_tokens_end_with_a_new_password_on_wish(cast: Cast, wished: bool) -> None:
    ada = with_password(cast.ada)
    create_token(actor=None, person=ada, name="ci")
    client = Client()
    client.force_login(ada)
    assert "end_tokens" in client.get("/accounts/password/").content.decode()
    fields = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW} | (
        {"end_tokens": "on"} if wished else {}
    )
    assert client.post("/accounts/password/", fields).status_code == 302
    assert Token.objects.filter(user=ada).exists() is not wished
    assert ("revoke_token" in acts(ada)) is wished


@pytest.mark.security("tokens have an end")
def test_tokens_are_limited_in_number_and_age(cast: Cast, settings: Settings) -> None:
    uri = cast.actor("uri")
    token, _ = create_token(actor=uri, person=cast.uri)
    assert token.expiry is not None
    assert timedelta(days=89) < token.expiry - timezone.now() <= timedelta(days=90)
    with pytest.raises(people.Invalid) as too_long:
        create_token(actor=uri, person=cast.uri, expires_in=timedelta(days=366))
    assert (too_long.value.first_code, "365" in too_long.value.message) == ("too_long", True)
    settings.WORKFLOW_TOKENS_PER_PERSON = 2
    create_token(actor=uri, person=cast.uri, expires_in=timedelta(days=365))
    with pytest.raises(people.Conflict) as too_many:
        create_token(actor=uri, person=cast.uri)
    assert (too_many.value.code, too_many.value.facts["limit"]) == ("limit", 2)
    Token.objects.filter(user=cast.uri).update(expiry=timezone.now() - timedelta(seconds=1))
    create_token(actor=uri, person=cast.uri)


# Demo people


@pytest.mark.security("demo passwords open nothing outside")
@pytest.mark.parametrize(
    ("meta", "comes_in"),
    [
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}, True),
        ({"REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]:8000"}, True),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_HOST": "127.0.0.1:8000"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost", "HTTP_VIA": "1.1 proxy"}, False),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "workflow.example.com"}, False),
        ({"REMOTE_ADDR": "", "HTTP_HOST": "localhost"}, False),
    ],
)
def test_demo_password_opens_on_this_machine_only(
    cast: Cast, settings: Settings, meta: dict[str, str], comes_in: bool
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    with_password(cast.ada, "demo-ada")
    assert is_in(sign_in("ada", "demo-ada", **meta)) is comes_in
    with_password(cast.adam)
    assert is_in(sign_in("adam", OLD, **meta))


# Forwarded addresses


@pytest.mark.security("callers cannot forge where they come from")
@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "client"),
    [
        ([], "10.0.0.1", "203.0.113.1", "10.0.0.1"),
        (["10.0.0.0/24"], "10.0.0.1", "203.0.113.1", "203.0.113.1"),
        (["10.0.0.0/24"], "10.0.0.1", "198.51.100.66, 203.0.113.1", "203.0.113.1"),
        (["10.0.0.0/24"], "10.0.0.1", "198.51.100.66, 203.0.113.1, 10.0.0.2", "203.0.113.1"),
        (["10.0.0.0/24"], "10.0.0.1", "10.0.0.5", "10.0.0.5"),
        (["10.0.0.0/24"], "10.0.1.1", "203.0.113.1", "10.0.1.1"),
        (["10.0.0.0/24"], "10.0.0.1", "", "10.0.0.1"),
        (["10.0.0.0/24"], "10.0.0.1", "203.0.113.1, nonsense", "10.0.0.1"),
        (["10.0.0.0/24"], "10.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"),
        (["10.0.0.0/24"], "::ffff:10.0.0.1", "203.0.113.1:4711", "203.0.113.1"),
        (["unix"], "", "203.0.113.1", "203.0.113.1"),
        (["10.0.0.0/24"], "", "203.0.113.1", ""),
    ],
)
def test_forwarded_address_is_believed_from_the_right_through_our_proxies(
    cast: Cast, settings: Settings, proxies: list[str], peer: str, forwarded: str, client: str
) -> None:
    settings.WORKFLOW_PROXIES = proxies
    with_password(cast.ada)
    sign_in("ada", OLD, REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    row = Audit.objects.get(subject_id=cast.ada.pk, action="sign_in")
    assert (row.new or {}).get("address", "") == client


def test_forwarded_scheme_is_believed_of_our_proxies_only(cast: Cast, settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER, settings.SECURE_SSL_REDIRECT = ("HTTP_X_FORWARDED_PROTO", "https"), True
    settings.WORKFLOW_PROXIES = ["10.0.0.0/24"]
    for peer, status in (("10.0.0.1", 200), ("203.0.113.1", 301)):
        answer = Client().get("/accounts/login/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_PROTO="https")
        assert answer.status_code == status


# Nothing is kept by caches


@pytest.mark.security("answers carry safe headers and are kept by nobody")
@pytest.mark.parametrize(
    "path",
    ["/inbox/", "/inbox/start/", "/accounts/login/", "/accounts/settings/", "/admin/", "/admin/accounts/user/"]
    + [f"/api/v1/{route}/" for route in ("tasks", "instances", "people/ada", "people", "health", "nothing-here")],
)
def test_answers_are_not_to_be_stored(cast: Cast, path: str) -> None:
    client = Client()
    client.force_login(cast.ada)
    for caller in (client, Client()):
        assert "no-store" in caller.get(path).get("Cache-Control", ""), path


def test_static_files_may_be_stored(db: None, client: Client) -> None:
    answer = client.get("/static/css/layout.css")
    assert answer.status_code == 200
    assert "no-store" not in answer.get("Cache-Control", "")
    answer.close()
