"""Webhooks over REST: what is shown, what never is, and the snippet of the guide."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from http.server import HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from engine.dispatch.webhooks import post
from engine.models import Audit, WebhookDelivery
from engine.services.webhooks.deliveries import DeliveryResult, settle, take_on
from engine.services.webhooks.subscriptions import create_webhook, ping_webhook
from engine.transports.webhook_signature import new_secret, signed_headers
from tests.api.conftest import Callers
from tests.cast import Cast

NEW = {
    "url": "https://hooks.example.com/in",
    "events": ["task.opened", "task.opened", "instance.failed"],
    "title": "Books",
}


def test_webhook_is_made_shown_changed_held_and_forgotten(call: Callers) -> None:
    gwen, ada = call("gwen"), call("ada")
    made = gwen.post("webhooks/", NEW)
    assert made.status_code == 201
    secret, path = made.json()["secret"], f"webhooks/{made.json()['id']}/"
    assert made.json()["events"] == ["task.opened", "instance.failed"]
    shown = ada.get(path).json()
    assert (shown["owner"], shown["status"], "secret" in shown) == ("gwen", "active", False)
    assert ada.get("webhooks/?status=active").json()["results"] == [shown]
    changed = gwen("PUT", path, {"events": ["task.claimed"], "templates": []}).json()
    assert (changed["events"], changed["url"]) == (["task.claimed"], NEW["url"])
    assert gwen.post(path + "pause/").json()["status"] == "paused"
    assert gwen.post(path + "pause/").json()["current_status"] == "paused"
    assert gwen.post(path + "ping/").json()["code"] == "status"
    assert gwen.post(path + "resume/").json()["status"] == "active"
    again = gwen.post(path + "rotate/", {"keep_for": "PT1H"}).json()
    assert again["secret"] != secret
    assert again["old_secret_until"] is not None
    assert gwen("DELETE", path).status_code == 204
    assert gwen.get(path).status_code == 404
    acts = Audit.objects.filter(subject_kind="tenant", action__contains="webhook").order_by("id")
    assert list(acts.values_list("action", flat=True)) == [
        "create_webhook", "change_webhook", "pause_webhook", "resume_webhook", "rotate_webhook_secret", "delete_webhook",
    ]  # fmt: skip
    assert "whsec_" not in str(list(acts.values_list("new", flat=True)))


def test_answer_with_a_secret_takes_no_key(call: Callers) -> None:
    gwen = call("gwen")
    path = f"webhooks/{gwen.post('webhooks/', NEW).json()['id']}/"
    for route, body in (("webhooks/", NEW), (path + "rotate/", {})):
        refused = gwen.post(route, body, key="once")
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (400, "Idempotency-Key")


def test_delivery_shows_each_try_and_is_replayed_once_a_key(
    call: Callers, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    gwen, ada = call("gwen"), call("ada")
    ada.get("tasks/")  # the first use of a token writes its act
    path = f"webhooks/{gwen.post('webhooks/', NEW).json()['id']}/"
    pings = [gwen.post(path + "ping/", key=f"ping-{n % 2}").json()["id"] for n in range(4)]
    assert len(set(pings)) == 2
    for one in take_on():
        settle(one, DeliveryResult(410 if str(one.delivery_id) == pings[0] else 200, "", "thanks\n" * 500))
    with django_assert_max_num_queries(6):
        shown = ada.get(f"deliveries/{pings[0]}/").json()
    assert (shown["status"], shown["attempts"], shown["event"]) == ("failed", 1, "webhook.ping")
    assert [(line["number"], line["status"], len(line["answer"])) for line in shown["log"]] == [(1, 410, 1024)]
    with django_assert_max_num_queries(6):
        listed = ada.get("deliveries/?status=failed").json()["results"]
    assert [one["id"] for one in listed] == [pings[0]]
    assert "body" not in listed[0]
    answers = [ada.post(path + "replay/", {}, key="again").json() for _ in range(2)]
    assert answers == [{"replayed": 1}] * 2
    assert WebhookDelivery.objects.get(pk=pings[0]).status == "pending"
    assert ada.post(f"deliveries/{pings[0]}/replay/").json()["current_status"] == "pending"
    assert ada.post(f"deliveries/{pings[1]}/replay/").status_code == 202


def snippets_of_the_guide() -> dict[str, Any]:
    guide = (Path(__file__).resolve().parent.parent.parent / "docs/rest.md").read_text()
    inside: dict[str, Any] = {"__name__": "guide"}
    for snippet in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(snippet, inside)
    return inside


def test_receiver_of_the_guide_is_told_and_knows_whose_it_is(
    cast: Cast, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    inside, gwen = snippets_of_the_guide(), cast.actor("gwen")
    with HTTPServer(("127.0.0.1", 0), inside["Receiver"]) as receiver:
        Thread(target=receiver.handle_request, daemon=True).start()
        settings.WORKFLOW_HTTP_ALLOW = [f"http://127.0.0.1:{receiver.server_port}"]
        url = settings.WORKFLOW_HTTP_ALLOW[0] + "/"
        webhook, inside["SECRET"] = create_webhook(actor=gwen, url=url, events=["instance.started"])
        ping = ping_webhook(actor=gwen, webhook_id=webhook.pk)
        (taken,) = take_on()
        assert settle(taken, post(taken))
    ping.refresh_from_db()
    assert (ping.status, ping.log.get().status) == ("delivered", 204)
    assert capsys.readouterr().out == f"{ping.pk} True {ping.body}\n"


def test_snippet_of_the_guide_knows_ours_from_others(cast: Cast) -> None:
    inside = snippets_of_the_guide()
    secret, old = new_secret(), new_secret()
    headers = signed_headers([secret, old], "id-1", int(time.time()), '{"a":"ü"}')
    body = '{"a":"ü"}'.encode()
    assert inside["is_ours"](secret, headers, body)
    assert inside["is_ours"](old, headers, body)
    assert not inside["is_ours"](new_secret(), headers, body)
    assert not inside["is_ours"](secret, headers, body + b" ")
    assert not inside["is_ours"](secret, headers | {"webhook-id": "id-2"}, body)
    assert not inside["is_ours"](secret, signed_headers([secret], "id-1", int(time.time()) - 600, '{"a":"ü"}'), body)
