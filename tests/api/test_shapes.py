"""What is answered, word for word as the contract says, and to whom."""

from __future__ import annotations

import json
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from engine.api.errors import STATUSES, TITLES
from engine.errors import WorkflowError
from engine.services.people.accounts import deactivate_person
from engine.services.people.tokens import create_token
from tests.api.conftest import Caller, Callers
from tests.api.scene import DRAFT, Scene, set_scene
from tests.cast import Cast
from tests.workflows import APPROVAL
from workflowplatform.accounts.models import Token
from workflowplatform.version import VERSION


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_scene(cast)


TASK = {
    "id", "instance", "template", "reference", "step", "title", "status", "assignee", "roles", "outcomes", "form", "values",
    "priority", "due_at",
}  # fmt: skip
INSTANCE = {
    "id", "template", "version", "status", "outcome", "output", "result", "reference", "state", "waits", "tasks",
}  # fmt: skip
HISTORY = {"seq", "at", "actor", "level", "action", "step", "iteration", "attempt", "cause", "old", "new"}
STEP = {"path", "iteration", "attempt", "status", "started_at", "ended_at", "input", "output", "error"}


def test_shapes_hold_what_the_contract_names(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    instance = ada.get(f"instances/{scene.instance}/").json()
    assert set(instance) >= INSTANCE
    assert set(instance["waits"][0]) == {"kind", "step", "due_at", "name"}
    (task,) = instance["tasks"]
    assert set(task) >= TASK
    assert task == ada.get(f"tasks/{scene.task}/").json()
    assert [{"name": each["name"], "title": each["title"]} for each in task["outcomes"]] == [
        {"name": "approve", "title": "Approve"},
        {"name": "reject", "title": "Reject"},
    ]
    assert all(set(row) >= HISTORY for row in ada.get(f"instances/{scene.instance}/history/").json())
    assert all(set(row) >= STEP for row in ada.get(f"instances/{scene.instance}/steps/").json())
    assert instance["started_at"].endswith("Z")


def test_moments_are_utc_whatever_zone_the_reader_lives_in(cast: Cast, scene: Scene) -> None:
    cast.ada.time_zone = "Asia/Tokyo"
    cast.ada.save()
    client = Client()
    client.force_login(cast.ada, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(f"/api/v1/instances/{scene.instance}/").json()["started_at"].endswith("Z")


def test_starter_below_level_four_does_not_see_the_task_of_others(call: Callers, scene: Scene) -> None:
    instance = call("uri").get(f"instances/{scene.instance}/").json()
    assert instance["tasks"] == []
    assert instance["waits"]


def test_why_explains_for_oneself_and_for_another(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    own = ada.get(f"tasks/{scene.task}/why/").json()
    assert (own["person"], own["may_act"]) == ("ada", True)
    other = ada.get(f"tasks/{scene.task}/why/", person="uri").json()
    assert (other["person"], other["may_act"]) == ("uri", False)
    assert {reason["code"] for reason in other["reasons"] if not reason["ok"]} == {
        "level",
        "four_eyes",
        "not_candidate",
    }


def test_version_is_shown_changed_and_thrown_away(call: Callers, scene: Scene) -> None:
    gwen, path = call("gwen"), "templates/idea/versions/1/"
    shown = gwen.get(path).json()
    assert (shown["source"], shown["revision"], shown["canonical"]["workflow"]) == (DRAFT, 1, "idea")
    changed = gwen("PUT", path, {"source": DRAFT.replace("Idea", "Better"), "revision": 1})
    assert (changed.status_code, changed.json()["revision"]) == (200, 2)
    late = gwen("PUT", path, {"source": DRAFT, "revision": 1})
    assert (late.status_code, late.json()["code"]) == (409, "revision")
    assert gwen("DELETE", path).status_code == 204
    assert gwen.get("templates/idea/").status_code == 404


def test_active_version_is_neither_changed_nor_thrown_away(call: Callers, scene: Scene) -> None:
    gwen, path = call("gwen"), "templates/approval/versions/1/"
    assert gwen("PUT", path, {"source": APPROVAL}).json()["code"] == "status"
    assert gwen("DELETE", path).status_code == 409


def test_version_moves_through_its_life(call: Callers, scene: Scene) -> None:
    gwen, path = call("gwen"), "templates/approval/versions/1/"
    assert gwen.post(path + "pause/").json()["status"] == "paused"
    assert gwen.post("instances/", {"template": "approval", "input": {"amount": 1}}).status_code == 409
    assert gwen.post(path + "pause/").status_code == 409
    assert gwen.post(path + "resume/").json()["status"] == "active"
    assert gwen.post(path + "archive/").json()["status"] == "archived"
    assert gwen.post(path + "activate/").json()["code"] == "status"


def test_draft_with_errors_is_saved_with_findings_and_cannot_be_activated(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    saved = gwen.post("templates/", {"source": "workflow: wrong\nsteps:\n  - id: a\n    sett: {b: 1}\n"})
    assert saved.status_code == 201
    assert set(saved.json()["findings"][0]) == {"code", "severity", "message", "line", "column", "path", "hint"}
    refused = gwen.post("templates/wrong/versions/1/activate/")
    assert (refused.status_code, refused.json()["code"]) == (422, "findings")
    assert refused.json()["findings"] == saved.json()["findings"]
    assert refused.json()["errors"][0]["code"] == saved.json()["findings"][0]["code"]
    assert gwen.get("templates/wrong/versions/1/export/?format=canonical").status_code == 422


def test_document_is_checked_without_being_saved(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    clean = gwen.post("templates/validate/", {"source": DRAFT.replace("idea", "fresh")}).json()
    assert (clean["findings"], clean["canonical"]["workflow"], len(clean["sha256"])) == ([], "fresh", 64)
    assert "canonical" not in gwen.post("templates/validate/", {"source": "steps: []"}).json()
    assert gwen.get("templates/fresh/").status_code == 404


def test_version_is_exported_in_three_forms(call: Callers, scene: Scene) -> None:
    gwen, path = call("gwen"), "templates/approval/versions/1/"
    assert gwen.get(path + "export/").content.decode() == APPROVAL
    document = gwen.get(path + "export/?format=json")
    assert document.json()["workflow"] == "approval"
    assert document["Content-Disposition"] == 'attachment; filename="approval-1.json"'
    assert gwen.get(path + "export/?format=canonical").json() == gwen.get(path).json()["canonical"]
    again = gwen.post("templates/validate/", {"source": json.dumps(document.json())}).json()
    assert again["sha256"] == gwen.get(path).json()["sha256"]


def test_template_tells_what_starting_it_asks_for(call: Callers, scene: Scene) -> None:
    shown = call("uri").get("templates/approval/").json()
    assert (shown["version"], shown["status"], shown["versions"]) == (1, "active", [])
    assert shown["input"]["required"] == ["amount"]
    assert [row["name"] for row in call("uri").get("templates/").json()["results"]] == ["approval"]
    assert [row["name"] for row in call("ada").get("templates/").json()["results"]] == ["approval", "idea", "two"]
    assert [each["version"] for each in call("ada").get("templates/idea/").json()["versions"]] == [1]


def test_conflict_names_who_won(call: Callers, cast: Cast, scene: Scene) -> None:
    from engine.services.people.accounts import grant_role

    grant_role(actor=None, person=cast.adam, role="finance")
    call("ada").post(f"tasks/{scene.task}/claim/")
    lost = call("adam").post(f"tasks/{scene.task}/claim/")
    assert (lost.status_code, lost.json()["code"], lost.json()["winner"]) == (409, "claimed", "ada")
    assert "Ada" in lost.json()["detail"]


def test_released_task_is_open_again(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    ada.post(f"tasks/{scene.task}/claim/")
    assert ada.post(f"tasks/{scene.task}/release/").json()["status"] == "open"
    assert ada.post(f"tasks/{scene.task}/release/").status_code == 409


def test_cancelled_instance_is_over_and_so_are_its_tasks(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    cancelled = ada.post(f"instances/{scene.instance}/cancel/", {"reason": "not needed"})
    assert (cancelled.status_code, cancelled.json()["status"], cancelled.json()["result"]) == (
        200,
        "cancelled",
        "cancelled",
    )
    assert (cancelled.json()["waits"], cancelled.json()["tasks"]) == ([], [])
    assert ada.get(f"tasks/{scene.task}/").json()["status"] == "cancelled"
    assert ada.post(f"instances/{scene.instance}/cancel/", {"reason": "again"}).status_code == 409
    assert ada.post(f"instances/{scene.instance}/cancel/").json()["errors"][0]["path"] == "reason"


def test_browser_session_needs_the_csrf_token_to_act(cast: Cast, scene: Scene) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.ada, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(f"/api/v1/tasks/{scene.task}/").status_code == 200
    refused = client.post(f"/api/v1/tasks/{scene.task}/claim/")
    assert (refused.status_code, refused.json()["code"]) == (403, "refused")


def test_token_of_a_person_who_left_is_worth_nothing(call: Callers, cast: Cast) -> None:
    ada = call("ada")
    deactivate_person(actor=None, person=cast.ada)
    assert ada.get("tasks/").status_code == 401


def test_token_that_outlived_its_person_is_worth_nothing(call: Callers, cast: Cast) -> None:
    ada = call("ada")
    type(cast.ada).objects.filter(pk=cast.ada.pk).update(is_active=False)
    assert ada.get("tasks/").status_code == 401


def test_token_is_refused_once_it_has_expired(cast: Cast) -> None:
    _, plain = create_token(actor=None, person=cast.ada, name="short", expires_in=timedelta(hours=1))
    assert Caller(plain).get("tasks/").status_code == 200
    Token.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    assert Caller(plain).get("tasks/").status_code == 401


def test_use_of_a_token_is_noted_once_a_minute(call: Callers, cast: Cast) -> None:
    ada = call("ada")
    ada.get("tasks/")
    first = Token.objects.get().last_used_at
    ada.get("tasks/")
    assert first is not None
    assert Token.objects.get().last_used_at == first
    Token.objects.update(last_used_at=first - timedelta(minutes=2))
    ada.get("tasks/")
    assert Token.objects.get().last_used_at > first - timedelta(minutes=1)  # type: ignore[operator]


def test_every_refusal_of_the_platform_has_a_status_and_every_status_a_title() -> None:
    def below(kind: type[WorkflowError]) -> set[type[WorkflowError]]:
        return {kind, *(each for child in kind.__subclasses__() for each in below(child))}

    ours = {kind for kind in below(WorkflowError) - {WorkflowError} if kind.__module__ == "engine.errors"}
    assert ours == set(STATUSES)
    assert set(STATUSES.values()) <= set(TITLES)


def test_health_is_open_and_says_little(stranger: Caller, db: None, valkey: Any) -> None:
    answer = stranger("GET", "health/")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": VERSION})


DETAILS = {
    "status",
    "version",
    "database",
    "redis",
    "schema",
    "work",
    "pending_signals",
    "oldest_due_seconds",
    "limbo",
    "dead_letters",
    "unavailable",
    "workers",
}


def test_health_tells_level_six_more(call: Callers, scene: Scene, valkey: Any, settings: Any) -> None:
    assert set(call("gwen").get("health/").json()) == {"status", "version"}
    told = call("zoe").get("health/").json()
    assert set(told) == DETAILS
    assert (told["pending_signals"], told["limbo"], told["dead_letters"], told["workers"]) == (0, 0, 0, 0)
    settings.WORKFLOW_HEALTH_DETAILS = True
    assert set(Caller()("GET", "health/").json()) == DETAILS


def test_health_is_degraded_without_redis(stranger: Caller, db: None, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    answer = stranger("GET", "health/")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


def test_health_cannot_serve_without_its_database(stranger: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    from engine.services import health

    def away(sql: str, values: Any = ()) -> tuple[Any, ...]:
        raise OperationalError("the database is away")

    monkeypatch.setattr(health, "_row", away)
    answer = stranger("GET", "health/")
    assert (answer.status_code, answer.json()["status"]) == (503, "down")


def test_version_is_the_projects() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION
