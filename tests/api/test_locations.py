"""201 says where to find what was made."""

from __future__ import annotations

from engine.api.operations_table import OPERATIONS
from tests.api.conftest import Callers
from tests.api.scene import set_whole_scene
from tests.api.test_every_route_refuses import BODIES
from tests.cast import Cast

COMMENTS = {"tasks/{task_id}/comment/", "instances/{instance_id}/comment/"}
FILES = {"tasks/{task_id}/attachments/", "instances/{instance_id}/attachments/"}
"""A comment has no address of its own; a file is sent as a form."""
MAKING = {route: told.keyed for (_, route), told in OPERATIONS.items() if told.status == 201}
SAID_ONCE = {"secret", "token", "findings"}


def test_what_was_made_is_found_where_every_answer_says(call: Callers, cast: Cast) -> None:
    set_whole_scene(cast)
    gwen, wrong = call("gwen"), []
    for route, keyed in MAKING.items():
        if route in COMMENTS | FILES:
            continue
        made = gwen.post(route, BODIES[route], key="k-1" if keyed else None)
        found = gwen.get(made["Location"])
        same = {name: value for name, value in made.json().items() if name not in SAID_ONCE}
        if found.status_code != 200 or not same.items() <= found.json().items():
            wrong.append((route, made["Location"], found.content))
        if keyed:
            again = gwen.post(route, BODIES[route], key="k-1")
            assert (again["Idempotent-Replayed"], again["Location"]) == ("true", made["Location"])
    assert wrong == []


def test_start_without_a_key_says_so_too_and_a_comment_stands_in_its_list(call: Callers, cast: Cast) -> None:
    task = set_whole_scene(cast).task
    started = call("uri").post("instances/", BODIES["instances/"])
    assert started["Location"] == f"http://testserver/api/v1/instances/{started.json()['id']}/"
    said = call("ada").post(f"tasks/{task}/comment/", {"text": "Look twice"})
    assert (said.status_code, said.has_header("Location")) == (201, False)
