"""A caller that asks too often is told when to retry; a Valkey that is away stops nobody."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from engine.api import throttles
from engine.models import Instance
from tests.api.conftest import Callers
from tests.api.scene import set_scene
from tests.cast import Cast
from workflowplatform.circuit_breaker import CircuitBreaker


@pytest.fixture(autouse=True)
def one_window(monkeypatch: pytest.MonkeyPatch, valkey: redis.Redis) -> None:
    """Let the minute last: a busy machine must not begin the next one in the middle of a test."""
    monkeypatch.setattr(throttles, "WINDOW_SECONDS", 10**9)
    monkeypatch.setattr(throttles.PerMinute, "_breaker", CircuitBreaker())


def test_token_that_asks_too_often_is_refused_and_changes_nothing(call: Callers, cast: Cast, settings: Any) -> None:
    set_scene(cast)
    settings.WORKFLOW_TOKEN_REQUESTS = 3
    ada = call("ada")
    assert [ada.get("tasks/").status_code for _ in range(3)] == [200] * 3
    before = Instance.objects.count()
    refused = ada.post("instances/", {"template": "approval", "input": {"amount": 1}})
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert refused["Content-Type"] == "application/problem+json"
    assert int(refused["Retry-After"]) > 0
    assert Instance.objects.count() == before
    assert call("adam").get("tasks/").status_code == 200


def test_tenant_is_counted_over_all_its_tokens(call: Callers, settings: Any) -> None:
    settings.WORKFLOW_TENANT_REQUESTS = 2
    assert [call(who).get("tasks/").status_code for who in ("ada", "adam", "uri")] == [200, 200, 429]
    assert call("sam").get("tasks/").status_code == 200


def test_limits_let_everybody_pass_while_valkey_is_away(
    call: Callers, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WORKFLOW_TOKEN_REQUESTS = 1
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    ada = call("ada")
    assert [ada.get("tasks/").status_code for _ in range(3)] == [200] * 3
    assert not throttles.PerMinute._breaker.is_closed


def test_keys_in_valkey_end_by_themselves_and_name_no_token(call: Callers, settings: Any, valkey: redis.Redis) -> None:
    settings.WORKFLOW_TOKEN_REQUESTS = 5
    ada = call("ada")
    ada.get("tasks/")
    (key,) = valkey.keys("*wf:asked:token:*")
    assert valkey.ttl(key) > 0
    assert ada.token
    assert ada.token[:8] not in key.decode()
