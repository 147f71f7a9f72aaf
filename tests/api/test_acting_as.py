"""Nobody acts as another person: tokens, service accounts, and four eyes that a service account does not get around."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from knox.crypto import hash_token

from engine.errors import Refused
from engine.models import Audit, Task
from engine.runtime.claims import token_with
from engine.services.instances.lifecycle import start_instance
from engine.services.people import accounts as people
from engine.services.people.tenants_and_roles import choose_tenant
from engine.services.people.tokens import create_token
from engine.services.stream_events import Pass, who_holds
from tests.api.conftest import Caller, Callers
from tests.cast import Cast
from tests.workflows import activated
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import Token, User

TWO = """workflow: two
steps:
  - {id: x, task: {title: Prepare, roles: [finance]}}
  - {id: y, task: {title: Release, roles: [finance], allow: [skip], not_same_as: [x]}}
"""
STARTED = """workflow: started
steps:
  - {id: y, task: {title: Release, roles: [finance], not_same_as: [start]}}
"""
SEVERAL = """workflow: several
steps:
  - {id: x, task: {title: Vote, roles: [finance], complete_when: done >= 2}}
"""
BESIDE = """workflow: beside
steps:
  - parallel:
      branches:
        a: [{id: x, task: {title: Prepare, roles: [finance]}}]
        b: [{id: y, task: {title: Release, roles: [finance], not_same_as: [x]}}]
"""


def service(call: Callers, name: str, *, maker: str = "gwen", level: int = 4) -> Caller:
    """Make a service account over REST and a token for it, as its maker does."""
    body = {"name": name, "level": level, "roles": ["finance"], "kind": "service"}
    made = call(maker).post("people/", body)
    assert (made.status_code, made.json()["kind"], made.json()["made_by"]) == (201, "service", maker)
    token = call(maker).post("tokens/", {"person": name, "name": "robot"})
    assert token.status_code == 201, token.json()
    return Caller(token.json()["token"])


def finance(cast: Cast, *names: str) -> None:
    for name in names:
        people.grant_role(actor=None, person=User.objects.get(username=name), role="finance")


def open_task(step: str) -> str:
    return str(Task.objects.open().get(step=step).pk)


def complete(caller: Caller, step: str) -> tuple[int, str]:
    answer = caller.post(f"tasks/{open_task(step)}/complete/", {})
    return answer.status_code, answer.json().get("code", "")


# Tokens


@pytest.mark.security("nobody acts as another person")
def test_nobody_makes_a_token_for_another_person_by_any_route(cast: Cast, call: Callers) -> None:
    refused = call("gwen").post("tokens/", {"person": "ada"})
    assert (refused.status_code, refused.json()["code"]) == (403, "self")
    with pytest.raises(Refused) as refusal:
        create_token(actor=cast.actor("gwen"), person=cast.ada)
    assert refusal.value.code == "self"
    inside = choose_tenant(actor=cast.actor("zoe"), tenant=cast.acme)
    with pytest.raises(Refused):
        create_token(actor=inside, person=cast.ada)
    browser = Client()
    browser.force_login(cast.gwen, backend="django.contrib.auth.backends.ModelBackend")
    page = "/admin/accounts/token/add/"
    assert str(cast.ada.pk) not in browser.get(page).content.decode()
    browser.post(page, {"person": str(cast.ada.pk), "name": "x", "lives": "30"})
    assert not Token.objects.filter(user=cast.ada).exists()


def test_own_token_and_a_service_accounts_are_made(cast: Cast, call: Callers) -> None:
    robot = service(call, "robot")
    assert robot.get("tasks/").status_code == 200
    assert call("uri").post("tokens/", {"name": "mine"}).json()["made_by"] == "uri"
    shown = call("gwen").get("tokens/").json()["results"]
    assert {row["person"]: row["made_by"] for row in shown}["robot"] == "gwen"
    row = Audit.objects.filter(action="create_token", subject_id=User.objects.get(username="robot").pk).get()
    assert (row.actor_name, row.new["made_by"]) == ("gwen", "gwen")


def test_token_from_the_command_line_names_it_as_its_maker(cast: Cast) -> None:
    token, _ = create_token(actor=None, person=cast.ada)
    assert token.made_by == "command line"
    assert Audit.objects.get(action="create_token", subject_id=cast.ada.pk).new["made_by"] == "command line"


# Service accounts


@pytest.mark.security("nobody acts as another person")
def test_service_account_is_no_person(cast: Cast, call: Callers) -> None:
    robot = service(call, "robot", level=5)
    row = User.objects.get(username="robot")
    row.set_password("a long enough word")
    row.save(update_fields=["password"])
    answer = Client().post("/accounts/login/", {"username": "robot", "password": "a long enough word"})
    assert answer.status_code == 200
    for path, body in (
        ("people/", {"name": "nora", "level": 2}),
        ("people/", {"name": "robot2", "level": 2, "kind": "service"}),
        ("roles/", {"name": "legal"}),
    ):
        refused = robot.post(path, body)
        assert (refused.status_code, refused.json()["code"]) == (403, "service"), path
    assert robot("PUT", "people/uri/", {"level": 3}).json()["code"] == "service"
    with pytest.raises(Refused):
        people.invite_person(actor=cast.actor("gwen"), person=row, base_url="http://testserver")
    with pytest.raises(Refused):
        create_token(actor=actor_of(row), person=row)


def test_service_account_is_made_by_level_five_with_a_level_not_above_their_own(cast: Cast, call: Callers) -> None:
    body = {"name": "robot", "level": 6, "kind": "service"}
    assert call("gwen").post("people/", body).json()["code"] == "level"
    assert call("ada").post("people/", body | {"level": 1}).json()["code"] == "level"
    assert call("gwen").post("people/", body | {"level": 1, "kind": "ghost"}).status_code == 400
    assert [row["kind"] for row in call("gwen").get("people/").json()["results"]] == ["person"] * 4


# Four eyes


@pytest.mark.security("a service account is nobody's second pair of eyes")
def test_service_account_never_does_a_task_of_four_eyes(cast: Cast, call: Callers) -> None:
    activated(cast.actor("gwen"), TWO)
    robot = service(call, "robot")
    start_instance(actor=cast.actor("adam"), template="two", input={})
    assert complete(call("ada"), "x")[0] == 200
    for act in ("claim", "complete"):
        answer = robot.post(f"tasks/{open_task('y')}/{act}/", {})
        assert (answer.status_code, answer.json()["code"]) == (403, "four_eyes"), act
    assert robot.get("tasks/", view="available").json()["results"] == []
    assert robot.post("tasks/next/", {}).status_code == 204
    given = call("gwen").post(f"tasks/{open_task('y')}/assign/", {"user": "robot"})
    assert given.json()["code"] == "four_eyes"
    skipped = robot.post(f"tasks/{open_task('y')}/skip/", {"reason": "by machine"})
    assert (skipped.status_code, skipped.json()["code"]) == (403, "four_eyes")


@pytest.mark.security("a service account is nobody's second pair of eyes")
@pytest.mark.parametrize("way", ["x by the account", "the start by the account", "y before x"])
def test_maker_of_a_service_account_is_barred_by_what_it_did(cast: Cast, call: Callers, way: str) -> None:
    finance(cast, "gwen")
    robot = service(call, "robot")
    if way == "x by the account":
        activated(cast.actor("gwen"), TWO)
        start_instance(actor=cast.actor("adam"), template="two", input={})
        assert complete(robot, "x")[0] == 200
    elif way == "the start by the account":
        activated(cast.actor("gwen"), STARTED)
        assert robot.post("instances/", {"template": "started", "input": {}}).status_code == 201
    else:
        activated(cast.actor("gwen"), BESIDE)
        start_instance(actor=cast.actor("adam"), template="beside", input={})
        assert complete(call("gwen"), "y")[0] == 200
        assert complete(robot, "x") == (403, "four_eyes")
        return
    task = open_task("y")
    for act in ("claim", "complete", "skip"):
        answer = call("gwen").post(f"tasks/{task}/{act}/", {"reason": "x"} if act == "skip" else {})
        assert (answer.status_code, answer.json()["code"]) == (403, "four_eyes"), act
    assert call("gwen").get("tasks/", view="available").json()["results"] == []
    assert call("ada").post(f"tasks/{task}/assign/", {"user": "gwen"}).json()["code"] == "four_eyes"
    assert complete(call("ada"), "y")[0] == 200


@pytest.mark.security("a service account is nobody's second pair of eyes")
def test_service_account_is_none_of_several(cast: Cast, call: Callers) -> None:
    activated(cast.actor("gwen"), SEVERAL)
    robot = service(call, "robot")
    start_instance(actor=cast.actor("adam"), template="several", input={})
    assert complete(robot, "x") == (403, "four_eyes")
    assert complete(call("ada"), "x")[0] == 200


def test_whoever_makes_a_second_token_is_barred_too(cast: Cast, call: Callers) -> None:
    second = people.create_person(actor=None, tenant=cast.acme, name="greta", level=5, roles=["finance"])
    activated(cast.actor("gwen"), TWO)
    service(call, "robot")
    robot = Caller(call("greta").post("tokens/", {"person": "robot"}).json()["token"])
    start_instance(actor=cast.actor("adam"), template="two", input={})
    assert complete(robot, "x")[0] == 200
    assert complete(call("greta"), "y") == (403, "four_eyes")
    assert User.objects.get(pk=second.pk).same_eyes == ["robot"]


# The audit


@pytest.mark.security("coming and going is audited")
def test_act_by_token_says_by_which_and_who_made_it(cast: Cast, call: Callers) -> None:
    activated(cast.actor("gwen"), TWO)
    robot = service(call, "robot")
    assert robot.post("instances/", {"template": "two", "input": {}}).status_code == 201
    assert complete(robot, "x")[0] == 200
    row = Audit.objects.get(action="start_workflow")
    assert (row.actor_name, row.cause) == ("robot", "via token robot, made by gwen")
    assert Audit.objects.get(action="task_completed").cause == "via token robot, made by gwen"
    row = next(
        each for each in call("gwen").get("audit/", limit="200").json()["results"] if each["action"] == "start_workflow"
    )
    assert (row["cause"], row["via"]) == ("", "via token robot, made by gwen")
    case = Audit.objects.filter(action="start_workflow").get().subject_id
    typed = "no (via token ada, made by adam)"
    assert call("gwen").post(f"instances/{case}/suspend/", {"reason": typed}).status_code == 200
    row = call("gwen").get(f"instances/{case}/history/").json()[-1]
    assert (row["cause"].replace("\u00a0", " "), row["via"]) == (typed, "via token tests, made by command line")
    start_instance(actor=cast.actor("ada"), template="two", input={})
    assert Audit.objects.filter(action="start_workflow", cause="").count() == 1
    assert call("gwen").get("audit/verify/").json()["broken"] == []


def test_stream_of_a_token_stays_open_while_its_person_stays_the_same(cast: Cast, call: Callers) -> None:
    found = token_with(hash_token(str(call("ada").token)))
    assert found is not None
    token, actor = found
    given = Pass(token=token.digest)
    assert actor.via
    assert who_holds({(given, cast.ada.pk)})[given] == actor
    people.change_level(actor=None, person=cast.ada, level=3)
    assert who_holds({(given, cast.ada.pk)})[given] != actor


@pytest.mark.security("coming and going is audited")
def test_use_of_a_token_is_noted_once_a_day_and_once_an_address(cast: Cast, call: Callers) -> None:
    ada = call("ada")

    def uses() -> list[Any]:
        rows = Audit.objects.filter(subject_id=cast.ada.pk, action="use_token").order_by("seq")
        return [row.new["address"] for row in rows]

    def ask(address: str) -> None:
        head = {"Authorization": f"Token {ada.token}"}
        assert Client(REMOTE_ADDR=address).get("/api/v1/tasks/", headers=head).status_code == 200

    for _ in range(3):
        ask("127.0.0.1")
    assert uses() == ["127.0.0.1"]
    for address in ("192.0.2.7", "127.0.0.1", "192.0.2.7"):
        ask(address)
    assert uses() == ["127.0.0.1", "192.0.2.7"]
    for last in range(60):
        ask(f"198.51.100.{last}")
    assert len(uses()) == 20
