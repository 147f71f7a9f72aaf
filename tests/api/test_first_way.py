"""One case over REST alone, from the document to its end."""

from tests.api.conftest import Callers
from tests.workflows import APPROVAL


def test_case_goes_from_document_to_end_over_rest(call: Callers) -> None:
    gwen, ada, uri = call("gwen"), call("ada"), call("uri")
    saved = gwen.post("templates/", {"source": APPROVAL})
    assert saved.status_code == 201
    assert {**saved.json(), "revision": 0, "sha256": ""} == {
        "name": "approval", "version": 1, "status": "draft", "findings": [], "revision": 0, "sha256": "",
    }  # fmt: skip
    assert gwen.post("templates/approval/versions/1/activate/").json()["status"] == "active"

    started = uri.post("instances/", {"template": "approval", "input": {"amount": 12}})
    assert started.status_code == 201
    instance = started.json()
    assert (instance["status"], instance["result"], instance["reference"]) == ("running", "in_progress", "APP-12")
    assert [(wait["kind"], wait["step"]) for wait in instance["waits"]] == [("task", "review")]

    (task,) = ada.get("tasks/", view="available").json()["results"]
    assert (task["title"], task["instance"], task["status"]) == ("Review 12", instance["id"], "open")
    assert ada.get(f"tasks/{task['id'].upper()}/").json() == task, "some databases give ids back in capitals"
    assert ada.post(f"tasks/{task['id']}/claim/").json()["assignee"] == "ada"
    done = ada.post(f"tasks/{task['id']}/complete/", {"outcome": "approve", "values": {"note": "ok"}})
    assert (done.status_code, done.json()["status"], done.json()["state"]) == (200, "completed", {"approved": True})
    assert (done.json()["task"]["status"], done.json()["tasks"]) == ("completed", [])

    steps = ada.get(f"instances/{instance['id']}/steps/").json()
    assert [(step["path"], step["status"]) for step in steps][:1] == [("review", "success")]
    history = ada.get(f"instances/{instance['id']}/history/").json()
    assert [row["seq"] for row in history] == list(range(1, len(history) + 1))
    assert (history[0]["actor"], history[0]["action"]) == ("uri", "start_workflow")


BRANCHES = """
workflow: branches
title: Branches
steps:
  - id: both
    parallel:
      branches:
        one:
          - {id: first, task: {title: First}}
          - {id: pause, wait: {for: P1D}}
        two:
          - id: second
            task: {title: Second}
            reminders: [{every: P1D, times: 2, steps: [{set: {reminded: true}}]}]
"""


def test_an_act_answers_the_same_instance_as_a_look_right_after_it(call: Callers) -> None:
    """What an act answers is put together from what it wrote, not read again: it must say what the tables say."""
    gwen = call("gwen")
    gwen.post("templates/", {"source": BRANCHES})
    assert gwen.post("templates/branches/versions/1/activate/").status_code == 200
    begun = gwen.post("instances/", {"template": "branches"}).json()
    address = f"instances/{begun['id']}/"
    assert begun == gwen.get(address).json()
    for step in ("first", "second"):
        (task,) = (task for task in begun["tasks"] if task["step"] == step)
        done = gwen.post(f"tasks/{task['id']}/complete/", {}).json()
        assert {name: done[name] for name in begun} == gwen.get(address).json()
        assert done["task"] == gwen.get(f"tasks/{task['id']}/").json()
    assert [wait["kind"] for wait in done["waits"]] == ["timer"]
