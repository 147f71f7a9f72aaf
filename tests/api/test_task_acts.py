"""Tasks over REST besides claim and complete: assigned, taken, begun, discussed, held, snoozed."""

from __future__ import annotations

import pytest

from tests.api.conftest import Callers
from tests.api.scene import Scene, set_scene
from tests.cast import Cast
from tests.workflows import activated, only_task, started

NO_DRAFT = {"values": {}, "outcome": "", "comment": "", "saved_by": "", "saved_at": None}


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_scene(cast)


def test_next_is_claimed_once_for_a_key_and_then_there_is_none(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    taken = [ada.post("tasks/next/", {"template": "approval"}, key="k-1") for _ in range(2)]
    assert [(answer.status_code, answer.json()["id"]) for answer in taken] == [(200, scene.task)] * 2
    assert ada.post("tasks/next/").status_code == 204


def test_bulk_answers_row_by_row(call: Callers, scene: Scene) -> None:
    unknown = "01999999-9999-7999-8999-999999999999"
    body = {"action": "claim", "ids": [scene.task, unknown]}
    rows = call("ada").post("tasks/bulk/", body).json()["results"]
    assert [(row["id"], row["ok"], row["code"]) for row in rows] == [
        (scene.task, True, ""),
        (unknown, False, "not_found"),
    ]
    assert rows[0]["task"]["assignee"] == "ada"
    assert call("ada").post("tasks/bulk/", {**body, "ids": []}).json()["errors"][0]["path"] == "ids"


def test_bulk_completes_what_needs_no_answer_of_its_own(call: Callers, cast: Cast, scene: Scene) -> None:
    ada, mine = call("ada"), [str(only_task(started(cast.actor("ada"), "two")).pk) for _ in range(2)]
    body = {"action": "complete", "ids": mine, "outcome": "done", "comment": "seen"}
    first, again = ada.post("tasks/bulk/", body, key="b-1"), ada.post("tasks/bulk/", body, key="b-1")
    rows = first.json()["results"]
    assert [(row["ok"], row["task"]["status"], row["task"]["comment"]) for row in rows] == [
        (True, "completed", "seen")
    ] * 2
    assert again.content == first.content
    mixed = ada.post("tasks/bulk/", {**body, "ids": [*mine, scene.task]})
    assert (mixed.status_code, mixed.json()["errors"][0]["code"]) == (400, "mixed")
    (asked,) = ada.post("tasks/bulk/", {**body, "ids": [scene.task], "outcome": "approve"}).json()["results"]
    assert (asked["ok"], asked["code"]) == (False, "own_answer")


def test_draft_is_kept_shown_and_thrown_away(call: Callers, scene: Scene) -> None:
    ada, path = call("ada"), f"tasks/{scene.task}/draft/"
    assert ada.get(path).json() == NO_DRAFT
    kept = ada.post(path, {"values": {"note": 7}}).json()
    assert (kept["values"], kept["saved_by"]) == ({"note": 7}, "ada")
    assert ada.get(path).json() == kept
    assert call("adam").get(path).json() == NO_DRAFT
    assert ada("DELETE", path).status_code == 204
    assert ada.get(path).json() == NO_DRAFT


def test_assign_names_the_rule_that_forbids_it(call: Callers, scene: Scene) -> None:
    gwen, path = call("gwen"), f"tasks/{scene.task}/assign/"
    refused = gwen.post(path, {"user": "adam"}).json()
    assert (refused["status"], refused["code"]) == (403, "not_candidate")
    assert "Adam" in refused["detail"]
    assert gwen.post(path, {"user": "nobody"}).json()["errors"][0]["path"] == "user"
    assert gwen.post(path, {"user": "ada"}).json()["assignee"] == "ada"


def test_why_speaks_of_another_by_name(call: Callers, scene: Scene) -> None:
    reasons = call("gwen").get(f"tasks/{scene.task}/why/", person="uri").json()["reasons"]
    assert "Uri" in reasons[1]["text"]
    assert not [reason for reason in reasons if " you " in f" {reason['text']} ".lower()]


def test_snoozed_tasks_have_their_own_view(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    ada.post(f"tasks/{scene.task}/claim/")
    assert ada.post(f"tasks/{scene.task}/snooze/", {"until": "2999-01-07T09:00:00Z"}).status_code == 200
    lists = {
        view: [row["id"] for row in ada.get("tasks/", view=view).json()["results"]] for view in ("mine", "snoozed")
    }
    assert lists == {"mine": [], "snoozed": [scene.task]}


REDO = """
workflow: redone
title: Redone
starters: {min_level: 2}
steps:
  - {id: fill, task: {title: Fill, users: [ada], allow: [redo]}}
  - {id: check, task: {title: Check, users: [gwen]}}
"""


def test_answered_task_is_done_again_once_for_a_key(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), REDO)
    case, ada = started(cast.actor("ada"), "redone"), call("ada")
    task = only_task(case)
    path = f"tasks/{task.pk}/redo/"
    assert (ada.post(path).status_code, ada.post(path).json()["code"]) == (409, "status")
    ada.post(f"tasks/{task.pk}/complete/", {"outcome": "done"})
    first, again = (ada.post(path, {"reason": "wrong"}, key="r-1") for _ in range(2))
    assert (first.status_code, again.content) == (200, first.content)
    assert first.json()["task"]["id"] == str(task.pk)
    assert [(one["step"], one["status"], one["assignee"]) for one in first.json()["tasks"]] == [
        ("fill", "claimed", "ada")
    ]
    assert only_task(case).iteration == "#2"
    assert ada.post(path).json()["code"] == "moved_on"
