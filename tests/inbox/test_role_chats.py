"""Roles are told of new tasks in Slack and Teams, through the address guard, without facts."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.notifications import CHANNELS
from engine.errors import Refused
from engine.models import Notification, RoleChat, Task
from engine.services.notifications import sending
from engine.services.notifications.role_chats import set_role_chat
from engine.services.notifications.telling import News, tell_roles
from tests.cast import Cast
from tests.services.outside import Outside, outside_world
from tests.workflows import only_task, started
from workflowplatform.accounts.models import Role


@pytest.fixture
def outside(settings: Any) -> Generator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
        yield world


def told(cast: Cast, task: Task) -> Notification:
    role = Role.objects.get(tenant=cast.acme, name="finance")
    tell_roles([(News("offered", f"offered:{task.pk}", task.pk, task.instance_id), role.pk)], database_now())
    for message in sending.take_messages():
        if message.channel == "chat":
            sending.settle_message(message, CHANNELS["chat"](message))
    return Notification.objects.get(channel="chat")


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
