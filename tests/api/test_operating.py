"""Operations over REST: signals, events, suspending, repairing, dead letters, each to its end."""

from __future__ import annotations

import pytest

from engine.dispatch.drain import drain
from engine.models import Instance
from engine.services.instances.lifecycle import cancel_instance
from tests.api.conftest import Callers, caller_of
from tests.cast import Cast
from tests.flaky import counter
from tests.services.test_events_and_setup import LISTENS
from tests.services.test_signals import OWN, WAITS
from tests.workflows import RETRIED, TIMER, activated, fall_due, left_dead, started


def test_signal_to_an_instance_is_delivered_to_the_step_that_waits(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN.replace("  - id: think\n    task: {title: Think}\n", ""))
    instance = started(cast.actor("ada"), "own")
    sent = call("ada").post(f"instances/{instance.pk}/signals/", {"name": "go", "payload": {"word": "hi"}})
    assert (sent.status_code, sent.json()) == (200, {"delivered": True, "kept": False})
    shown = call("ada").get(f"instances/{instance.pk}/").json()
    assert (shown["status"], shown["state"]) == ("completed", {"word": "hi"})


def test_signal_with_the_same_id_gets_the_same_answer(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    ada, instance = call("ada"), started(cast.actor("ada"), "own")
    body = {"name": "go", "payload": {"word": "hi"}, "id": "mail-1"}
    answers = [ada.post(f"instances/{instance.pk}/signals/", body).json() for _ in range(2)]
    assert answers == [{"delivered": False, "kept": True}] * 2


def test_one_id_at_two_instances_is_two_signals(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    ada = call("ada")
    instances = [started(cast.actor("ada"), "own") for _ in range(2)]
    body = {"name": "go", "id": "01999999-9999-7999-8999-999999999999"}
    for instance in [*instances, *instances]:
        assert ada.post(f"instances/{instance.pk}/signals/", body).json() == {"delivered": False, "kept": True}
    sent = [ada.get(f"instances/{one.pk}/history/").json() for one in instances]
    assert [sum(row["action"] == "send_signal" for row in rows) for rows in sent] == [1, 1]


def test_signal_to_an_instance_that_is_over_is_a_conflict(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    instance = started(cast.actor("ada"), "own")
    cancel_instance(actor=cast.actor("ada"), instance_id=instance.pk, reason="over")
    answer = call("ada").post(f"instances/{instance.pk}/signals/", {"name": "go"})
    assert (answer.status_code, answer.json()["current_status"]) == (409, "cancelled")


def test_keyed_signal_reaches_the_oldest_wait_or_all(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), WAITS)
    ada = call("ada")
    waiting = [str(started(cast.actor("ada"), "waits", order="A7").pk) for _ in range(3)]
    body = {"name": "paid", "key": "A7", "payload": {"amount": 12}, "id": "bank-1"}
    assert ada.post("signals/", body).json() == {"delivered": waiting[:1], "kept": False}
    assert ada.post("signals/", body).json() == {"delivered": waiting[:1], "kept": False}
    everyone = ada.post("signals/", {"name": "paid", "key": "A7", "all": True}).json()
    assert (sorted(everyone["delivered"]), everyone["kept"]) == (waiting[1:], False)
    early = {"name": "paid", "key": "B1", "ttl": "PT1H"}
    assert ada.post("signals/", early).json() == {"delivered": [], "kept": True}


def test_event_starts_what_listens_once(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), LISTENS)
    ada, body = call("ada"), {"name": "order", "id": "e-1", "payload": {"id": "7", "total": 12}}
    first, second = ada.post("events/", body), ada.post("events/", body)
    instance = Instance.objects.get()
    assert first.json() == second.json() == {"started": [str(instance.pk)], "refused": []}
    assert ada.get(f"instances/{instance.pk}/").json()["reference"] == "ORD-7"


def test_event_says_who_listens_and_could_not_be_started(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), LISTENS)
    ada, body = call("ada"), {"name": "order", "id": "e-1", "payload": {"id": 7, "total": 12}}
    first, second = ada.post("events/", body).json(), ada.post("events/", body).json()
    (refused,) = first["refused"]
    assert (first["started"], refused["template"], refused["code"]) == ([], "ordered", "invalid")
    assert [error["path"] for error in refused["errors"]] == ["payload.id"]
    assert second == first
    assert ada.post("events/", {"name": "unheard", "id": "e-2"}).json() == {"started": [], "refused": []}


def test_suspended_instance_is_resumed(call: Callers, cast: Cast) -> None:
    activated(cast.actor("gwen"), OWN)
    ada, path = call("ada"), f"instances/{started(cast.actor('ada'), 'own').pk}/"
    assert ada.post(path + "suspend/", {"reason": "stocktaking"}).json()["status"] == "suspended"
    assert ada.post(path + "resume/").json()["status"] == "running"
    acts = [row for row in ada.get(path + "history/").json() if row["action"].endswith("end_workflow")]
    assert [(row["actor"], row["cause"]) for row in acts] == [("ada", "stocktaking")]


@pytest.fixture
def broken(committed_cast: Cast) -> Instance:
    """Return an instance that became an incident at its call."""
    counter("flaky").unlink(missing_ok=True)
    activated(committed_cast.actor("gwen"), RETRIED.replace("attempts: 3", "attempts: 1"))
    instance = started(committed_cast.actor("ada"), "retried")
    drain()
    return instance


def test_incident_is_retried_to_its_end(broken: Instance) -> None:
    ada, path = caller_of("ada"), f"instances/{broken.pk}/"
    assert ada.get(path).json()["status"] == "incident"
    unknown = ada.post(path + "retry/", {"step": "nowhere"})
    assert (unknown.status_code, unknown.json()["errors"][0]["path"]) == (400, "step")
    unfit = ada.post(path + "retry/", {"input": ["no", "object"]})
    assert (unfit.status_code, unfit.json()["errors"][0]["path"]) == (400, "input")
    for body in ({}, {"step": "ask", "input": {"args": {"again": True}}, "reason": "the bank is back"}):
        assert ada.post(path + "retry/", body).json()["status"] == "running"
        drain()
    assert ada.get(path).json()["state"] == {"done": True}


def test_incident_is_skipped_only_with_a_reason(broken: Instance) -> None:
    ada, path = caller_of("ada"), f"instances/{broken.pk}/skip/"
    for body in ({}, {"reason": " "}):
        assert ada.post(path, body).json()["errors"][0]["path"] == "reason"
    done = ada.post(path, {"step": "ask", "output": {"by": "phone"}, "reason": "done by phone"}).json()
    assert (done["status"], done["state"]) == ("completed", {"done": True})


@pytest.fixture
def poisoned(committed_cast: Cast) -> Instance:
    """Return an instance whose timer could not be applied, and now could be."""
    activated(committed_cast.actor("gwen"), TIMER)
    instance = fall_due(started(committed_cast.actor("ada"), "timer"))
    left_dead(instance)
    return instance


def test_dead_letter_is_found_and_replayed(poisoned: Instance) -> None:
    ada = caller_of("ada")
    (letter,) = ada.get("dead-letters/", instance=str(poisoned.pk)).json()["results"]
    assert (letter["instance"], letter["template"], letter["signal"]["type"]) == (str(poisoned.pk), "timer", "TimerDue")
    assert ada.get("dead-letters/", template="nowhere").json()["results"] == []
    assert caller_of("uri").get("dead-letters/").json()["code"] == "level"
    assert ada.post(f"dead-letters/{letter['id']}/replay/").json()["status"] == "running"
    drain()
    assert ada.get(f"instances/{poisoned.pk}/").json()["status"] == "completed"
    assert ada.post(f"dead-letters/{letter['id']}/replay/").status_code == 404


def test_dead_letter_is_discarded_with_its_reason(poisoned: Instance) -> None:
    ada = caller_of("ada")
    (letter,) = ada.get("dead-letters/").json()["results"]
    assert ada.post(f"dead-letters/{letter['id']}/discard/", {"reason": "obsolete"}).json()["status"] == "incident"
    assert ada.get(f"instances/{poisoned.pk}/history/").json()[-1]["cause"] == "obsolete"
    assert ada.get("dead-letters/").json()["results"] == []
