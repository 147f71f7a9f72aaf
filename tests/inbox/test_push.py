"""Push messages: encrypted for one browser as RFC 8291 says, sent to a real endpoint, read there with the browser's keys."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from engine.audit.chain import database_now
from engine.dispatch.notifications import CHANNELS
from engine.models import Notification, PushSubscription, Task
from engine.services.notifications import sending
from engine.services.notifications.notify import News, notify_people
from engine.services.notifications.preferences import change_preferences, own_preferences, reset_preferences
from engine.services.notifications.push import subscribe, unsubscribe
from engine.transports.web_push import CURVE, Target, encrypt, public_key, to_bytes, to_text
from tests.application import as_application
from tests.cast import Cast
from tests.hooks import page_name
from tests.inbox.conftest import SignIn
from tests.services.outside import Outside, outside_world
from tests.workflows import only_task, started
from workflowplatform.database.tenancy import acting_for


@dataclass
class Browser:
    """A browser's keys, and how it reads a message."""

    key: ec.EllipticCurvePrivateKey
    auth: bytes

    @property
    def point(self) -> bytes:
        form = serialization.PublicFormat.UncompressedPoint
        return self.key.public_key().public_bytes(serialization.Encoding.X962, form)

    def read(self, body: bytes) -> bytes:
        """Decrypt a message as RFC 8291, 3.4 describes it for the receiver."""
        salt, sender = body[:16], body[21 : 21 + body[20]]
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, sender)
        shared = self.key.exchange(ec.ECDH(), theirs)
        material = HKDF(SHA256(), 32, self.auth, b"WebPush: info\0" + self.point + sender).derive(shared)
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(material)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(material)
        text = AESGCM(key).decrypt(nonce, body[21 + body[20] :], None)
        assert text.endswith(b"\x02")
        return text[:-1]


@pytest.fixture
def outside(settings: Any, tmp_path: Any) -> Generator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
        settings.WORKFLOW_PUSH_KEY = str(tmp_path / "push_key")
        yield world


def a_browser(cast: Cast, endpoint: str) -> Browser:
    browser = Browser(ec.generate_private_key(CURVE), b"0123456789abcdef")
    keys = {"public_key": to_text(browser.point), "auth": to_text(browser.auth)}
    subscribe(actor=cast.actor("ada"), endpoint=endpoint, browser="Test", **keys)
    return browser


def a_task(cast: Cast) -> Task:
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


def pushed(cast: Cast, task: Task) -> Notification:
    """Mention Ada and send what is pushed for that."""
    news = News("mentioned", f"one:{task.pk}", task.pk, task.instance_id, "uri", "look here")
    notify_people([(news, cast.ada.pk)], database_now())
    for message in sending.take_messages():
        if message.channel == "push":
            sending.settle_message(message, CHANNELS["push"](message))
    return Notification.objects.get(channel="push", task=task)


def test_message_of_the_standard_is_encrypted_as_the_standard_shows() -> None:
    own = ec.derive_private_key(int.from_bytes(to_bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big"), CURVE)
    receiver = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    made = encrypt(
        Target("https://push.example.com", receiver, "BTBZMqHH6r4Tts7J_aSIgg"),
        b"When I grow up, I want to be a watermelon",
        salt=to_bytes("DGv6ra1nlYgDCS1FRnbzlw"),
        own=own,
    )
    assert to_text(made) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
        "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_browser_can_read_what_was_sent_to_its_endpoint(cast: Cast, review: str, outside: Outside) -> None:
    browser, task = a_browser(cast, f"{outside.origin}/json/one"), a_task(cast)
    assert pushed(cast, task).status == "sent"
    ((method, _path, headers, body),) = outside.requests
    told = json.loads(browser.read(body))
    assert (method, headers["content-encoding"], told["url"]) == ("POST", "aes128gcm", f"/inbox/tasks/{task.pk}/")
    assert "look here" in told["body"]
    assert b"look here" not in body


def test_message_is_signed_for_the_push_service_with_the_key_that_browsers_know(
    cast: Cast, review: str, outside: Outside
) -> None:
    a_browser(cast, f"{outside.origin}/json/one")
    pushed(cast, a_task(cast))
    given = outside.requests[0][2]["authorization"]
    token, _, key = given.removeprefix("vapid t=").partition(", k=")
    text, _, signature = token.rpartition(".")
    raw = to_bytes(signature)
    signed = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    ec.EllipticCurvePublicKey.from_encoded_point(CURVE, to_bytes(key)).verify(signed, text.encode(), ec.ECDSA(SHA256()))
    assert key == public_key()
    assert json.loads(to_bytes(text.split(".")[1]))["aud"] == outside.origin


def test_browser_that_is_gone_is_forgotten(cast: Cast, review: str, outside: Outside) -> None:
    a_browser(cast, f"{outside.origin}/status/410")
    assert pushed(cast, a_task(cast)).status == "dropped"
    assert not PushSubscription.objects.exists()


def test_endpoint_inside_the_network_is_refused(cast: Cast, review: str, outside: Outside, settings: Any) -> None:
    a_browser(cast, f"{outside.origin}/json/one")
    settings.WORKFLOW_HTTP_ALLOW = []
    assert pushed(cast, a_task(cast)).status == "failed"
    assert outside.requests == []


def test_subscribing_twice_is_once_and_ends_with_off(cast: Cast, browser: SignIn, outside: Outside) -> None:
    keys = Browser(ec.generate_private_key(CURVE), b"0123456789abcdef")
    fields = {"endpoint": "https://push.example.com/1", "public_key": to_text(keys.point), "auth": to_text(keys.auth)}
    client = browser("uri")
    assert [client.post("/inbox/notifications/push/", fields).status_code for _ in range(2)] == [204, 204]
    assert PushSubscription.objects.get().person_id == cast.uri.pk
    assert client.post("/inbox/notifications/push/", {**fields, "auth": "x"}).status_code == 400
    assert browser("ada").post("/inbox/notifications/push/off/", fields).status_code == 204
    assert PushSubscription.objects.exists(), "it is Uri's"
    client.post("/inbox/notifications/push/off/", fields)
    assert not PushSubscription.objects.exists()


def test_settings_page_saves_each_change_and_undoes_it(cast: Cast, browser: SignIn, outside: Outside) -> None:
    from engine.services.notifications.preferences import own_preferences

    client = browser("ada")
    assert page_name(client.get("/inbox/notifications/")) == "notifications"
    times = {"kinds": "1", "quiet_from": "18:00", "quiet_until": "07:00", "digest_at": "09:00", "quiet": "1"}
    answer = client.post("/inbox/notifications/", {**times, "mail_late": "off", "push": ["late"], "language": "de"})
    assert answer.status_code == 302
    wishes = own_preferences(cast.actor("ada"))
    assert (wishes.mail["late"], wishes.push, wishes.quiet, f"{wishes.digest_at:%H:%M}") == (
        "off",
        {"late"},
        True,
        "09:00",
    )
    undo = client.get("/inbox/notifications/").content.decode().split('method="post" action="/inbox/notifications/?')[1]
    client.post("/inbox/notifications/?" + undo.split('"')[0].replace("&amp;", "&"))
    wishes = own_preferences(cast.actor("ada"))
    assert (wishes.mail["late"], wishes.quiet) == ("once", False)
    assert client.post("/inbox/notifications/", {**times, "digest_at": "soon"}).status_code == 400
    client.post("/inbox/notifications/defaults/")
    assert own_preferences(cast.actor("ada")).mail["late"] == "once"


def test_level_six_keeps_own_settings_while_in_another_tenant(committed_cast: Cast) -> None:
    zoe = committed_cast.actor("zoe").within(committed_cast.acme)
    browser = Browser(ec.generate_private_key(CURVE), b"0123456789abcdef")
    keys = {"public_key": to_text(browser.point), "auth": to_text(browser.auth)}
    with as_application(), acting_for(committed_cast.acme.pk):
        usual = own_preferences(zoe).mail["offered"]
        assert change_preferences(actor=zoe, mail={"offered": "off"}).mail["offered"] == "off"
        reset_preferences(actor=zoe)
        assert own_preferences(zoe).mail["offered"] == usual
        subscribe(actor=zoe, endpoint="https://push.example/zoe", **keys)
        assert unsubscribe(actor=zoe, endpoint="https://push.example/zoe") == 1
