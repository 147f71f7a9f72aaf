"""Every route refuses: callers without a token, other tenants, low levels, wrong methods and bad bodies."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import URLPattern, URLResolver

from engine.api import urls
from engine.services.people.accounts import create_person
from tests.api.conftest import Caller, Callers
from tests.api.scene import Scene, set_whole_scene
from tests.cast import Cast

ROUTES: tuple[tuple[str, str], ...] = (
    ("GET", "templates/"),
    ("POST", "templates/"),
    ("POST", "templates/validate/"),
    ("POST", "templates/activate/"),
    ("GET", "templates/approval/"),
    ("GET", "templates/idea/versions/1/"),
    ("PUT", "templates/idea/versions/1/"),
    ("DELETE", "templates/idea/versions/1/"),
    ("POST", "templates/idea/versions/1/activate/"),
    ("POST", "templates/approval/versions/1/pause/"),
    ("POST", "templates/approval/versions/1/resume/"),
    ("POST", "templates/approval/versions/1/archive/"),
    ("GET", "templates/approval/versions/1/export/"),
    ("GET", "templates/approval/versions/1/diff/"),
    ("GET", "templates/approval/versions/1/diagram.svg"),
    ("GET", "instances/{instance}/diagram.svg"),
    ("GET", "instances/"),
    ("POST", "instances/"),
    ("GET", "instances/{instance}/"),
    ("GET", "instances/{instance}/history/"),
    ("GET", "instances/{instance}/steps/"),
    ("POST", "instances/{instance}/cancel/"),
    ("GET", "tasks/"),
    ("GET", "tasks/{task}/"),
    ("POST", "tasks/{task}/claim/"),
    ("POST", "tasks/{task}/release/"),
    ("POST", "tasks/{task}/complete/"),
    ("GET", "tasks/{task}/why/"),
    ("POST", "tasks/{task}/assign/"),
    ("GET", "tasks/{task}/draft/"),
    ("POST", "tasks/{task}/draft/"),
    ("DELETE", "tasks/{task}/draft/"),
    ("GET", "tasks/{task}/attachments/"),
    ("POST", "tasks/{task}/attachments/"),
    ("GET", "tasks/{task}/attachments/{other}/"),
    ("DELETE", "tasks/{task}/attachments/{other}/"),
    ("POST", "tasks/{task}/tick/"),
    ("GET", "tasks/{task}/comment/"),
    ("POST", "tasks/{task}/comment/"),
    ("POST", "tasks/{task}/suspend/"),
    ("POST", "tasks/{task}/resume/"),
    ("POST", "tasks/{task}/reopen/"),
    ("POST", "tasks/{task}/snooze/"),
    ("POST", "tasks/{task}/skip/"),
    ("POST", "tasks/next/"),
    ("POST", "tasks/bulk/"),
    ("POST", "templates/approval/versions/1/simulate/"),
    ("POST", "instances/{instance}/signals/"),
    ("POST", "instances/{instance}/suspend/"),
    ("POST", "instances/{instance}/resume/"),
    ("POST", "instances/{instance}/retry/"),
    ("POST", "instances/{instance}/skip/"),
    ("POST", "signals/"),
    ("POST", "events/"),
    ("GET", "schedules/"),
    ("POST", "schedules/"),
    ("GET", "schedules/{schedule}/"),
    ("GET", "schedules/{schedule}/preview/"),
    ("POST", "schedules/{schedule}/pause/"),
    ("POST", "schedules/{schedule}/resume/"),
    ("DELETE", "schedules/{schedule}/"),
    ("GET", "dead-letters/"),
    ("POST", "dead-letters/{letter}/replay/"),
    ("POST", "dead-letters/{other}/discard/"),
    ("GET", "webhooks/"),
    ("POST", "webhooks/"),
    ("GET", "webhooks/{webhook}/"),
    ("PUT", "webhooks/{webhook}/"),
    ("POST", "webhooks/{webhook}/ping/"),
    ("POST", "webhooks/{webhook}/rotate/"),
    ("POST", "webhooks/{webhook}/replay/"),
    ("GET", "deliveries/"),
    ("GET", "deliveries/{delivery}/"),
    ("POST", "deliveries/{delivery}/replay/"),
    ("POST", "webhooks/{webhook}/pause/"),
    ("POST", "webhooks/{webhook}/resume/"),
    ("DELETE", "webhooks/{webhook}/"),
    ("GET", "audit/"),
    ("GET", "audit/export/"),
    ("GET", "audit/verify/"),
    ("GET", "retention/"),
    ("POST", "retention/"),
    ("GET", "secrets/"),
    ("GET", "secrets/api_key/"),
    ("PUT", "secrets/api_key/"),
    ("DELETE", "secrets/api_key/"),
    ("GET", "calendars/"),
    ("PUT", "calendars/office/"),
    ("GET", "calendars/office/"),
    ("DELETE", "calendars/office/"),
    ("PUT", "schedules/{schedule}/"),
    ("GET", "people/"),
    ("POST", "people/"),
    ("GET", "people/uri/"),
    ("POST", "people/uri/export/"),
    ("POST", "people/uri/erase/"),
    ("DELETE", "people/uri/erase/"),
    ("PUT", "people/uri/"),
    ("POST", "people/uri/reset/"),
    ("POST", "people/uri/confirm-email/"),
    ("GET", "roles/"),
    ("POST", "roles/"),
    ("GET", "roles/finance/"),
    ("PUT", "roles/finance/"),
    ("GET", "tokens/"),
    ("POST", "tokens/"),
    ("GET", "tokens/nobodys/"),
    ("DELETE", "tokens/nobodys/"),
    ("GET", "stats/"),
)

BODIES = {
    "templates/": {"source": "workflow: other\nsteps: [{set: {a: 1}}]"},
    "templates/validate/": {"source": ""},
    "templates/activate/": {"versions": [{"name": "idea", "version": 1}]},
    "templates/idea/versions/1/": {"source": "workflow: idea\nsteps: [{set: {a: 1}}]"},
    "instances/": {"template": "approval", "input": {"amount": 1}},
    "instances/{instance}/cancel/": {"reason": "not needed"},
    "tasks/{task}/complete/": {"outcome": "approve", "values": {"note": "ok"}},
    "tasks/{task}/assign/": {"user": "ada"},
    "tasks/{task}/draft/": {"values": {"note": "so far"}},
    "tasks/{task}/comment/": {"text": "Look twice"},
    "tasks/{task}/tick/": {"point": "point_1"},
    "tasks/{task}/snooze/": {"until": "2999-01-07T09:00:00Z"},
    "tasks/{task}/skip/": {"reason": "not needed"},
    "tasks/bulk/": {"action": "claim", "ids": ["01999999-9999-7999-8999-999999999999"]},
    "templates/approval/versions/1/simulate/": {"start": {"amount": 5}},
    "instances/{instance}/signals/": {"name": "go"},
    "instances/{instance}/skip/": {"reason": "not needed"},
    "signals/": {"name": "paid", "key": "A7"},
    "events/": {"name": "order", "id": "e-1"},
    "substitutions/": {"person": "uri", "deputy": None, "from": "2999-01-07", "until": "2999-01-09"},
    "schedules/": {"template": "approval", "cron": "0 9 * * *", "input": {"amount": 3}},
    "secrets/api_key/": {"value": "hush-hush"},
    "schedules/{schedule}/": {"cron": "30 9 * * *"},
    "webhooks/": {"url": "https://hooks.example.com/other", "events": ["task.opened"]},
    "webhooks/{webhook}/": {"title": "Bookkeeping"},
    "webhooks/{webhook}/rotate/": {"keep_for": "PT1H"},
    "webhooks/{webhook}/replay/": {"since": "2020-01-07T09:00:00Z"},
    "people/": {"name": "nora", "level": 2, "roles": ["hr"]},
    "people/uri/": {"full_name": "Uri User"},
    "people/uri/erase/": {"reason": "asked for it"},
    "roles/": {"name": "legal"},
    "roles/finance/": {"title": "Money"},
    "tokens/": {"name": "nightly", "scopes": ["read"], "expires_in": "P30D"},
    "calendars/office/": {"hours": {"mon": ["09:00-17:00"]}},
}


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


def send(caller: Caller, method: str, path: str, scene: Scene) -> Any:
    body = BODIES.get(path, {}) if method in {"POST", "PUT"} else None
    return caller(method, scene.address(path), body)


TRIED_IN_ISOLATION = [
    "substitutions/", "substitutions/{absence}/", "tasks/{task}/delegate/", "tasks/{task}/ask/", "tasks/{task}/return/",
    "tasks/{task}/redo/",
    "instances/{instance}/withdraw/", "instances/{instance}/remind/", "instances/{instance}/comment/",
    "instances/{instance}/attachments/", "instances/{instance}/attachments/{file}/",
]  # fmt: skip
"""Routes whose answers for everybody are in tests/isolation/table.txt only."""


def test_list_of_routes_is_complete() -> None:
    def walk(patterns: list[URLPattern | URLResolver]) -> int:
        return sum(walk(each.url_patterns) if isinstance(each, URLResolver) else 1 for each in patterns)

    open_to_all, tried_by_itself = ["health/", "schema/", "docs/", "nowhere"], ["stream/"]
    known = len({path for _, path in ROUTES}) + len(open_to_all + tried_by_itself + TRIED_IN_ISOLATION)
    assert walk(urls.urlpatterns) == known


def test_stranger_is_asked_to_sign_in_everywhere(stranger: Caller, scene: Scene) -> None:
    for method, path in ROUTES:
        answer = send(stranger, method, path, scene)
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), (method, path)
        assert (answer["Content-Type"], answer["WWW-Authenticate"]) == ("application/problem+json", "Token")


def test_start_of_another_tenants_template_is_not_found(call: Callers, scene: Scene) -> None:
    answers = [call("sam").post("instances/", {"template": name, "input": {}}) for name in ("approval", "nowhere")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


def test_schedule_and_secret_of_another_tenant_are_not_found(call: Callers, scene: Scene) -> None:
    sam = call("sam")
    asks = [("POST", "schedules/", {"template": name, "cron": "0 9 * * *"}) for name in ("approval", "nowhere")]
    asks += [("DELETE", f"secrets/{name}/", None) for name in ("api_key", "nowhere")]
    answers = [sam(*ask) for ask in asks]
    assert {answer.status_code for answer in answers} == {404}
    ours, nobodys = (answers[at::2] for at in range(2))
    assert [answer.content for answer in ours] == [answer.content for answer in nobodys]
    assert [error["path"] for error in ours[0].json()["errors"]] == ["template"]


def test_what_another_tenant_writes_under_our_names_is_theirs(call: Callers, scene: Scene) -> None:
    sam, gwen = call("sam"), call("gwen")
    assert sam("PUT", "secrets/api_key/", {"value": "theirs-alone"}).json()["changed_by"] == "sam"
    assert sam("PUT", "calendars/office/", {"title": "Theirs", **BODIES["calendars/office/"]}).status_code == 200
    assert sam.post("signals/", BODIES["signals/"]).json() == {"delivered": [], "kept": False}
    assert gwen.get("secrets/").json()["results"][0]["changed_by"] == "gwen"
    assert gwen.get("calendars/").json()["results"][0]["title"] == ""


def test_lists_of_another_tenant_are_empty(call: Callers, scene: Scene) -> None:
    lists = ("templates/", "instances/", "tasks/?view=team", "tasks/?view=available", "schedules/", "dead-letters/")
    lists += ("webhooks/", "deliveries/")
    for path in (*lists, "secrets/", "calendars/", f"audit/?subject={scene.instance}"):
        assert call("sam").get(path).json()["results"] == [], path


def test_method_that_a_route_does_not_know_is_refused(call: Callers, scene: Scene) -> None:
    for method, path in ROUTES:
        answer = call("gwen")("PATCH", scene.address(path), {})
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed"), path
        assert method in answer["Allow"]


LOW = {
    ("POST", "templates/"): (403, 403, 403),
    ("POST", "templates/validate/"): (403, 403, 403),
    ("POST", "templates/activate/"): (404, 404, 403),
    ("GET", "templates/approval/"): (200, 200, 200),
    ("GET", "templates/idea/versions/1/"): (404, 404, 200),
    ("PUT", "templates/idea/versions/1/"): (404, 404, 403),
    ("DELETE", "templates/idea/versions/1/"): (404, 404, 403),
    ("POST", "templates/idea/versions/1/activate/"): (404, 404, 403),
    ("POST", "templates/approval/versions/1/pause/"): (404, 404, 403),
    ("POST", "templates/approval/versions/1/resume/"): (404, 404, 403),
    ("POST", "templates/approval/versions/1/archive/"): (404, 404, 403),
    ("GET", "templates/approval/versions/1/export/"): (404, 404, 200),
    ("GET", "templates/approval/versions/1/diff/"): (404, 404, 200),
    ("GET", "instances/{instance}/"): (200, 404, 200),
    ("GET", "instances/{instance}/history/"): (200, 404, 200),
    ("GET", "instances/{instance}/steps/"): (200, 404, 200),
    ("GET", "tasks/{task}/"): (404, 404, 200),
    ("GET", "tasks/{task}/why/"): (404, 404, 200),
    ("POST", "tasks/{task}/claim/"): (404, 404, 403),
    ("POST", "tasks/{task}/release/"): (404, 404, 409),
    ("POST", "tasks/{task}/complete/"): (404, 404, 403),
    ("GET", "tasks/{task}/draft/"): (404, 404, 200),
    ("POST", "tasks/{task}/draft/"): (404, 404, 403),
    ("DELETE", "tasks/{task}/draft/"): (404, 404, 403),
    ("GET", "tasks/{task}/attachments/"): (404, 404, 200),
    ("POST", "tasks/{task}/attachments/"): (404, 404, 400),
    ("GET", "tasks/{task}/attachments/{other}/"): (404, 404, 404),
    ("DELETE", "tasks/{task}/attachments/{other}/"): (404, 404, 404),
    ("POST", "tasks/{task}/tick/"): (404, 404, 403),
    ("GET", "tasks/{task}/comment/"): (404, 404, 200),
    ("POST", "tasks/{task}/comment/"): (404, 404, 201),
    ("POST", "tasks/{task}/snooze/"): (404, 404, 403),
    ("POST", "tasks/{task}/skip/"): (404, 404, 403),
    ("POST", "tasks/{task}/assign/"): (404, 404, 200),
    ("POST", "tasks/{task}/suspend/"): (404, 404, 200),
    ("POST", "tasks/{task}/resume/"): (404, 404, 200),
    ("POST", "tasks/{task}/reopen/"): (404, 404, 400),
    ("POST", "tasks/bulk/"): (200, 200, 200),
    ("POST", "tasks/next/"): (204, 204, 204),
    ("POST", "templates/approval/versions/1/simulate/"): (404, 404, 403),
    ("POST", "instances/{instance}/signals/"): (403, 404, 200),
    ("POST", "instances/{instance}/suspend/"): (403, 404, 200),
    ("POST", "instances/{instance}/resume/"): (403, 404, 200),
    ("POST", "instances/{instance}/retry/"): (403, 404, 409),
    ("POST", "instances/{instance}/skip/"): (403, 404, 409),
    ("POST", "signals/"): (403, 403, 200),
    ("POST", "events/"): (403, 403, 200),
    ("POST", "schedules/"): (403, 403, 201),
    ("GET", "schedules/{schedule}/"): (403, 403, 200),
    ("GET", "schedules/{schedule}/preview/"): (403, 403, 200),
    ("POST", "schedules/{schedule}/pause/"): (403, 403, 200),
    ("POST", "schedules/{schedule}/resume/"): (403, 403, 200),
    ("DELETE", "schedules/{schedule}/"): (403, 403, 204),
    ("POST", "dead-letters/{letter}/replay/"): (403, 403, 200),
    ("POST", "dead-letters/{other}/discard/"): (403, 403, 200),
    ("GET", "webhooks/"): (403, 403, 200),
    ("GET", "deliveries/"): (403, 403, 200),
    ("GET", "schedules/"): (403, 403, 200),
    ("GET", "dead-letters/"): (403, 403, 200),
    ("POST", "webhooks/"): (403, 403, 403),
    ("GET", "webhooks/{webhook}/"): (403, 403, 200),
    ("PUT", "webhooks/{webhook}/"): (403, 403, 403),
    ("DELETE", "webhooks/{webhook}/"): (403, 403, 403),
    ("POST", "webhooks/{webhook}/ping/"): (403, 403, 403),
    ("POST", "webhooks/{webhook}/rotate/"): (403, 403, 403),
    ("POST", "webhooks/{webhook}/pause/"): (403, 403, 403),
    ("POST", "webhooks/{webhook}/resume/"): (403, 403, 403),
    ("POST", "webhooks/{webhook}/replay/"): (403, 403, 202),
    ("GET", "deliveries/{delivery}/"): (403, 403, 200),
    ("POST", "deliveries/{delivery}/replay/"): (403, 403, 409),
    ("GET", "audit/"): (403, 403, 200),
    ("GET", "audit/export/"): (403, 403, 200),
    ("GET", "audit/verify/"): (403, 403, 200),
    ("GET", "retention/"): (403, 403, 200),
    ("POST", "retention/"): (403, 403, 403),
    ("GET", "secrets/"): (403, 403, 403),
    ("GET", "secrets/api_key/"): (403, 403, 403),
    ("PUT", "secrets/api_key/"): (403, 403, 403),
    ("DELETE", "secrets/api_key/"): (403, 403, 403),
    ("GET", "calendars/"): (403, 403, 200),
    ("PUT", "calendars/office/"): (403, 403, 403),
    ("GET", "calendars/office/"): (403, 403, 200),
    ("DELETE", "calendars/office/"): (403, 403, 403),
    ("PUT", "schedules/{schedule}/"): (403, 403, 409),
    ("GET", "people/"): (200, 200, 200),
    ("POST", "people/"): (403, 403, 403),
    ("GET", "people/uri/"): (200, 404, 200),
    ("PUT", "people/uri/"): (403, 404, 403),
    ("POST", "people/uri/reset/"): (403, 404, 403),
    ("POST", "people/uri/confirm-email/"): (403, 404, 403),
    ("POST", "people/uri/export/"): (200, 404, 403),
    ("POST", "people/uri/erase/"): (403, 404, 403),
    ("DELETE", "people/uri/erase/"): (403, 404, 403),
    ("GET", "roles/"): (200, 200, 200),
    ("POST", "roles/"): (403, 403, 403),
    ("GET", "roles/finance/"): (200, 200, 200),
    ("PUT", "roles/finance/"): (403, 403, 403),
    ("GET", "tokens/"): (200, 200, 200),
    ("POST", "tokens/"): (201, 201, 201),
    ("GET", "tokens/nobodys/"): (404, 404, 404),
    ("DELETE", "tokens/nobodys/"): (404, 404, 404),
    ("GET", "stats/"): (403, 403, 200),
    ("POST", "instances/{instance}/cancel/"): (403, 404, 200),
}
"""What a user (2) who started the case, a moderator (3) who did not, and an admin (4) without the role get."""


def test_level_decides(call: Callers, cast: Cast, scene: Scene) -> None:
    create_person(actor=None, tenant=cast.acme, name="mo", level=3, roles=("finance",))
    people = ("uri", "mo", "adam")
    got = {route: tuple(send(call(who), *route, scene).status_code for who in people) for route in LOW}
    assert got == LOW


def test_refusal_names_the_rule(call: Callers, scene: Scene) -> None:
    refused = call("adam").post(f"tasks/{scene.task}/claim/").json()
    assert (refused["status"], refused["code"]) == (403, "not_candidate")
    assert "Finance" in refused["detail"]
    level = call("adam").post("templates/", {"source": "workflow: x"}).json()
    assert (level["code"], level["needed"]) == ("level", 5)


def test_unknown_address_is_not_found_for_everyone(stranger: Caller, call: Callers) -> None:
    answers = [
        who(method, "nothing-of-ours/") for who in (stranger, call("gwen")) for method in ("GET", "POST", "DELETE")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert {answer["Content-Type"] for answer in answers} == {"application/problem+json"}
