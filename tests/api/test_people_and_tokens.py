"""People, roles, tokens and figures over REST; what narrowed tokens may, and what they may not."""

from __future__ import annotations

import pytest

from engine.api.authentication import needed_scope
from engine.api.operations_table import OPERATIONS
from engine.models import Instance, Schedule, Task
from engine.services.people.accounts import create_person
from engine.services.people.tokens import create_token
from engine.services.tasks.assignment import assign_task
from tests.api.conftest import Caller, Callers
from tests.api.scene import Scene, set_scene
from tests.cast import Cast
from tests.services.test_leads import DESK
from tests.workflows import activated, started
from workflowplatform.accounts.models import Token, User
from workflowplatform.accounts.scopes import Scope


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_scene(cast)


def narrowed(cast: Cast, *scopes: str, who: str = "gwen") -> Caller:
    return Caller(create_token(actor=None, person=getattr(cast, who), scopes=scopes)[1])


def test_person_is_added_changed_and_shut_out(call: Callers) -> None:
    gwen = call("gwen")
    made = gwen.post("people/", {"name": "nora", "level": 2, "roles": ["hr"]}, key="once")
    assert (made.status_code, made.json()["roles"], made.json()["active"]) == (201, ["hr"], True)
    assert gwen.post("people/", {"name": "nora", "level": 2, "roles": ["hr"]}, key="once").content == made.content
    changed = gwen("PUT", "people/nora/", {"level": 3, "roles": ["finance"], "full_name": "Nora N"}).json()
    assert (changed["level"], changed["roles"], changed["full_name"]) == (3, ["finance"], "Nora N")
    assert gwen("PUT", "people/nora/", {"active": False}).json()["active"] is False
    assert gwen.get("people/nora/").json()["full_name"] == "Nora N"


def test_leads_are_named_among_the_roles_of_a_person(call: Callers, cast: Cast) -> None:
    gwen = call("gwen")
    assert gwen("PUT", "people/ada/", {"leads": ["finance"]}).json()["leads"] == ["finance"]
    assert gwen.get("people/ada/").json()["leads"] == ["finance"]
    refused = gwen("PUT", "people/ada/", {"leads": ["hr"]})
    assert (refused.status_code, refused.json()["errors"][0]) == (
        400,
        {"path": "leads", "code": "not_held", "message": refused.json()["errors"][0]["message"]},
    )
    assert gwen("PUT", "people/ada/", {"roles": ["hr"], "leads": ["hr"]}).json()["leads"] == ["hr"]
    assert call("ada")("PUT", "people/adam/", {"leads": []}).status_code == 403


def test_a_lead_moves_tasks_of_their_role_over_rest(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), DESK)
    for name in ("lena", "mira"):
        create_person(actor=None, tenant=cast.acme, name=name, level=2, roles=["finance"])
    task = Task.objects.get(instance=started(cast.actor("uri"), "desk"), step="pay")
    assign_task(actor=cast.actor("ada"), task_id=task.pk, person="mira")
    lena = Caller(create_token(actor=None, person=User.objects.get(username="lena"), scopes=())[1])
    assert lena.post(f"tasks/{task.pk}/assign/", {"user": "lena"}).status_code == 404
    call("gwen")("PUT", "people/lena/", {"leads": ["finance"]})
    moved = lena.post(f"tasks/{task.pk}/assign/", {"user": "lena"})
    assert (moved.status_code, moved.json()["assignee"]) == (200, "lena")
    assert lena.post(f"tasks/{task.pk}/release/", {}).json()["assignee"] is None


def test_change_of_a_person_is_whole_or_nothing(call: Callers, cast: Cast) -> None:
    refused = call("gwen")("PUT", "people/uri/", {"full_name": "Somebody", "level": 6})
    assert (refused.status_code, refused.json()["code"]) == (403, "level")
    assert User.objects.get(username="uri").full_name == ""
    unknown = call("gwen")("PUT", "people/uri/", {"roles": ["pilots"]})
    assert (unknown.status_code, unknown.json()["errors"][0]["path"]) == (400, "roles")


def test_people_of_another_tenant_are_not_there(call: Callers) -> None:
    sam = call("sam")
    assert [row["name"] for row in sam.get("people/").json()["results"]] == ["sam", "stan"]
    for method, body in (("GET", None), ("PUT", {"level": 2})):
        assert sam(method, "people/uri/", body).content == sam(method, "people/nobody/", body).content
    assert sam.post("tokens/", {"person": "uri"}).status_code == 404


def test_role_is_added_and_renamed(call: Callers) -> None:
    gwen = call("gwen")
    assert gwen.post("roles/", {"name": "legal"}).json() == {
        "name": "legal",
        "title": "",
        "confidential": False,
    }
    assert gwen("PUT", "roles/legal/", {"title": "Law"}).json()["title"] == "Law"
    assert gwen.post("roles/", {"name": "legal"}).status_code == 400
    assert call("sam").get("roles/legal/").status_code == 404


def test_token_is_made_shown_once_and_ended(call: Callers) -> None:
    uri = call("uri")
    made = uri.post("tokens/", {"name": "nightly", "scopes": ["read"], "expires_in": "P30D"}).json()
    fresh = Caller(made["token"])
    assert fresh.get("instances/").status_code == 200
    shown = next(row for row in uri.get("tokens/").json()["results"] if row["key"] == made["key"])
    assert (shown["name"], shown["scopes"], shown["person"], "token" in shown) == ("nightly", ["read"], "uri", False)
    assert shown["expires_at"] > shown["created_at"]
    assert call("ada")("DELETE", f"tokens/{made['key']}/").status_code == 404
    assert uri("DELETE", f"tokens/{made['key']}/").status_code == 204
    assert fresh.get("instances/").status_code == 401


def test_tokens_of_another_tenant_are_not_there(call: Callers) -> None:
    gwen, sam = call("gwen"), call("sam")
    theirs = [row["key"] for row in sam.get("tokens/").json()["results"]]
    assert theirs
    assert not {row["key"] for row in gwen.get("tokens/", limit="200").json()["results"]} & set(theirs)
    for method in ("GET", "DELETE"):
        assert gwen(method, f"tokens/{theirs[0]}/").status_code == 404
    assert sam.get(f"tokens/{theirs[0]}/").status_code == 200


def test_token_is_never_kept_for_a_repeat(call: Callers) -> None:
    uri = call("uri")
    before = Token.objects.count()
    assert uri.post("tokens/", {}, key="again").json()["errors"][0]["path"] == "Idempotency-Key"
    assert uri.post("tokens/", {"expires_in": "soon"}).json()["errors"][0]["path"] == "expires_in"
    assert uri.post("tokens/", {"scopes": ["everything"]}).status_code == 400
    assert uri.post("tokens/", {"person": "gwen"}).status_code == 404
    assert call("adam").post("tokens/", {"person": "gwen"}).status_code == 403
    assert Token.objects.count() == before + 1


@pytest.mark.parametrize(
    ("scope", "method", "path", "body"),
    [
        ("read", "GET", "instances/", None),
        ("start", "POST", "instances/", {"template": "approval", "input": {"amount": 1}}),
        ("operate", "POST", "instances/{instance}/suspend/", {}),
        ("author", "POST", "templates/validate/", {"source": ""}),
    ],
)
def test_scope_lets_through_what_it_names_and_nothing_else(
    cast: Cast, scene: Scene, scope: str, method: str, path: str, body: object
) -> None:
    for other in Scope:
        answer = narrowed(cast, other)(method, scene.address(path), body)
        assert (answer.status_code == 403) == (other != scope), other
        if other != scope:
            assert (answer.json()["code"], answer.json()["needed"]) == ("scope", scope)
    assert narrowed(cast, *Scope)(method, scene.address(path), body).status_code != 403


def test_narrowed_token_cannot_make_itself_a_wider_one(cast: Cast) -> None:
    widest = narrowed(cast, *Scope)
    for method, path, body in (
        ("POST", "tokens/", {}),
        ("POST", "people/", {"name": "nora", "level": 5}),
        ("PUT", "people/uri/", {"level": 5}),
        ("POST", "roles/", {"name": "legal"}),
    ):
        assert widest(method, path, body).json()["code"] == "scope"


def test_scope_gives_nothing_that_the_person_may_not(cast: Cast) -> None:
    refused = narrowed(cast, "author", who="uri").post("templates/", {"source": ""})
    assert (refused.status_code, refused.json()["code"]) == (403, "level")


def test_every_operation_has_its_scope() -> None:
    found = {needed_scope(method, route) for method, route in OPERATIONS}
    assert found == {*Scope, None}
    managed = {route.partition("/")[0] for method, route in OPERATIONS if needed_scope(method, route) is None}
    assert managed == {"people", "roles", "substitutions", "tokens"}


def test_figures_count_the_own_tenant(call: Callers, scene: Scene) -> None:
    figures = call("ada").get("stats/").json()
    assert figures == {
        "instances": {"running": 1},
        "tasks": {"open": 1},
        "tasks_overdue": 0,
        "dead_letters": 0,
        "templates": [{"name": "approval", "live": 1, "incidents": 0}],
    }
    assert call("stan").get("stats/").json()["instances"] == {}


def test_instances_are_found_by_their_state(call: Callers, scene: Scene) -> None:
    Instance.objects.filter(pk=scene.instance).update(state={"order": {"total": 12, "number": "12"}, "paid": True})
    ada = call("ada")

    def found(query: str) -> list[str]:
        return [row["id"] for row in ada("GET", f"instances/?{query}").json()["results"]]

    for query in (
        "state.order.total=12",
        "state.order.number=12",
        "state.paid=true",
        "state.paid=true&state.order.total=12",
    ):
        assert found(query) == [scene.instance], query
    for query in (
        "state.order.total=13",
        "state.order=12",
        "state.paid.deeper=1",
        "state.paid=true&state.order.total=1",
    ):
        assert found(query) == [], query
    for query in ("state.a=%00", "state.a=1e999", "state.a=99999999999999999999"):
        assert ada("GET", f"instances/?{query}").status_code == 400, query
    assert ada("GET", "tasks/?state.a=1").status_code == 400


def test_schedule_is_changed_unless_its_template_asks_for_it(call: Callers, cast: Cast, scene: Scene) -> None:
    ada = call("ada")
    body = {"template": "approval", "cron": "0 9 * * *", "input": {"amount": 3}}
    made = ada.post("schedules/", body).json()
    changed = ada("PUT", f"schedules/{made['id']}/", {"cron": "30 9 * * *"}).json()
    assert (changed["cron"], changed["input"], changed["next_at"][14:16]) == ("30 9 * * *", {"amount": 3}, "30")
    assert ada("PUT", f"schedules/{made['id']}/", {"cron": "never"}).status_code == 400
    assert ada("PUT", f"schedules/{made['id']}/", {"input": {"amount": "much"}}).status_code == 400
    Schedule.objects.filter(pk=made["id"]).update(declared=True)
    assert ada("PUT", f"schedules/{made['id']}/", {"cron": "0 8 * * *"}).json()["code"] == "declared"
    Schedule.objects.filter(pk=made["id"]).update(declared=False)
    assert ada("DELETE", f"schedules/{made['id']}/").status_code == 204
    assert ada("PUT", f"schedules/{made['id']}/", {"cron": "30 9 * * *"}).json()["code"] == "status"
