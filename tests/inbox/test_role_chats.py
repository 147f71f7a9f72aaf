"""Roles are told of new tasks in Slack and Teams, through the address guard, without facts."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.notifications import CHANNELS
from engine.errors import Invalid, NotFound, Refused
from engine.models import Audit, Notification, RoleChat, Task
from engine.models.notification import CHATS
from engine.services.notifications import sending
from engine.services.notifications.notify import News, notify_roles
from engine.services.notifications.role_chats import set_role_chat, try_role_chat
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.services.outside import Outside, outside_world
from tests.workflows import only_task, started
from workflowplatform.accounts.models import Role


@pytest.fixture
def outside(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Generator[Outside]:
    monkeypatch.setattr(sending, "SETTLING", timedelta(0))
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
        yield world


def told(cast: Cast, task: Task) -> Notification:
    role = Role.objects.get(tenant=cast.acme, name="finance")
    notify_roles([(News("offered", f"offered:{task.pk}", task.pk, task.instance_id), role.pk)], database_now())
    send_to_chats()
    return Notification.objects.filter(task=task).latest("sent_at")


def send_to_chats() -> None:
    for message in sending.take_messages():
        if message.channel in CHATS:
            sending.settle_message(message, CHANNELS[message.channel](message))


@pytest.mark.parametrize("chat", ["slack", "teams"])
def test_role_is_told_with_a_link_and_without_facts(cast: Cast, review: str, outside: Outside, chat: str) -> None:
    set_role_chat(actor=cast.actor("gwen"), role="finance", chat=chat, address=f"{outside.origin}/json/hook")
    task = only_task(started(cast.actor("uri"), "review", what="lunch", amount=4711))
    assert told(cast, task).status == "sent"
    ((_method, path, _headers, body),) = outside.requests
    text = json.dumps(json.loads(body))
    assert path == "/json/hook"
    assert f"https://workflow.example.com/inbox/tasks/{task.pk}/" in text
    assert "4711" not in text
    assert outside.origin.encode() not in bytes(RoleChat.objects.get().address)


def test_chat_inside_the_network_is_refused_and_operators_can_see_it(
    cast: Cast, review: str, outside: Outside, settings: Any
) -> None:
    set_role_chat(actor=cast.actor("gwen"), role="finance", chat="slack", address=f"{outside.origin}/json/hook")
    settings.WORKFLOW_HTTP_ALLOW = []
    told(cast, only_task(started(cast.actor("uri"), "review", what="lunch", amount=1)))
    assert outside.requests == []
    assert RoleChat.objects.get().failure


def test_level_below_webhooks_cannot_set_a_chat(cast: Cast) -> None:
    with pytest.raises(Refused):
        set_role_chat(actor=cast.actor("uri"), role="finance", chat="slack", address="https://hooks.example.com/x")


def test_chat_that_fails_is_tried_again_and_the_other_is_not_told_twice(
    cast: Cast, review: str, outside: Outside
) -> None:
    gwen = cast.actor("gwen")
    set_role_chat(actor=gwen, role="finance", chat="slack", address=f"{outside.origin}/json/slack")
    set_role_chat(actor=gwen, role="finance", chat="teams", address=f"{outside.origin}/status/503")
    told(cast, only_task(started(cast.actor("uri"), "review", what="lunch", amount=1)))
    assert dict(Notification.objects.values_list("channel", "status")) == {"slack": "sent", "teams": "pending"}
    set_role_chat(actor=gwen, role="finance", chat="teams", address=f"{outside.origin}/json/teams")
    send_to_chats()
    assert [path for _method, path, _headers, _body in outside.requests] == [
        "/json/slack",
        "/status/503",
        "/json/teams",
    ]
    assert set(Notification.objects.values_list("status", flat=True)) == {"sent"}


def test_chat_is_written_in_its_language(cast: Cast, review: str, outside: Outside) -> None:
    given = {"role": "finance", "chat": "slack", "address": f"{outside.origin}/json/hook"}
    set_role_chat(actor=cast.actor("gwen"), language="de", **given)
    told(cast, only_task(started(cast.actor("uri"), "review", what="lunch", amount=1)))
    german = json.loads(outside.requests[0][3])["text"]
    set_role_chat(actor=cast.actor("gwen"), language="en", **given)
    told(cast, only_task(started(cast.actor("uri"), "review", what="dinner", amount=1)))
    assert german.splitlines()[0] != json.loads(outside.requests[1][3])["text"].splitlines()[0]
    with pytest.raises(Invalid):
        set_role_chat(actor=cast.actor("gwen"), language="xx", **given)


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1/x", "https://localhost/x", "ftp://example.com/x", "example", "https:///x"]
)
def test_address_that_the_guard_would_refuse_is_refused_at_once(cast: Cast, address: str) -> None:
    with pytest.raises(Invalid):
        set_role_chat(actor=cast.actor("gwen"), role="finance", chat="slack", address=address)
    assert not RoleChat.objects.exists()


def test_god_sets_tests_and_deletes_a_chat_in_the_admin_and_nobody_reads_its_address(
    cast: Cast, review: str, outside: Outside, browser: SignIn
) -> None:
    gwen = browser("gwen")
    fields = {"role": "finance", "chat": "slack", "address": f"{outside.origin}/json/s3cr3t", "language": "de"}
    assert gwen.post("/admin/engine/rolechat/add/", fields).status_code == 302
    chat = RoleChat.objects.get()
    page = f"/admin/engine/rolechat/{chat.pk}/change/"
    assert gwen.post(f"/admin/engine/rolechat/{chat.pk}/test/").status_code == 302
    send_to_chats()
    assert [path for _method, path, _headers, _body in outside.requests] == ["/json/s3cr3t"]
    for address in (
        page,
        "/admin/engine/rolechat/",
        f"/admin/engine/rolechat/{chat.pk}/history/",
        "/admin/engine/notification/",
    ):
        shown = gwen.get(address)
        assert shown.status_code == 200
        assert "s3cr3t" not in shown.content.decode()
    assert not Audit.objects.filter(new__icontains="s3cr3t").exists()
    refused = gwen.post(page, {"address": "http://127.0.0.1/x", "language": ""})
    assert refused.status_code == 200
    assert "127.0.0.1" in refused.content.decode()
    assert browser("ada").get(page).status_code == 200, "level 4 sees where roles are told"
    assert browser("ada").post(f"/admin/engine/rolechat/{chat.pk}/stop/").status_code == 302
    assert RoleChat.objects.exists(), "and cannot change it"
    assert browser("sam").get(page).status_code == 404
    assert browser("uri").get(page).status_code in (302, 403, 404)
    assert gwen.post(f"/admin/engine/rolechat/{chat.pk}/stop/").status_code == 302
    assert not RoleChat.objects.exists()


def test_chat_of_another_tenant_is_nobodys(cast: Cast, outside: Outside) -> None:
    chat = set_role_chat(actor=cast.actor("gwen"), role="finance", chat="slack", address=f"{outside.origin}/json/hook")
    assert chat is not None
    with pytest.raises(NotFound):
        try_role_chat(actor=cast.actor("sam"), chat_id=chat.pk)
