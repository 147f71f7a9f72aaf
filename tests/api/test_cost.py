"""What requests cost, counted in SQL statements: an act needs its own and few others, a list the same however long it is."""

from __future__ import annotations

from typing import Any

import pytest
from knox.settings import CONSTANTS

from benchmarks.statements import counted
from engine.api.operations_table import OPERATIONS
from engine.services import health
from engine.services.people.tenants_and_roles import create_role
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tenants.settings import put_calendar, put_secret
from engine.services.webhooks.subscriptions import create_webhook, ping_webhook
from tests.api.conftest import Caller, Callers, caller_of
from tests.api.scene import Scene, dead_letter, set_whole_scene
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, started

# Acts

MOST = {"start": 4, "claim": 3, "complete": 3}
"""One finds the person, one locks and reads, one writes; below level 4 a start also reads which new tasks its starter sees."""
KEYED = 2
"""One looks for an earlier request with the key, behind those of the same moment; one stores the answer."""


def statements(caller: Caller, path: str, body: Any, key: str | None) -> tuple[int, Any]:
    with counted() as sent:
        answer = caller.post(path, body, key=key)
    assert answer.status_code in {200, 201}
    return len(sent), answer.json()


@pytest.mark.parametrize("key", [None, "once"])
def test_acts_cost_their_own_statements_and_few_beside(committed_cast: Cast, key: str | None) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    uri, ada = caller_of("uri"), caller_of("ada")
    body = {"template": "approval", "input": {"amount": 12}}
    for warmed in (uri, ada):
        warmed.get("tasks/")
    uri.post("instances/", body)
    cost = {}
    cost["start"], begun = statements(uri, "instances/", body, key)
    task = ada.get(f"tasks/?instance={begun['id']}").json()["results"][0]["id"]
    cost["claim"], _ = statements(ada, f"tasks/{task}/claim/", {}, key)
    answer = {"outcome": "approve", "values": {"note": "ok"}}
    cost["complete"], _ = statements(ada, f"tasks/{task}/complete/", answer, key)
    assert cost == {act: count + (KEYED if key else 0) for act, count in MOST.items()}


def test_an_act_over_rest_sends_no_savepoints(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    from workflowplatform.database.base import DatabaseWrapper

    activated(committed_cast.actor("gwen"), APPROVAL)
    uri, made = caller_of("uri"), []
    monkeypatch.setattr(DatabaseWrapper, "_savepoint", lambda self, sid: made.append(sid))
    assert uri.post("instances/", {"template": "approval", "input": {"amount": 12}}, key="k").status_code == 201
    assert made == []


# Looks

READS = {
    "audit/": 2,
    "audit/export/": 2,
    "audit/verify/": 3,
    "calendars/": 2,
    "calendars/{name}/": 2,
    "dead-letters/": 2,
    "deliveries/": 2,
    "deliveries/{delivery_id}/": 3,
    "health/": 4,
    "instances/": 4,
    "instances/{instance_id}/": 4,
    "instances/{instance_id}/attachments/": 3,
    "instances/{instance_id}/comment/": 3,
    "instances/{instance_id}/diagram.svg": 3,
    "instances/{instance_id}/history/": 3,
    "instances/{instance_id}/steps/": 3,
    "people/": 4,
    "people/{name}/": 4,
    "retention/": 3,
    "roles/": 2,
    "roles/{name}/": 2,
    "schedules/": 2,
    "schedules/{schedule_id}/": 2,
    "schedules/{schedule_id}/preview/": 3,
    "secrets/": 2,
    "secrets/{name}/": 2,
    "stats/": 6,
    "substitutions/": 2,
    "substitutions/{absence_id}/": 6,
    "tasks/": 2,
    "tasks/{task_id}/": 2,
    "tasks/{task_id}/attachments/": 3,
    "tasks/{task_id}/comment/": 3,
    "tasks/{task_id}/draft/": 3,
    "tasks/{task_id}/why/": 3,
    "templates/": 3,
    "templates/{name}/": 4,
    "templates/{name}/versions/{number}/": 2,
    "templates/{name}/versions/{number}/diagram.svg": 3,
    "templates/{name}/versions/{number}/diff/": 5,
    "templates/{name}/versions/{number}/export/": 2,
    "tokens/": 2,
    "tokens/{key}/": 2,
    "webhooks/": 2,
    "webhooks/{webhook_id}/": 2,
}
"""How many statements each GET sends: who asks, then what the route itself reads."""
ENDLESS = "stream/"
UNKNOWN = {"tasks/{task_id}/attachments/{attachment_id}/", "instances/{instance_id}/attachments/{attachment_id}/"}
"""The scene has no files."""


def address_of(route: str, scene: Scene, key: str) -> str:
    first = route.partition("/")[0]
    names = {"people": "uri", "roles": "finance", "calendars": "office", "templates": "approval", "secrets": "api_key"}
    known = {
        "instance_id": scene.instance, "task_id": scene.task, "schedule_id": scene.schedule, "webhook_id": scene.webhook,
        "delivery_id": scene.delivery, "absence_id": scene.absence, "number": 1, "name": names.get(first, ""), "key": key,
    }  # fmt: skip
    return route.format(**known)


def costs(caller: Caller, scene: Scene) -> dict[str, int]:
    found = {}
    for route in sorted(route for method, route in OPERATIONS if method == "GET" and route not in {ENDLESS, *UNKNOWN}):
        path = address_of(route, scene, (caller.token or "")[: CONSTANTS.TOKEN_KEY_LENGTH])
        assert caller.get(path).status_code == 200, path
        with counted() as sent:
            caller.get(path)
        found[route] = len(sent)
    return found


def add_more(cast: Cast, scene: Scene) -> None:
    gwen = cast.actor("gwen")
    for number in range(3):
        started(cast.actor("uri"), "approval", amount=number + 1)
        create_schedule(actor=gwen, template="approval", cron=f"{number} 8 * * *", input={"amount": 1})
        put_secret(actor=gwen, name=f"key_{number}", value="a-long-value")
        put_calendar(actor=gwen, name=f"days_{number}", content={"hours": {"mon": ["09:00-17:00"]}})
        create_role(actor=gwen, tenant=cast.acme, name=f"role_{number}", title="Role")
        webhook, _ = create_webhook(actor=gwen, url="https://hooks.example.com/in", events=["task.opened"])
        ping_webhook(actor=gwen, webhook_id=webhook.pk)
        dead_letter(cast, scene.instance)
        caller_of("gwen")


def test_every_look_sends_as_many_statements_as_it_states_however_much_there_is(
    call: Callers, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WRITE_EVERY", 0.0)  # else it tries to write once a second
    scene, gwen = set_whole_scene(cast), call("gwen")
    few = costs(gwen, scene)
    add_more(cast, scene)
    many = costs(gwen, scene)
    assert {route: (few[route], many[route]) for route in few} == {
        route: (count, count) for route, count in READS.items()
    }
