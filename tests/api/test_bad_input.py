"""Whatever is sent, the answer is a 4xx in problem+json and nothing changed; never a 5xx."""

from __future__ import annotations

import pytest

from engine.models import Instance, TemplateVersion
from tests.api.conftest import Caller, Callers
from tests.api.scene import Scene, open_task_ids, set_whole_scene
from tests.api.test_every_route_refuses import ROUTES
from tests.cast import Cast

WITH_BODIES = tuple(
    (method, path) for method, path in ROUTES if method in {"POST", "PUT"} and not path.endswith("attachments/")
)
"""Every route that reads JSON; a file comes as a form."""

BODIES = {
    "not JSON": b"{",
    "nothing inside": b" ",
    "two values": b"{} {}",
    "not UTF-8": b'{"source": "\xff\xfe"}',
    "NUL": b'{"source": "a\\u0000b", "template": "a\\u0000b", "comment": "\\u0000"}',
    "half a character": b'{"source": "\\ud800", "template": "\\ud800", "comment": "\\ud800"}',
    "not a number": b'{"input": NaN, "values": {"a": Infinity}, "template": "approval"}',
    "too large a number": b'{"input": {"amount": 99999999999999999999}, "template": "approval"}',
    "endless number": b'{"input": ' + b"9" * 5000 + b', "template": "approval"}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep inside": b'{"template": "approval", "input": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "a number": b"1",
    "unknown field": b'{"surprise": 1}',
    "half a field": b'{"\\ud800": 1}',
    "a name twice": b'{"template": "approval", "template": "other", "reason": "a", "reason": "a", "source": "", "source": ""}',
    "half a name twice": b'{"\\ud800": 1, "\\ud800": 2}',
    "half a name above a large number": b'{"\\ud800": {"amount": 99999999999999999999}}',
    "wrong types": b'{"source": 1, "template": [], "outcome": {}, "values": [], "comment": 5}',
}


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_bad_body_is_refused_and_changes_nothing(call: Callers, scene: Scene, body: bytes) -> None:
    before = (open_task_ids(), Instance.objects.count(), TemplateVersion.objects.count())
    for method, path in WITH_BODIES:
        who = "ada" if path.startswith("tasks") else "gwen"
        answer = call(who)(method, scene.address(path), body)
        assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json"), path
        assert set(answer.json()) >= {"type", "title", "status", "code", "detail", "errors"}
    assert (open_task_ids(), Instance.objects.count(), TemplateVersion.objects.count()) == before


def test_body_that_is_too_large_is_refused(call: Callers, settings: object) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000  # type: ignore[attr-defined]
    answer = call("gwen")("POST", "templates/", b'{"source": "' + b"x" * 2000 + b'"}')
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_body_of_another_kind_is_refused(call: Callers) -> None:
    gwen = call("gwen")
    answer = gwen.client.post(
        "/api/v1/templates/", {"source": "x"}, headers={"Authorization": f"Token {gwen.token}"}
    )  # a form
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_packed_body_is_refused(call: Callers) -> None:
    answer = call("gwen")("POST", "templates/validate/", b"\x1f\x8b", **{"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert "Content-Encoding: gzip" in answer.json()["detail"]


def test_refusals_say_what_to_send_instead(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    told = [
        gwen.get("instances/?started_after=today"),
        gwen("POST", "instances/", []),
        gwen.post("tasks/bulk/", {"action": "burn", "ids": [scene.task]}),
        gwen.post("instances/", {"template": "nowhere"}),
        gwen.post("instances/", {"template": "approval", "version": 9}),
        gwen.post("tokens/", {"person": "sam"}),
        gwen.post("roles/", {"name": "finance"}),
        gwen("GET", "templates"),
        gwen("POST", f"tasks/{scene.task}/claim"),
        Caller()("GET", "templates/"),
    ]
    bodies = [answer.json() for answer in told]
    assert [(body["code"], [(error["path"], error["code"]) for error in body["errors"]]) for body in bodies] == [
        ("invalid", [("started_after", "invalid")]),
        ("invalid", [("", "object")]),
        ("invalid", [("action", "invalid_choice")]),
        ("not_found", [("template", "not_found")]),
        ("not_found", [("template", "not_found"), ("version", "not_found")]),
        ("not_found", [("person", "not_found")]),
        ("invalid", [("name", "taken")]),
        *[("not_found", [])] * 2,
        ("not_authenticated", []),
    ]
    assert all(action in bodies[2]["errors"][0]["message"] for action in ("claim", "release", "assign", "complete"))


def test_moments_in_refusals_are_written_as_everywhere(call: Callers, scene: Scene) -> None:
    claimed = call("ada").post(f"tasks/{scene.task}/claim/").json()["claimed_at"]
    lost = call("gwen").post(f"tasks/{scene.task}/claim/")
    assert (lost.status_code, lost.json()["claimed_at"]) == (409, claimed)


UNKEEPABLE = {"half a character": b'"\\ud800"', "NUL": b'"\\u0000"', "large number": b"90071992547409930"}


@pytest.mark.parametrize("value", UNKEEPABLE.values(), ids=UNKEEPABLE.keys())
def test_value_that_cannot_be_kept_is_refused_at_its_place(call: Callers, scene: Scene, value: bytes) -> None:
    body = b'{"outcome": "approve", "values": {"note": "ok"}, "comment": ' + value + b"}"
    answer = call("ada")("POST", f"tasks/{scene.task}/complete/", body)
    assert answer.status_code == 400
    assert [error["path"] for error in answer.json()["errors"]] == ["comment"]


def test_unknown_field_is_refused_by_name(call: Callers, scene: Scene) -> None:
    answer = call("uri").post("instances/", {"template": "approval", "input": {"amount": 1}, "referense": "x"}).json()
    assert [(error["path"], error["code"]) for error in answer["errors"]] == [("referense", "unknown")]


def test_input_that_does_not_fit_is_refused_field_by_field(call: Callers, scene: Scene) -> None:
    answer = call("uri").post("instances/", {"template": "approval", "input": {"amount": -1}})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert [error["path"] for error in answer.json()["errors"]] == ["input.amount"]


def test_answer_that_does_not_fit_keeps_the_task_open(call: Callers, scene: Scene) -> None:
    ada, complete = call("ada"), f"tasks/{scene.task}/complete/"
    assert (
        ada.post(complete, {"outcome": "approve", "values": {"note": 5}}).json()["errors"][0]["path"] == "values.note"
    )
    assert ada.post(complete, {"outcome": "perhaps"}).json()["errors"][0]["path"] == "outcome"
    assert ada.post(complete, {"outcome": "reject", "values": {"note": "no"}}).json()["code"] == "comment_required"
    assert ada.get(f"tasks/{scene.task}/").json()["status"] == "open"


BAD_QUERIES = (
    "instances/?limit=0", "instances/?limit=201", "instances/?limit=x", "instances/?limit=-1", "instances/?limit=1e2",
    "instances/?cursor=x", "instances/?cursor=W2ZhbHNlXQ", "instances/?cursor=%00", "tasks/?cursor=W2ZhbHNlLDEsMiwzXQ",
    "instances/?cursor=W2ZhbHNlLCAibm9wZSJd", "templates/?cursor=W2ZhbHNlLCAxXQ",
    "instances/?status=unknown", "instances/?template=%00", "instances/?reference=%00", "instances/?started_after=today",
    "instances/?started_after=2026-01-01", "instances/?state.=1", "instances/?state.a.=1", "instances/?state..a=1",
    "tasks/?column.=x",
    "instances/?status=running&status=failed", "instances/?limit=1&limit=2", "stats/?x=1&x=2",
    "instances/?started_after=0001-01-01T00:00:00%2B23:59", "instances/?waiting_kind=x", "instances/?surprise=1",
    "tasks/?view=all", "tasks/?view=", "tasks/?sort=", "tasks/?instance=x", "tasks/?template=%00", "tasks/?surprise=1",
    "templates/?surprise=1",
    "templates/approval/versions/1/export/?format=xml",
    "schedules/?surprise=1", "schedules/?status=gone", "schedules/{schedule}/preview/?n=0", "schedules/{schedule}/preview/?n=101",
    "schedules/{schedule}/preview/?n=x", "schedules/{schedule}/preview/?m=1", "schedules/?cursor=x",
    "dead-letters/?instance=x", "dead-letters/?surprise=1", "dead-letters/?limit=0",
    "audit/?subject=x", "audit/?actor=%00", "audit/?after=today", "audit/?after=1", "audit/?after=1-x", "audit/?after=-1-1",
    "audit/?after=9223372036854775808-1", "audit/?after=9223372036854775807-1", "audit/?after=%D9%A1-1", "audit/?after=&cursor=x",
    "audit/export/?format=xml", "audit/export/?since=today", "audit/export/?surprise=1",
    "audit/?since=today", "audit/?surprise=1", "audit/?cursor=W2ZhbHNlLCAibm9wZSJd",
    "audit/?cursor=W2ZhbHNlLCA5OTk5OTk5OTk5OTk5OTk5OTk5OTldCg", "calendars/?surprise=1",
    "webhooks/?surprise=1", "webhooks/?status=gone", "deliveries/?webhook=x", "deliveries/?status=lost", "deliveries/?event=%00",
)  # fmt: skip


def test_bad_query_is_refused(call: Callers, scene: Scene) -> None:
    for path in BAD_QUERIES:
        answer = call("ada").get(scene.address(path))
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), path
        assert answer.json()["errors"]


ODD_ADDRESSES = (
    "templates/%00/", "templates/a%00b/versions/1/", "templates/approval/versions/99999999999999999999/",
    "templates/approval/versions/-1/", "instances/1/", "instances/%00/", "tasks/x/claim/", "tasks/%ff/", "tasks/../../admin/",
    "instances/00000000-0000-0000-0000-000000000000/", "schedules/1/", "dead-letters/%00/replay/", "secrets/%00/",
    "calendars/a%20b/", "templates/a%0Ab/", "%0A", "tasks/%E2%80%A8/",
)  # fmt: skip


def test_odd_address_is_not_found(call: Callers, scene: Scene) -> None:
    for path in ODD_ADDRESSES:
        answer = call("ada").get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path


def test_odd_address_with_a_key_is_not_found(call: Callers, scene: Scene) -> None:
    for path in (
        "templates/a%00b/versions/1/activate/",
        "tasks/%00/claim/",
        "templates/" + "x" * 300 + "/versions/1/pause/",
    ):
        answer = call("gwen").post(path, {}, key="k")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path


def test_why_about_an_unknown_person_is_not_found(call: Callers, scene: Scene) -> None:
    for name in ("nobody", "sam", "%00", "%ff", ""):
        assert call("ada").get(f"tasks/{scene.task}/why/?person={name}").status_code == 404, name


def test_token_that_is_none_is_not_authenticated(stranger: Caller, db: None) -> None:
    for given in ("Token", "Token ", "Token a b", "Token \xff", "Token " + "x" * 5000, "Token \xe2\x82\xac"):
        answer = stranger("GET", "instances/", Authorization=given)
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), given


def test_bad_idempotency_key_is_refused(call: Callers, scene: Scene) -> None:
    for key in ("", "x" * 201, "a\tb", "ü"):
        start = {"template": "approval", "input": {"amount": 1}}
        answer = call("uri")("POST", "instances/", start, **{"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "Idempotency-Key"), key


SOURCES = {
    "empty": "",
    "a list": "[]",
    "no YAML": "a: [",
    "alias": "a: &x 1\nb: *x",
    "long name": f"workflow: {'x' * 300}\nsteps: []",
    "long title": f"workflow: t\ntitle: {'x' * 500}\nsteps:\n  - id: a\n    set: {{b: 1}}",
    "long tag": f"workflow: t\ntags: [{'x' * 5000}]\nsteps:\n  - id: a\n    set: {{b: 1}}",
    "long id": f"workflow: t\nsteps:\n  - id: {'x' * 300}\n    set: {{b: 1}}",
    "deep": "workflow: t\nsteps: " + "[" * 500 + "]" * 500,
    "odd letters": "workflow: t\x01\nsteps: []",
    "numbers": "workflow: 1\nsteps: 2",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_odd_document_is_answered_with_findings_or_refused(call: Callers, source: str) -> None:
    gwen = call("gwen")
    assert gwen.post("templates/validate/", {"source": source}).status_code in {200, 400}
    saved = gwen.post("templates/", {"source": source})
    assert saved.status_code in {201, 400}
    if saved.status_code == 201:
        path = f"templates/{saved.json()['name']}/versions/1/"
        assert gwen.post(path + "activate/").status_code in {200, 422}
        assert gwen.get(path + "export/?format=json").status_code in {200, 422}


def test_foreign_host_is_a_problem_too(call: Callers) -> None:
    answer = call("gwen")("GET", "templates/", Host="evil.example")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


def test_stream_is_not_asked_for_its_headers_alone(call: Callers) -> None:
    answer = call("gwen")("HEAD", "stream/")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, OPTIONS")


def test_defect_of_ours_is_a_problem_too(call: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.services.insights.stats.tenant_stats", lambda actor: 1 / 0)
    answer = call("gwen").get("stats/")
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer.json()["code"] == "defect"
    assert "division" not in answer.content.decode()
