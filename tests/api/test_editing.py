"""Two editors of one thing: the second is told, nothing is overwritten, and a reader need not read twice."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction

from engine.models import Schedule, Webhook
from engine.services.people.accounts import grant_role
from tests.api.conftest import Caller, Callers, caller_of
from tests.api.scene import DRAFT, Scene, set_whole_scene
from tests.cast import Cast
from tests.races.crowd import at_once, await_a_waiter

EDITED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "version": ("PUT", "templates/idea/versions/1/", {"source": DRAFT + "# more\n"}),
    "schedule": ("PUT", "schedules/{schedule}/", {"input": {"amount": 7}}),
    "webhook": ("PUT", "webhooks/{webhook}/", {"title": "Other"}),
    "person": ("PUT", "people/uri/", {"full_name": "Uri User"}),
    "role": ("PUT", "roles/finance/", {"title": "Money"}),
    "calendar": ("PUT", "calendars/office/", {"hours": {"tue": ["09:00-17:00"]}}),
    "secret": ("PUT", "secrets/api_key/", {"value": "another-value"}),
    "draft": ("POST", "tasks/{task}/draft/", {"values": {"note": "so far"}}),
}


@pytest.fixture
def scene(cast: Cast) -> Scene:
    return set_whole_scene(cast)


def editor(call: Callers, what: str) -> Caller:
    return call("ada" if what in {"draft", "schedule"} else "gwen")


@pytest.mark.parametrize("what", EDITED)
def test_change_of_what_was_changed_meanwhile_is_refused(call: Callers, scene: Scene, what: str) -> None:
    method, path, body = EDITED[what]
    who, address = editor(call, what), scene.address(path)
    read = who.get(address)["ETag"]
    first = who(method, address, body, **{"If-Match": read})
    assert first.status_code == 200
    other = {"source": DRAFT} if what == "version" else body | {"title": "Third"} if "title" in body else body
    shown = who.get(address)
    second = who(method, address, other, **{"If-Match": read})
    assert (second.status_code, second.json()["code"]) == (412, "changed")
    assert second["Content-Type"] == "application/problem+json"
    assert who.get(address).content == shown.content
    assert first["ETag"] == shown["ETag"] != read
    assert who(method, address, other, **{"If-Match": f'"other", {first["ETag"]}'}).status_code == 200
    unguarded = who(method, address, other)
    assert unguarded.status_code == 200, "it is optional"
    assert unguarded["ETag"] == who.get(address)["ETag"] == who("HEAD", address)["ETag"]


@pytest.mark.parametrize("what", EDITED)
def test_reader_who_has_it_gets_nothing_again(call: Callers, scene: Scene, what: str) -> None:
    _, path, _ = EDITED[what]
    who, address = editor(call, what), scene.address(path)
    tag = who.get(address)["ETag"]
    for given in (tag, f"W/{tag}", "*", f'"x", {tag}'):
        again = who("GET", address, **{"If-None-Match": given})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert who("GET", address, **{"If-None-Match": '"x"'}).status_code == 200


def test_what_changes_by_itself_stops_no_edit_but_is_read_anew(call: Callers, scene: Scene) -> None:
    ada, gwen = call("ada"), call("gwen")
    for path, who, rows, change in (
        (f"schedules/{scene.schedule}/", ada, Schedule, {"next_at": "2030-01-07T09:00:00Z"}),
        (f"webhooks/{scene.webhook}/", gwen, Webhook, {"failures": 7}),
    ):
        tag = who.get(path)["ETag"]
        rows.objects.update(**change)
        assert who("GET", path, **{"If-None-Match": tag}).status_code == 200
        assert who("PUT", path, {}, **{"If-Match": tag}).status_code == 200


def test_only_what_is_not_there_yet_is_made(call: Callers, scene: Scene) -> None:
    gwen, body = call("gwen"), {"hours": {"mon": ["09:00-17:00"]}}
    assert gwen("PUT", "calendars/office/", body, **{"If-None-Match": "*"}).status_code == 412
    assert gwen("PUT", "calendars/shop/", body, **{"If-Match": "*"}).status_code == 412
    assert gwen("PUT", "calendars/shop/", body, **{"If-None-Match": "*"}).status_code == 200
    assert gwen("PUT", "calendars/shop/", body, **{"If-Match": "*"}).status_code == 200


def test_secret_that_is_there_is_not_overwritten_by_who_makes_a_new_one(call: Callers, scene: Scene) -> None:
    gwen = call("gwen")
    assert gwen("PUT", "secrets/api_key/", {"value": "a-long-value"}, **{"If-None-Match": "*"}).status_code == 412
    assert gwen("PUT", "secrets/new_key/", {"value": "a-long-value"}, **{"If-None-Match": "*"}).status_code == 200
    assert gwen("DELETE", "secrets/new_key/", **{"If-Match": '"other"'}).status_code == 412


def test_repeat_of_a_draft_says_the_etag_of_its_first_answer(call: Callers, scene: Scene) -> None:
    ada, address, body = call("ada"), f"tasks/{scene.task}/draft/", {"values": {"note": "so far"}}
    first, again = (ada.post(address, body, key="d") for _ in range(2))
    assert (again["Idempotent-Replayed"], again.content) == ("true", first.content)
    assert again["ETag"] == first["ETag"] == ada.get(address)["ETag"]


def test_unseen_thing_answers_as_ever(call: Callers, scene: Scene) -> None:
    for who, status in (("sam", 404), ("uri", 403)):  # of another tenant; below the level that sees webhooks at all
        answer = call(who)("DELETE", f"webhooks/{scene.webhook}/", **{"If-Match": '"x"'})
        assert answer.status_code == status
    assert call("ada")("PUT", f"webhooks/{scene.webhook}/", {"title": "x"}, **{"If-Match": "*"}).status_code == 403


def test_of_two_editors_at_once_one_wins(committed_cast: Cast) -> None:
    gwen = caller_of("gwen")
    tag = gwen.get("roles/finance/")["ETag"]

    def rename(title: str) -> Callable[[], int]:
        return lambda: gwen("PUT", "roles/finance/", {"title": title}, **{"If-Match": tag}).status_code

    assert sorted(at_once([rename(f"Money {n}") for n in range(4)])) == [200, 412, 412, 412]


def test_an_edit_waits_for_a_role_that_is_being_granted_and_is_then_refused(committed_cast: Cast) -> None:
    gwen, address = caller_of("gwen"), "people/uri/"
    read = gwen.get(address)["ETag"]
    edit = Thread(target=lambda: answers.append(_closing(gwen, address, {"roles": []}, read)))
    answers: list[Any] = []
    with transaction.atomic():
        grant_role(actor=None, person=committed_cast.uri, role="finance")
        edit.start()
        await_a_waiter()
    edit.join(60)
    assert (answers[0].status_code, answers[0].json()["code"]) == (412, "changed")
    assert gwen.get(address).json()["roles"] == ["finance"]


def _closing(who: Caller, address: str, body: dict[str, Any], tag: str) -> Any:
    try:
        return who("PUT", address, body, **{"If-Match": tag})
    finally:
        connection.close()
