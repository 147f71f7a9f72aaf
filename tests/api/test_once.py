"""Idempotency-Key: the same request twice has one effect and one answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.http import HttpResponse

from engine.models import IdempotencyKey, Instance, TaskEvent, TemplateVersion
from tests.api.conftest import Callers, caller_of
from tests.api.scene import DRAFT, Scene, set_scene
from tests.cast import Cast
from tests.workflows import only_task, started

START = {"template": "approval", "input": {"amount": 1}}


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_scene(cast)


def test_start_sent_twice_starts_once(call: Callers, scene: Scene) -> None:
    uri, before = call("uri"), Instance.objects.count()
    first, second = uri.post("instances/", START, key="k1"), uri.post("instances/", START, key="k1")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert second["Idempotent-Replayed"] == "true"
    assert Instance.objects.count() == before + 1


def test_same_key_with_another_body_is_refused(call: Callers, scene: Scene) -> None:
    uri = call("uri")
    uri.post("instances/", START, key="k1")
    answer = uri.post("instances/", {**START, "input": {"amount": 2}}, key="k1")
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


def test_spaces_and_order_of_a_body_do_not_make_it_another(call: Callers, scene: Scene) -> None:
    uri = call("uri")
    first = uri.post("instances/", START, key="k1")
    other = b'{ "input": {"amount": 1},\n "template": "approval"}'
    assert uri("POST", "instances/", other, **{"Idempotency-Key": "k1"}).content == first.content


def test_key_belongs_to_one_actor_and_one_route(call: Callers, scene: Scene) -> None:
    before = Instance.objects.count()
    ids = {call(who).post("instances/", START, key="k1").json()["id"] for who in ("uri", "adam")}
    assert len(ids) == 2
    assert Instance.objects.count() == before + 2
    assert call("gwen").post("templates/validate/", {"source": DRAFT}, key="k1").status_code == 200


def test_same_key_at_two_tasks_claims_both(call: Callers, cast: Cast, scene: Scene) -> None:
    other = str(only_task(started(cast.actor("uri"), "approval", amount=2)).pk)
    answers = [call("ada").post(f"tasks/{task}/claim/", key="k1").json() for task in (scene.task, other)]
    assert [answer["id"] for answer in answers] == [scene.task, other]


def test_refused_act_leaves_no_key(call: Callers, scene: Scene) -> None:
    refused = call("adam").post(f"tasks/{scene.task}/claim/", key="k1")
    assert refused.status_code == 403
    assert not IdempotencyKey.objects.exists()


def test_claim_and_completion_sent_twice_count_once(call: Callers, scene: Scene) -> None:
    ada, answer = call("ada"), {"outcome": "approve", "values": {"note": "ok"}}
    claims = [ada.post(f"tasks/{scene.task}/claim/", key="c") for _ in range(2)]
    ends = [ada.post(f"tasks/{scene.task}/complete/", answer, key="d") for _ in range(2)]
    assert [each.status_code for each in claims + ends] == [200] * 4
    assert ends[0].content == ends[1].content
    assert TaskEvent.objects.filter(task_id=scene.task, kind="claimed").count() == 1
    assert TaskEvent.objects.filter(task_id=scene.task, kind="completed").count() == 1


def test_completion_without_key_sent_twice_is_told_that_it_was_answered(call: Callers, scene: Scene) -> None:
    ada, answer = call("ada"), {"outcome": "approve", "values": {"note": "ok"}}
    ada.post(f"tasks/{scene.task}/complete/", answer)
    again = ada.post(f"tasks/{scene.task}/complete/", answer)
    assert (again.status_code, again.json()["code"]) == (409, "answered")


def test_draft_saved_twice_is_one_version(call: Callers, scene: Scene) -> None:
    gwen, before = call("gwen"), TemplateVersion.objects.count()
    answers = [gwen.post("templates/", {"source": DRAFT}, key="k") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert TemplateVersion.objects.count() == before + 1


def at_once(sends: list[object]) -> list[HttpResponse]:
    """Send all requests at the same moment, each on a connection of its own."""

    def run(send: object) -> HttpResponse:
        try:
            return send()  # type: ignore[operator, no-any-return]
        finally:
            connection.close()

    with ThreadPoolExecutor(len(sends)) as pool:
        return list(pool.map(run, sends))


def test_twins_at_the_same_moment_start_once(committed_cast: Cast) -> None:
    set_scene(committed_cast)
    before = Instance.objects.count()
    uri = caller_of("uri")
    answers = at_once([lambda: uri.post("instances/", START, key="twins")] * 8)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert Instance.objects.count() == before + 1


def test_claim_at_the_same_moment_has_one_winner_who_is_named(committed_cast: Cast) -> None:
    from engine.services.people.accounts import grant_role

    scene = set_scene(committed_cast)
    for name in ("adam", "gwen"):
        grant_role(actor=None, person=getattr(committed_cast, name), role="finance")
    callers = {name: caller_of(name) for name in ("ada", "adam", "gwen")}
    sends = [lambda caller=caller: caller.post(f"tasks/{scene.task}/claim/") for caller in callers.values()]
    answers = dict(zip(callers, at_once(sends), strict=True))
    winners = [name for name, answer in answers.items() if answer.status_code == 200]
    assert len(winners) == 1
    for name, answer in answers.items():
        if name not in winners:
            assert (answer.status_code, answer.json()["code"], answer.json()["winner"]) == (409, "claimed", winners[0])
