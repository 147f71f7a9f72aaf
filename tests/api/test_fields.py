"""Bodies of the newer routes, field by field: what is refused is named, and never a 5xx."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Callers
from tests.api.scene import Scene, set_whole_scene
from tests.cast import Cast

LONG = "x" * 201
SIGNAL, KEYED, EVENT = "instances/{instance}/signals/", "signals/", "events/"
RETRY, SKIP, SUSPEND = "instances/{instance}/retry/", "instances/{instance}/skip/", "instances/{instance}/suspend/"
SIMULATE = "templates/approval/versions/1/simulate/"
KEY, ORDER = {"name": "paid", "key": "A7"}, {"name": "order", "id": "e-1"}
DAILY = {"template": "approval", "cron": "0 9 * * *", "input": {"amount": 3}}
ONCE = {"template": "approval", "input": {"amount": 3}}

REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    (SIGNAL, {}, "name"),
    (SIGNAL, {"name": ""}, "name"),
    (SIGNAL, {"name": LONG}, "name"),
    (SIGNAL, {"name": 1}, "name"),
    (SIGNAL, {"name": "go", "id": 7}, "id"),
    (SIGNAL, {"name": "go", "id": LONG}, "id"),
    (SIGNAL, {"name": "go", "signal_id": "x"}, "signal_id"),
    (SUSPEND, {"reason": 5}, "reason"),
    (SUSPEND, {"reason": "x" * 1001}, "reason"),
    (RETRY, {"input": []}, "input"),
    (RETRY, {"version": 2}, "version"),
    (RETRY, {"step": 1}, "step"),
    (RETRY, {"step": LONG}, "step"),
    (SKIP, {"reason": "x", "step": []}, "step"),
    (SKIP, {"reason": "x", "outputs": 1}, "outputs"),
    (KEYED, {"name": "paid"}, "key"),
    (KEYED, {**KEY, "key": ""}, "key"),
    (KEYED, {**KEY, "key": LONG}, "key"),
    (KEYED, {**KEY, "id": LONG}, "id"),
    (KEYED, {**KEY, "ttl": "tomorrow"}, "ttl"),
    (KEYED, {**KEY, "ttl": "P999Y"}, "ttl"),
    (KEYED, {**KEY, "ttl": "P" + "9" * 30 + "D"}, "ttl"),
    (KEYED, {**KEY, "ttl": 5}, "ttl"),
    (KEYED, {**KEY, "all": "yes"}, "all"),
    (KEYED, {**KEY, "everybody": True}, "everybody"),
    (EVENT, {"name": "order"}, "id"),
    (EVENT, {**ORDER, "id": ""}, "id"),
    (EVENT, {**ORDER, "id": LONG}, "id"),
    (EVENT, {**ORDER, "name": LONG}, "name"),
    (EVENT, {**ORDER, "key": LONG}, "key"),
    (EVENT, {**ORDER, "ttl": "P1D"}, "ttl"),
    ("schedules/", {"cron": "0 9 * * *"}, "template"),
    ("schedules/", ONCE, "cron"),
    ("schedules/", {**DAILY, "once_at": "2030-01-07T09:00:00Z"}, "cron"),
    ("schedules/", {**DAILY, "cron": "every day"}, "cron"),
    ("schedules/", {**DAILY, "cron": "0 0 31 2 *"}, "cron"),
    ("schedules/", {**DAILY, "cron": LONG}, "cron"),
    ("schedules/", {**DAILY, "timezone": "Mars/Olympus"}, "timezone"),
    ("schedules/", {**DAILY, "timezone": 1}, "timezone"),
    ("schedules/", {**DAILY, "calendar": "nowhere"}, "calendar"),
    ("schedules/", {**DAILY, "overlap": "perhaps"}, "overlap"),
    ("schedules/", {**DAILY, "overlap": []}, "overlap"),
    ("schedules/", {**DAILY, "catch_up": None}, "catch_up"),
    ("schedules/", {**DAILY, "dst": True}, "dst"),
    ("schedules/", {**DAILY, "window": "soon"}, "window"),
    ("schedules/", {**DAILY, "window": "P999Y"}, "window"),
    ("schedules/", {**DAILY, "input": []}, "input"),
    ("schedules/", {**DAILY, "input": {}}, "input.amount"),
    ("schedules/", {**DAILY, "owner": "gwen"}, "owner"),
    ("schedules/", {**DAILY, "time_zone": "UTC"}, "time_zone"),
    ("schedules/", {**ONCE, "once_at": "tomorrow"}, "once_at"),
    ("schedules/", {**ONCE, "once_at": "2030-01-07T09:00:00"}, "once_at"),
    ("schedules/", {**ONCE, "once_at": "9999-12-31T23:59:59-12:00"}, "once_at"),
    ("schedules/", {**ONCE, "once_at": 1893456000}, "once_at"),
    (SIMULATE, {"begin": {}}, "begin"),
    (SIMULATE, {"as": 5}, "as"),
    (SIMULATE, {"people": []}, "people"),
    (SIMULATE, {"do": {}}, "do"),
    (SIMULATE, {"do": ["x"]}, "do.0"),
    (SIMULATE, {"do": [{"advance": "P1D"}] * 201}, "do"),
    (SIMULATE, {"do": [{"advance": "P1D", "again": 10**9}]}, "do"),
    (SIMULATE, {"do": [{"advance": "P1D", "again": "often"}]}, "do.0.again"),
    (SIMULATE, {"expect": []}, "expect"),
    ("dead-letters/{other}/discard/", {"reason": 5}, "reason"),
    ("dead-letters/{letter}/replay/", {"reason": "x"}, "reason"),
    ("secrets/api_key/", {}, "value"),
    ("secrets/api_key/", {"value": ""}, "value"),
    ("secrets/api_key/", {"value": 1}, "value"),
    ("secrets/api_key/", {"value": "x" * 10_001}, "value"),
    ("secrets/api_key/", {"value": "short"}, "value"),
    ("secrets/api_key/", {"value": "a-long-value", "origins": ["ftp://x"]}, "origins"),
    ("secrets/Api-Key/", {"value": "a-long-value"}, "name"),
    ("calendars/office/", {"hours": {"someday": []}}, "hours.someday"),
    ("calendars/office/", {"hours": 5}, "hours"),
    ("calendars/office/", {"hours": {"mon": ["09:00-17:00"]}, "timezone": 5}, "timezone"),
    ("calendars/office/", {"hours": {"mon": ["09:00-17:00"]}, "title": LONG}, "title"),
    ("calendars/office/", {"hours": {"mon": ["09:00-17:00"]}, "open": True}, "open"),
    ("calendars/Office/", {"hours": {"mon": ["09:00-17:00"]}}, "name"),
)


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


def test_field_that_does_not_fit_is_named(call: Callers, scene: Scene) -> None:
    got = []
    for path, body, field in REFUSED:
        method = "PUT" if path.startswith(("secrets", "calendars")) else "POST"
        answer = call("gwen")(method, scene.address(path), body)
        problem = answer.json()
        paths = [error["path"] for error in problem.get("errors", ())]
        if (answer.status_code, problem.get("code"), paths) != (400, "invalid", [field]):
            got.append((path, body, field, answer.status_code, paths))
    assert got == []


def test_wrong_status_is_named(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    asks = {RETRY: {}, SKIP: {"reason": "by phone"}, "instances/{instance}/resume/": {}}
    for path, body in asks.items():
        answer = gwen.post(scene.address(path), body)
        assert (answer.status_code, answer.json()["code"], answer.json()["current_status"]) == (
            409,
            "status",
            "running",
        )
    gwen("DELETE", scene.address("schedules/{schedule}/"))
    for method, act in (("POST", "pause/"), ("POST", "resume/"), ("DELETE", "")):
        answer = gwen(method, scene.address("schedules/{schedule}/") + act, {})
        assert (answer.status_code, answer.json()["current_status"]) == (409, "cancelled")


TWICE: tuple[tuple[str, dict[str, Any]], ...] = (
    (SIGNAL, {"name": "go"}),
    (SUSPEND, {"reason": "holiday"}),
    ("instances/{instance}/resume/", {}),
    (KEYED, {**KEY, "ttl": "P1D"}),
    (EVENT, ORDER),
    ("schedules/", DAILY),
    ("schedules/{schedule}/pause/", {}),
    ("schedules/{schedule}/resume/", {}),
    ("dead-letters/{letter}/replay/", {}),
    ("dead-letters/{other}/discard/", {"reason": "old"}),
    (SIMULATE, {"start": {"amount": 5}}),
)


def test_act_sent_twice_under_one_key_is_done_once(call: Callers, scene: Scene) -> None:
    """Without the key the second one would meet the wrong status, nothing, or make another row."""
    for path, body in TWICE:
        first, second = (call("gwen").post(scene.address(path), body, key=f"k-{path}") for _ in range(2))
        assert first.status_code in {200, 201}, (path, first.content)
        assert (second.status_code, second.content) == (first.status_code, first.content), path
        assert second["Idempotent-Replayed"] == "true"
        other = call("gwen").post(scene.address(path), {**body, "name": "another"}, key=f"k-{path}")
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused"), path
    assert len(call("gwen").get("schedules/").json()["results"]) == 2
