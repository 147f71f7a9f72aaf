"""Lists: pages by cursor without loss or doubles, filters, and a number of queries that does not grow."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from engine.models import Instance, Task
from tests.api.conftest import Caller, Callers, caller_of
from tests.cast import Cast
from tests.workflows import APPROVAL, TWO_TASKS, activated, hurried, started
from workflowplatform.accounts.models import Token


@pytest.fixture
def seven(cast: Cast) -> list[Instance]:
    """Seven approvals with tasks of every priority, some due, some not."""
    activated(cast.actor("gwen"), APPROVAL)
    uri = cast.actor("uri")
    instances = [started(uri, "approval", amount=number) for number in range(1, 8)]
    due = datetime(2030, 1, 1, tzinfo=UTC)
    for number, task in enumerate(Task.objects.order_by("id")):
        late = None if number % 3 == 0 else due + timedelta(days=number % 2)
        hurried(task, priority=number % 2, due_at=late)
    return instances


def walk(caller: Caller, path: str, step: str = "next") -> list[list[str]]:
    """Follow the pages and return the ids of each."""
    pages, address = [], path
    while address:
        body = caller.get(address).json()
        pages.append([row.get("id") or row["name"] for row in body["results"]])
        address = body[step]
        assert len(pages) < 20
    return pages


@pytest.mark.parametrize("path", ["instances/", "tasks/?view=team", "tasks/?view=available"])
def test_pages_hold_everything_once_forwards_and_backwards(call: Callers, seven: list[Instance], path: str) -> None:
    ada, sign = call("ada"), "&" if "?" in path else "?"
    (whole,) = walk(ada, path)
    pages = walk(ada, f"{path}{sign}limit=2")
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert [each for page in pages for each in page] == whole
    last: dict[str, Any] = {"next": f"{path}{sign}limit=2"}
    while last["next"]:
        last = ada.get(last["next"]).json()
    back = walk(ada, last["previous"], "previous")
    assert [each for page in reversed(back) for each in page] == whole[:6]


def test_tasks_are_sorted_as_asked_and_walked_without_loss(call: Callers, seven: list[Instance]) -> None:
    for sort in ("urgent", "due", "newest"):
        (whole,) = walk(call("ada"), f"tasks/?sort={sort}")
        pages = walk(call("ada"), f"tasks/?sort={sort}&limit=3")
        assert [each for page in pages for each in page] == whole
        assert len(whole) == 7


NARROWED = {
    "role=finance": 7,
    "role=hr": 0,
    "priority=low": 4,
    "priority=low,normal": 7,
    "due_before=2030-01-01T12:00:00Z": 2,
    "due_after=2030-01-01T12:00:00Z": 2,
    "search=view 3": 1,
    "search=app-3": 1,
    "status=claimed": 0,
    "assignee=ada": 0,
}


def test_cursor_is_taken_only_by_the_list_and_order_that_gave_it_out(call: Callers, seven: list[Instance]) -> None:
    ada = call("ada")
    given = {path: ada.get(path, limit="1").json()["next"] for path in ("people/", "instances/", "tasks/?sort=newest")}
    cursor = {path: parse_qs(urlsplit(address).query)["cursor"][0] for path, address in given.items()}
    shifted = ("A" if cursor["people/"][0] != "A" else "B") + cursor["people/"][1:]
    for path, foreign in (
        ("roles/", cursor["people/"]),
        ("templates/", cursor["people/"]),
        ("schedules/", cursor["instances/"]),
        ("tasks/?sort=oldest", cursor["tasks/?sort=newest"]),
        ("people/", shifted),
        ("people/", cursor["people/"].partition(".")[0]),
    ):
        answer = ada.get(f"{path}{'&' if '?' in path else '?'}cursor={foreign}")
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "cursor"), path
    assert ada.get(f"people/?cursor={cursor['people/']}").status_code == 200


def test_cursor_of_tokens_tells_nothing_of_how_they_are_stored(call: Callers, cast: Cast) -> None:
    gwen = call("gwen")
    caller_of("gwen")
    address = gwen.get("tokens/", limit="1").json()["next"]
    text = parse_qs(urlsplit(address).query)["cursor"][0].partition(".")[0]
    told = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    assert not any(token.digest in told for token in Token.objects.all())
    (key,) = [row["key"] for row in gwen.get(address).json()["results"][:1]]
    assert key != gwen.get("tokens/", limit="1").json()["results"][0]["key"]


def test_tasks_are_narrowed(call: Callers, seven: list[Instance]) -> None:
    found = {asked: len(call("ada").get(f"tasks/?{asked}").json()["results"]) for asked in NARROWED}
    assert found == NARROWED


def test_what_a_list_of_tasks_does_not_know_is_refused_by_name(call: Callers, cast: Cast) -> None:
    for wrong in ("sort=colour", "priority=urgent", "status=lost", "due_before=soon", "colour=red"):
        answer = call("ada").get(f"tasks/?{wrong}")
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, wrong.split("=")[0])


def test_urgent_tasks_come_first(call: Callers, seven: list[Instance]) -> None:
    rows = call("ada").get("tasks/", view="available").json()["results"]
    order = [(-["low", "normal"].index(row["priority"]), row["due_at"] or "9", row["id"]) for row in rows]
    assert order == sorted(order)


def test_row_that_comes_between_two_pages_is_neither_lost_nor_doubles_another(
    call: Callers, cast: Cast, seven: list[Instance]
) -> None:
    ada = call("ada")
    first = ada.get("instances/", limit="4").json()
    started(cast.actor("uri"), "approval", amount=99)
    second = ada.get(first["next"]).json()
    assert [row["id"] for row in first["results"] + second["results"]] == [str(each.pk) for each in reversed(seven)]


def test_done_tasks_come_newest_first(call: Callers, seven: list[Instance]) -> None:
    ada = call("ada")
    tasks = [row["id"] for row in ada.get("tasks/", view="available").json()["results"]][:3]
    for task in tasks:
        ada.post(f"tasks/{task}/complete/", {"outcome": "approve", "values": {"note": "ok"}})
    assert [row for page in walk(ada, "tasks/?view=done&limit=2") for row in page] == tasks[::-1]
    assert ada.get("tasks/", view="done").json()["results"][0]["values"]["note"] == "ok"


def test_views_of_tasks_differ(call: Callers, seven: list[Instance]) -> None:
    ada, adam = call("ada"), call("adam")
    task = ada.get("tasks/", view="available").json()["results"][0]["id"]
    ada.post(f"tasks/{task}/claim/")
    assert [row["id"] for row in ada.get("tasks/", view="mine").json()["results"]] == [task]
    assert len(ada.get("tasks/", view="available").json()["results"]) == 6
    assert len(adam.get("tasks/", view="available").json()["results"]) == 0
    assert len(adam.get("tasks/", view="team").json()["results"]) == 7


def test_instances_are_filtered(call: Callers, cast: Cast, seven: list[Instance]) -> None:
    activated(cast.actor("gwen"), TWO_TASKS)
    other = str(started(cast.actor("ada"), "two").pk)
    ada = call("ada")

    def ids(**query: str) -> list[str]:
        return [row["id"] for row in ada.get("instances/", **query).json()["results"]]

    assert ids(template="two") == [other]
    assert ids(reference="APP-3") == [str(seven[2].pk)]
    assert len(ids(status="running,incident")) == 8
    assert ids(status="completed") == ids(waiting_kind="timer") == ids(outcome="none") == []
    assert len(ids(waiting_kind="task")) == 8
    assert ids(started_after="2100-01-01T00:00:00Z") == []
    assert ids(template="two", reference="APP-3") == []


def test_tasks_are_filtered(call: Callers, seven: list[Instance]) -> None:
    ada = call("ada")
    for query in ({"instance": str(seven[0].pk)}, {"reference": "APP-1"}):
        assert [row["instance"] for row in ada.get("tasks/", **query).json()["results"]] == [str(seven[0].pk)]
    assert ada.get("tasks/", template="two").json()["results"] == []


def test_user_sees_only_what_they_started(call: Callers, cast: Cast, seven: list[Instance]) -> None:
    other = started(cast.actor("ada"), "approval", amount=50)
    seen = [row["id"] for row in call("uri").get("instances/").json()["results"]]
    assert str(other.pk) not in seen
    assert len(seen) == 7
