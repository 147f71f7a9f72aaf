"""Schedules, simulation, audit, secrets and calendars over REST."""

from __future__ import annotations

from typing import Any

import pytest

from engine.models import Audit, Instance, Secret
from tests.api.conftest import Callers, caller_of
from tests.api.scene import DRAFT, Scene, set_whole_scene
from tests.api.test_lists import walk
from tests.cast import Cast
from tests.services.test_auditing import tamper


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


def test_schedule_lives_from_creation_to_its_end(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    body = {"template": "approval", "cron": "30 2 * * *", "timezone": "Europe/Berlin", "input": {"amount": 4}}
    made = ada.post("schedules/", {**body, "overlap": "allow", "catch_up": "none", "window": "PT1H", "dst": "skip"})
    assert made.status_code == 201
    schedule = made.json()
    assert {name: schedule[name] for name in body} == body
    assert (schedule["owner"], schedule["status"], schedule["declared"]) == ("ada", "active", False)
    path = f"schedules/{schedule['id']}/"
    assert ada.get(path).json() == schedule
    runs = ada.get(path + "preview/", n="3").json()
    assert len(runs) == 3
    assert (runs[0]["at"], runs[0]["local"][11:16], runs[0]["reason"]) == (schedule["next_at"], "02:30", "")
    assert len(ada.get(path + "preview/").json()) == 10
    assert ada.post(path + "pause/").json()["status"] == "paused"
    assert ada.post(path + "resume/").json()["status"] == "active"
    assert ada("DELETE", path).status_code == 204
    assert ada.get(path).json()["status"] == "cancelled"


def test_schedule_at_one_moment_has_one_run(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    made = ada.post(
        "schedules/", {"template": "approval", "once_at": "2090-01-07T10:00:00+01:00", "input": {"amount": 3}}
    ).json()
    assert (made["once_at"], made["cron"]) == ("2090-01-07T09:00:00Z", "")
    (run,) = ada.get(f"schedules/{made['id']}/preview/").json()
    assert run["at"] == "2090-01-07T09:00:00Z"


def test_schedule_whose_calendar_leaves_no_day_has_no_run(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    body = {"template": "approval", "cron": "0 9 * * mon", "calendar": "office", "input": {"amount": 3}}
    made = gwen.post("schedules/", body).json()
    gwen("PUT", "calendars/office/", {"hours": {"tue": ["09:00-17:00"]}})
    assert gwen.get(f"schedules/{made['id']}/preview/").json() == []
    refused = gwen.post("schedules/", body)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "cron_never")


def test_schedules_are_filtered(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    assert [row["id"] for row in ada.get("schedules/", template="approval").json()["results"]] == [scene.schedule]
    assert ada.get("schedules/", status="paused,done").json()["results"] == []
    assert call("uri").get("schedules/").json()["code"] == "level"


SIMULATE = "templates/approval/versions/1/simulate/"
ANSWERED = {
    "as": "uri",
    "people": {"ann": {"roles": ["finance"]}, "uri": {"level": 2}},
    "start": {"amount": 5},
    "answers": {"review": {"by": "ann", "outcome": "approve", "note": "ok"}},
}


def test_simulation_plays_a_version_and_saves_nothing(call: Callers, scene: Scene) -> None:
    before = Instance.objects.count()
    green = call("gwen").post(SIMULATE, {**ANSWERED, "expect": {"status": "completed", "state": {"approved": True}}})
    assert (green.status_code, green.json()["passed"], green.json()["failures"]) == (200, True, [])
    assert green.json()["result"]["path"] == ["review", "decide", "mark"]
    red = call("gwen").post(SIMULATE, {**ANSWERED, "expect": {"state": {"approved": False}}}).json()
    assert (red["passed"], len(red["failures"])) == (False, 1)
    assert Instance.objects.count() == before


def test_simulation_takes_a_draft_but_not_one_with_errors(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    assert gwen.post("templates/idea/versions/1/simulate/").json()["result"]["state"] == {"noted": True}
    gwen("PUT", "templates/idea/versions/1/", {"source": DRAFT.replace("set:", "sett:")})
    answer = gwen.post("templates/idea/versions/1/simulate/")
    assert (answer.status_code, answer.json()["code"]) == (422, "findings")
    assert answer.json()["findings"]


NONSENSE: tuple[dict[str, Any], ...] = (
    {"at": "never"},
    {"people": {"ann": [1]}},
    {"people": {"ann": {"level": "high"}}, "as": "ann"},
    {"start": [], "expect": {"status": "completed"}},
    {"answers": {"review": 5}},
    {"do": [{}]},
    {"do": [{"advance": "P" + "9" * 30 + "Y"}]},
    {"do": [{"advance": "P199Y"}] * 100},
    {"at": "9999-12-31", "do": [{"advance": "P9D"}]},
    {"do": [{"complete": {}}], "start": {"amount": 5}},
    {"signals": [{}]},
    {"signals": [{"name": "go", "at": "later"}]},
    {"expect": {"order": 5}},
    {"expect": {"surprise": 1}},
)


def test_simulation_of_nonsense_is_red_and_never_breaks(call: Callers, scene: Scene) -> None:
    for body in NONSENSE:
        answer = call("gwen").post(SIMULATE, {"start": {"amount": 5}, **body})
        assert (answer.status_code, answer.json().get("passed")) == (200, False), body


def test_audit_tells_what_was_done_newest_first(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    rows = ada.get("audit/", subject=scene.instance).json()["results"]
    assert {(row["subject_kind"], row["subject"]) for row in rows} == {("instance", scene.instance)}
    history = ada.get(f"instances/{scene.instance}/history/").json()
    assert [row["seq"] for row in reversed(rows)] == [row["seq"] for row in history]
    assert {**rows[-1], **history[0]} == rows[-1]
    assert {row["actor"] for row in ada.get("audit/", actor="uri").json()["results"]} == {"uri"}
    assert len(ada.get("audit/", action="create_secret").json()["results"]) == 1
    assert ada.get("audit/", since="2100-01-01T00:00:00Z").json()["results"] == []
    assert ada.get("audit/", after="2100-01-01T00:00:00Z").json()["results"] == []


def test_audit_is_walked_by_cursor(call: Callers, scene: Scene) -> None:
    ada = call("ada")
    pages = walk(ada, "audit/?limit=4")
    ids = [each for page in pages for each in page]
    assert ids == sorted(set(ids), reverse=True)
    assert len(ids) == Audit.objects.filter(tenant__name="acme").count() > 8


def test_audit_that_was_changed_is_found(committed_cast: Cast) -> None:
    scene, ada, stan = set_whole_scene(committed_cast), caller_of("ada"), caller_of("stan")
    whole = ada.get("audit/verify/").json()
    assert (whole["ok"], whole["broken"]) == (True, [])
    assert whole["rows"] == Audit.objects.filter(tenant__name="acme").count()
    tamper(f"UPDATE wf_audit SET actor_name = 'nobody' WHERE subject_id = '{scene.instance}' AND seq = 1")
    broken = {"subject_kind": "instance", "subject": scene.instance, "seq": 1, "what": "it was changed"}
    assert ada.get("audit/verify/").json() == {**whole, "ok": False, "broken": [broken]}
    assert stan.get("audit/verify/").json()["ok"]


def test_secret_goes_in_and_never_comes_out(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    put = gwen("PUT", "secrets/mail_key/", {"value": "very-hidden"})
    listed = gwen.get("secrets/")
    assert (put.status_code, set(put.json())) == (200, {"name", "origins", "changed_by", "changed_at"})
    assert [row["name"] for row in listed.json()["results"]] == ["api_key", "mail_key"]
    assert b"very-hidden" not in put.content + listed.content + gwen.get("audit/").content
    assert gwen("DELETE", "secrets/mail_key/").status_code == 204
    assert gwen("DELETE", "secrets/mail_key/").status_code == 404
    assert list(Secret.objects.values_list("name", flat=True)) == ["api_key"]


def test_calendar_is_written_whole(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    body = {
        "title": "Office", "timezone": "Europe/Berlin", "hours": {"mon": ["09:00-12:00", "13:00-17:00"]},
        "holidays": ["12-25"], "half_days": {"12-24": ["09:00-12:00"]},
    }  # fmt: skip
    put = gwen("PUT", "calendars/office/", body).json()
    assert {name: put[name] for name in body} == body
    assert gwen.get("calendars/").json()["results"] == [put]


def test_calendar_goes_when_nothing_counts_by_it(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    body = {"template": "approval", "cron": "0 9 * * mon", "calendar": "office", "input": {"amount": 3}}
    made = gwen.post("schedules/", body).json()
    refused = gwen("DELETE", "calendars/office/")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert "Approval" in refused.json()["detail"]
    gwen("DELETE", f"schedules/{made['id']}/")
    assert gwen("DELETE", "calendars/office/").status_code == 204
    assert gwen("DELETE", "calendars/office/").status_code == 404
