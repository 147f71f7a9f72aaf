"""Absences, deputies and managers over REST."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from engine.services.people.accounts import create_person
from tests.api.conftest import Callers
from tests.cast import Cast
from tests.workflows import activated, only_task, started

PERSONAL = """
workflow: personal
title: Personal
steps:
  - id: look
    task: {title: Look, assignee: ada, min_level: 2}
  - id: pay
    task: {title: Pay, roles: [hr], min_level: 2}
"""
PAIR = """
workflow: pair
title: Pair
steps:
  - id: prepare
    task: {title: Prepare, roles: [finance], min_level: 2}
  - id: approve
    task: {title: Approve payment run, roles: [finance], min_level: 2, not_same_as: [prepare]}
"""


@pytest.fixture
def mira(cast: Cast) -> None:
    create_person(actor=None, tenant=cast.acme, name="mira", level=3, roles=("finance", "support"), email="m@a.example")


def days(first: int, last: int) -> dict[str, str]:
    today = timezone.now().date()
    return {"from": str(today + timedelta(days=first)), "until": str(today + timedelta(days=last))}


def asked(**words: Any) -> dict[str, Any]:
    return {"person": "ada", "deputy": "mira", **days(0, 3), **words}


def test_deputy_acts_while_the_absence_lasts(call: Callers, cast: Cast, mira: None) -> None:
    activated(cast.actor("gwen"), PERSONAL)
    task = str(only_task(started(cast.actor("gwen"), "personal")).pk)
    assert call("mira").get(f"tasks/{task}/").status_code == 404
    made = call("ada").post("substitutions/", asked(), key="once")
    assert made.status_code == 201
    assert call("ada").post("substitutions/", asked(), key="once").json() == made.json()
    row = made.json()
    assert (row["person"], row["deputy"], row["roles"], row["templates"]) == ("ada", "mira", [], [])
    assert [one["id"] for one in call("mira").get("tasks/", view="mine").json()["results"]] == [task]
    why = call("mira").get(f"tasks/{task}/why/").json()
    assert why["may_act"]
    assert why["reasons"][-1]["code"] == "deputy"
    address = f"substitutions/{row['id']}/"
    assert call("mira").get(address).json()["id"] == row["id"]
    assert call("ada")("DELETE", address).status_code == 204
    assert call("mira").get(f"tasks/{task}/").status_code == 404
    assert call("mira").post(f"tasks/{task}/complete/").status_code == 404
    assert call("ada").get(address).status_code == 404


def test_answer_of_a_deputy_names_both(call: Callers, cast: Cast, mira: None) -> None:
    activated(cast.actor("gwen"), PERSONAL)
    task = str(only_task(started(cast.actor("gwen"), "personal")).pk)
    call("ada").post("substitutions/", asked())
    done = call("mira").post(f"tasks/{task}/complete/").json()["task"]
    assert (done["completed_by"], done["completed_for"]) == ("mira", "ada")


@pytest.mark.parametrize(
    ("words", "field", "code"),
    [
        ({"from": "2020-01-01", "until": "2020-01-03"}, "until", "past"),
        ({"from": "2998-01-05", "until": "2998-01-03"}, "until", "order"),
        ({"deputy": "adam"}, "deputy", "role"),
        ({"deputy": "ada"}, "deputy", "self"),
        ({"deputy": "sam"}, "deputy", "unknown"),
        ({"person": "sam"}, "person", "unknown"),
        ({"roles": ["hr"]}, "roles", "unknown"),
        ({"from": "soon"}, "from", "invalid"),
    ],
)
def test_wrong_absence_is_refused_at_its_field(
    call: Callers, cast: Cast, mira: None, words: dict[str, Any], field: str, code: str
) -> None:
    answer = call("ada").post("substitutions/", asked(**words))
    assert answer.status_code == 400
    assert (answer.json()["errors"][0]["path"], answer.json()["errors"][0]["code"]) == (field, code)


def test_overlap_and_circle_are_refused(call: Callers, cast: Cast, mira: None) -> None:
    assert call("ada").post("substitutions/", asked(**days(2, 5))).status_code == 201
    assert call("ada").post("substitutions/", asked(**days(5, 9))).json()["errors"][0]["code"] == "overlap"
    assert call("ada").post("substitutions/", asked(**days(6, 9))).status_code == 201
    circle = call("mira").post("substitutions/", asked(person="mira", deputy="ada", **days(3, 3)))
    assert circle.json()["errors"][0]["code"] == "circle"


def test_nobody_left_is_told_with_the_absence(call: Callers, cast: Cast, mira: None) -> None:
    activated(cast.actor("gwen"), PAIR)
    answer = call("ada").post("substitutions/", asked(**days(2, 5))).json()
    left = [(one["template"], one["step"], one["here"]) for one in answer["warnings"] if one["code"] == "nobody_left"]
    assert left == [("pair", "approve", ["Mira"])]
    create_person(actor=None, tenant=cast.acme, name="jo", level=3, roles=("finance",), email="j@a.example")
    assert call("ada").get(f"substitutions/{answer['id']}/").json()["warnings"] == []


def test_manager_is_set_by_rest_and_never_in_a_circle(call: Callers, cast: Cast) -> None:
    gwen = call("gwen")
    assert gwen("PUT", "people/uri/", {"manager": "ada"}).json()["manager"] == "ada"
    assert gwen("PUT", "people/ada/", {"manager": "uri"}).json()["errors"][0]["code"] == "circle"
    assert gwen("PUT", "people/ada/", {"manager": "sam"}).json()["errors"][0]["code"] == "unknown"
    assert gwen("PUT", "people/uri/", {"full_name": "Uri R"}).json()["manager"] == "ada"
    assert gwen("PUT", "people/uri/", {"manager": None}).json()["manager"] is None
    assert call("ada")("PUT", "people/uri/", {"manager": "ada"}).status_code == 403
    entered = call("ada").post("substitutions/", {"person": "uri", "deputy": None, **days(1, 2)})
    assert entered.status_code == 201


def test_role_is_marked_confidential_by_rest(call: Callers, cast: Cast) -> None:
    gwen = call("gwen")
    assert gwen.post("roles/", {"name": "council", "confidential": True}).json()["confidential"]
    assert not gwen.get("roles/finance/").json()["confidential"]
    marked = gwen("PUT", "roles/finance/", {"confidential": True}).json()
    assert (marked["title"], marked["confidential"]) == ("Finance", True)
    assert gwen("PUT", "roles/finance/", {"title": "Money"}).json() == {
        "name": "finance", "title": "Money", "confidential": True,
    }  # fmt: skip
    assert call("ada")("PUT", "roles/finance/", {"confidential": False}).status_code == 403
