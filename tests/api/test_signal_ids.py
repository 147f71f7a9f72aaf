"""Ids of signals and events: remembered per sender, name and key; and signals that an instance must take."""

from __future__ import annotations

from typing import Any
from uuid import uuid5

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import Audit, Event, Instance, KeptSignal, Signal, SignalReceipt
from engine.services.instances.repair import suspend_instance
from tests.api.conftest import Callers
from tests.cast import Cast
from tests.services.test_events_and_setup import LISTENS
from tests.services.test_signals import OWN, WAITS
from tests.workflows import activated, started

WAITING = OWN.replace("  - id: think\n    task: {title: Think}\n", "")
KEYED: dict[str, Any] = {"name": "paid", "key": "A7", "payload": {"amount": 1}, "id": "one"}
EVENT: dict[str, Any] = {"name": "order", "id": "e-1", "payload": {"id": "7", "total": 12}}


@pytest.fixture
def waiting(cast: Cast) -> list[str]:
    """Let three instances wait for the same key, the oldest first."""
    activated(cast.actor("gwen"), WAITS)
    return [str(started(cast.actor("ada"), "waits", order="A7").pk) for _ in range(3)]


def test_two_senders_may_choose_the_same_id(call: Callers, waiting: list[str]) -> None:
    assert call("ada").post("signals/", KEYED).json()["delivered"] == waiting[:1]
    assert call("adam").post("signals/", KEYED).json()["delivered"] == waiting[1:2]
    assert call("ada").post("signals/", KEYED).json()["delivered"] == waiting[:1]
    drain()
    assert Instance.objects.filter(status="completed").count() == 2


def test_one_id_for_another_name_or_key_is_another_signal(call: Callers, waiting: list[str]) -> None:
    ada = call("ada")
    assert ada.post("signals/", {**KEYED, "key": "B1"}).json()["delivered"] == []
    assert ada.post("signals/", {**KEYED, "name": "sent"}).json()["delivered"] == []
    assert ada.post("signals/", KEYED).json()["delivered"] == waiting[:1]


@pytest.mark.parametrize("other", [{"payload": {"amount": 2}}, {"ttl": "PT1H"}, {"all": True}, {"payload": True}])
def test_the_same_id_with_other_content_is_refused(call: Callers, waiting: list[str], other: dict[str, Any]) -> None:
    ada = call("ada")
    assert ada.post("signals/", KEYED | {"payload": 1}).status_code == 200
    refused = ada.post("signals/", KEYED | {"payload": 1} | other)
    assert (refused.status_code, refused.json()["code"]) == (422, "id_reused")
    assert [error["path"] for error in refused.json()["errors"]] == ["id"]
    assert Signal.objects.count() == 1


def test_an_id_remembered_by_an_earlier_release_is_honoured(call: Callers, cast: Cast, waiting: list[str]) -> None:
    Event.objects.create(
        tenant=cast.acme, kind="signal", name="paid", external_id="one", key="A7", payload={"amount": 1},
        answer={"delivered": [waiting[2]], "kept": False}, actor_name="ada", at=database_now(),
    )  # fmt: skip
    assert call("ada").post("signals/", KEYED).json()["delivered"] == waiting[2:]
    assert call("ada").post("signals/", {**KEYED, "payload": {"amount": 2}}).status_code == 422
    assert call("adam").post("signals/", KEYED).json()["delivered"] == waiting[:1]


def test_senders_of_one_instance_have_ids_of_their_own(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    instance = started(cast.actor("ada"), "own")
    address, body = f"instances/{instance.pk}/signals/", {"name": "go", "payload": {"word": "hi"}, "id": "one"}
    for name in ("ada", "adam", "ada"):
        assert call(name).post(address, body).json() == {"delivered": False, "kept": True}
    assert call("ada").post(address, {**body, "name": "other"}).json() == {"delivered": False, "kept": False}
    assert Audit.objects.filter(subject_id=instance.pk, action="send_signal").count() == 3


@pytest.mark.parametrize("status", ["running", "suspended"])
def test_an_instance_refuses_the_same_id_with_other_content(call: Callers, cast: Cast, status: str) -> None:
    activated(cast.actor("gwen"), OWN)
    instance = started(cast.actor("ada"), "own")
    if status == "suspended":
        suspend_instance(actor=cast.actor("ada"), instance_id=instance.pk)
    address, body = f"instances/{instance.pk}/signals/", {"name": "go", "payload": {"word": "hi"}, "id": "one"}
    assert call("ada").post(address, body).json() == {"delivered": False, "kept": True}
    refused = call("ada").post(address, {**body, "payload": {"word": "ho"}})
    assert (refused.status_code, refused.json()["code"]) == (422, "id_reused")
    assert call("ada").post(address, body).json() == {"delivered": False, "kept": True}


def test_a_receipt_of_an_earlier_release_is_honoured(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), WAITING)
    instance = started(cast.actor("ada"), "own")
    SignalReceipt.objects.create(
        id=uuid5(instance.pk, "one"), tenant=cast.acme, instance=instance, type="ExternalSignal",
        disposition="stale", at=database_now(),
    )  # fmt: skip
    answer = call("ada").post(f"instances/{instance.pk}/signals/", {"name": "go", "payload": {}, "id": "one"})
    assert answer.json() == {"delivered": False, "kept": False}
    instance.refresh_from_db()
    assert instance.status == "running"


def test_an_event_id_is_remembered_per_sender_and_name(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), LISTENS)
    ada = call("ada")
    assert ada.post("events/", {**EVENT, "name": "other"}).json()["started"] == []
    first = ada.post("events/", EVENT).json()
    assert len(first["started"]) == 1
    assert ada.post("events/", EVENT).json() == first
    assert call("adam").post("events/", EVENT).json()["started"] != first["started"]
    assert Instance.objects.count() == 2


@pytest.mark.parametrize("other", [{"payload": {"id": "8", "total": 12}}, {"key": "k"}])
def test_an_event_id_with_other_content_is_refused(call: Callers, cast: Cast, other: dict[str, Any]) -> None:
    activated(cast.actor("gwen"), LISTENS)
    assert call("ada").post("events/", EVENT).status_code == 200
    refused = call("ada").post("events/", EVENT | other)
    assert (refused.status_code, refused.json()["code"]) == (422, "id_reused")
    assert Instance.objects.count() == 1


def test_a_keyed_signal_that_somebody_must_take(call: Callers, waiting: list[str]) -> None:
    ada, must = call("ada"), {"require": True, "ttl": "PT1H"}
    refused = ada.post("signals/", {**KEYED, **must, "key": "B1"})
    assert (refused.status_code, refused.json()["code"]) == (409, "nobody_waits")
    assert not KeptSignal.objects.exists()
    assert not Event.objects.exists()
    assert ada.post("signals/", {**KEYED, **must}).json() == {"delivered": waiting[:1], "kept": False}
    assert ada.post("signals/", {**KEYED, **must}).json() == {"delivered": waiting[:1], "kept": False}


def test_a_signal_that_an_instance_must_take(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    instance = started(cast.actor("ada"), "own")
    address, body = f"instances/{instance.pk}/signals/", {"name": "go", "id": "one", "require": True}
    refused = call("ada").post(address, body)
    assert (refused.status_code, refused.json()["code"]) == (409, "nobody_waits")
    assert not Audit.objects.filter(subject_id=instance.pk, action="send_signal").exists()
    assert not SignalReceipt.objects.exists()
    suspend_instance(actor=cast.actor("ada"), instance_id=instance.pk)
    refused = call("ada").post(address, body)
    assert (refused.json()["code"], refused.json()["current_status"]) == ("nobody_waits", "suspended")
    assert not Signal.objects.exists()


def test_a_required_signal_that_is_taken_answers_as_usual(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), WAITING)
    instance = started(cast.actor("ada"), "own")
    body = {"name": "go", "payload": {"word": "hi"}, "id": "one", "require": True}
    for _ in range(2):
        answer = call("ada").post(f"instances/{instance.pk}/signals/", body)
        assert (answer.status_code, answer.json()) == (200, {"delivered": True, "kept": False})
