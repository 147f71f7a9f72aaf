"""Named signals: delivered, kept, lost, repeated; and children told by signal."""

from typing import Any

import pytest

from engine.dispatch.drain import drain
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Instance, KeptSignal
from engine.services.instances.lifecycle import cancel_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.instances.signals import send_keyed_signal, send_signal
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.ids import uuid7

pytestmark = pytest.mark.usefixtures("replayed")

WAITS = """
workflow: waits
title: Waits
input: {type: object, properties: {order: {type: string}}}
steps:
  - id: paid
    signal: {name: paid, key: "${start.order}"}
  - id: keep
    set: {amount: "${result.paid.amount}"}
"""

OWN = """
workflow: own
title: Own signal
steps:
  - id: think
    task: {title: Think}
  - id: go
    signal: {name: go}
  - id: keep
    set: {word: "${result.go.word}"}
"""

PARENT = """
workflow: parent
title: Parent
steps:
  - id: sub
    workflow: {name: child, input: {n: 3}}
  - id: keep
    set: {got: "${result.sub.double}", how: "${result.sub.outcome}"}
"""

CHILD = """
workflow: child
title: Child
input: {type: object, required: [n], properties: {n: {type: integer}}}
output: {double: "${start.n * 2}"}
steps:
  - id: ask
    task: {title: Ask}
  - complete: {outcome: FINE}
"""

SENDER = """
workflow: sender
title: Sender
steps:
  - id: tell
    emit: {signal: paid, key: A7, payload: {amount: 5}, ttl: PT1H}
"""


def test_a_keyed_signal_wakes_the_oldest_wait_only(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    first, second = started(ada, "waits", order="A7"), started(ada, "waits", order="A7")
    sent = send_keyed_signal(actor=ada, name="paid", key="A7", payload={"amount": 12})
    assert (sent.delivered, sent.kept) == ((first.pk,), False)
    again = send_keyed_signal(actor=ada, name="paid", key="A7", payload={"amount": 13})
    assert again.delivered == (second.pk,)
    drain()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ({"amount": 12}, {"amount": 13})


def test_an_early_keyed_signal_is_kept_for_its_ttl(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    assert not send_keyed_signal(actor=ada, name="paid", key="B1", payload={}).kept
    assert send_keyed_signal(actor=ada, name="paid", key="B1", payload={"amount": 1}, ttl="PT1H").kept
    instance = started(ada, "waits", order="B1")
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state) == ("completed", {"amount": 1})
    assert not KeptSignal.objects.exists()


def test_the_same_id_again_gets_the_same_answer(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    started(ada, "waits", order="A7")
    second = started(ada, "waits", order="A7")
    sends = [
        send_keyed_signal(actor=ada, name="paid", key="A7", payload={"amount": 1}, external_id="e1") for _ in range(2)
    ]
    assert sends[0] == sends[1]
    drain()
    second.refresh_from_db()
    assert second.status == "running"


def test_a_signal_to_an_instance_is_kept_until_its_step(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), OWN)
    instance = started(ada, "own")
    signal_id = uuid7()
    sent = [
        send_signal(actor=ada, instance_id=instance.pk, name="go", payload={"word": "hi"}, signal_id=signal_id)
        for _ in "12"
    ]
    assert sent[0].kept
    assert not sent[0].delivered

    done = complete_task(actor=ada, task_id=only_task(instance).pk)
    assert (done.instance.status, done.instance.state) == ("completed", {"word": "hi"})


def test_refusals_of_signals(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), OWN)
    instance = started(ada, "own")
    with pytest.raises(NotFound):
        send_signal(actor=cast.actor("sam"), instance_id=instance.pk, name="go")
    with pytest.raises(Refused):
        send_keyed_signal(actor=cast.actor("uri"), name="go", key="x")
    with pytest.raises(Invalid):
        send_keyed_signal(actor=ada, name="go", key="x", ttl="tomorrow")
    with pytest.raises(Invalid):
        send_signal(actor=ada, instance_id=instance.pk, name="")
    cancel_instance(actor=ada, instance_id=instance.pk, reason="over")
    with pytest.raises(Conflict):
        send_signal(actor=ada, instance_id=instance.pk, name="go")


def test_another_tenants_wait_hears_nothing(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), WAITS)
    instance = started(cast.actor("ada"), "waits", order="A7")
    assert send_keyed_signal(actor=cast.actor("stan"), name="paid", key="A7").delivered == ()
    drain()
    instance.refresh_from_db()
    assert instance.status == "running"


def test_an_emit_reaches_another_instance(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    activated(cast.actor("gwen"), WAITS)
    activated(cast.actor("gwen"), SENDER)
    before = started(ada, "waits", order="A7")
    started(ada, "sender")
    started(ada, "sender")
    after = started(ada, "waits", order="A7")
    drain()
    before.refresh_from_db()
    after.refresh_from_db()
    assert (before.state, after.state) == ({"amount": 5}, {"amount": 5})


def test_a_child_answers_its_parent(committed_cast: Cast) -> None:

    cast = committed_cast
    ada = cast.actor("ada")
    for source in (CHILD, PARENT):
        activated(cast.actor("gwen"), source)
    parent = started(ada, "parent")
    child = Instance.objects.get(parent=parent)
    assert (child.depth, child.started_by_name, child.input) == (1, "ada", {"n": 3})
    complete_task(actor=ada, task_id=only_task(child).pk)
    drain()
    parent.refresh_from_db()
    assert (parent.status, parent.state) == ("completed", {"got": 6, "how": "FINE"})


def test_cancelling_a_parent_ends_its_child(committed_cast: Cast) -> None:
    cast = committed_cast
    ada = cast.actor("ada")
    for source in (CHILD, PARENT):
        activated(cast.actor("gwen"), source)
    parent = started(ada, "parent")
    cancel_instance(actor=ada, instance_id=parent.pk, reason="no longer")
    drain()
    child = Instance.objects.get(parent=parent)
    assert (child.status, child.tasks.get().status) == ("cancelled", "cancelled")


def test_a_child_that_cannot_be_started_fails_its_step(committed_cast: Cast) -> None:
    cast = committed_cast
    for source in (CHILD, PARENT.replace("n: 3", "n: many")):
        activated(cast.actor("gwen"), source)
    parent = started(cast.actor("ada"), "parent")
    drain()
    parent.refresh_from_db()
    assert (parent.status, parent.error["class"], parent.error["code"]) == ("incident", "definition", "child_input")
    assert "`child`" in parent.error["message"]
    assert "n:" in parent.error["message"]


def test_recursion_stops_at_a_depth(committed_cast: Cast) -> None:
    cast = committed_cast
    loop = "workflow: loop\ntitle: Loop\nsteps:\n  - id: again\n    workflow: {name: loop, version: same}\n"
    activated(cast.actor("gwen"), loop)
    root = started(cast.actor("ada"), "loop")
    for _ in range(30):
        drain()
    root.refresh_from_db()
    deepest = Instance.objects.order_by("-depth")[0]
    assert (root.status, deepest.status, deepest.error["code"]) == ("running", "incident", "too_deep")
    assert Instance.objects.count() == 26


@pytest.mark.usefixtures("valkey")
def test_a_signal_to_a_suspended_instance_moves_nothing_until_it_is_resumed(
    committed_cast: Cast, settings: Any
) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), OWN.replace("task: {title: Think}", "set: {thought: true}"))
    instance = started(ada, "own")
    suspend_instance(actor=ada, instance_id=instance.pk)
    for _ in range(2):
        sent = send_signal(actor=ada, instance_id=instance.pk, name="go", payload={"word": "now"}, signal_id="one")
        assert (sent.delivered, sent.kept) == (False, True)
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.signals.count()) == ("suspended", 1)
    resume_instance(actor=ada, instance_id=instance.pk)
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state["word"]) == ("completed", "now")


BESIDE_AN_INCIDENT = """
workflow: beside
title: Beside an incident
steps:
  - id: both
    parallel:
      join: fail_fast
      branches:
        bad: [{id: broken, call: {python: {function: test_broken, args: {}}}}]
        good: [{id: think, task: {title: Think}}, {id: wait, signal: {name: never}}]
"""


def test_an_answer_beside_an_incident_leaves_it_its_error(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), BESIDE_AN_INCIDENT)
    instance = started(ada, "beside")
    drain()
    instance.refresh_from_db()
    assert instance.status == "incident"
    complete_task(actor=ada, task_id=only_task(instance).pk, outcome="done")
    instance.refresh_from_db()
    assert (instance.status, instance.error["code"]) == ("incident", "exception")


def test_a_held_signal_sent_again_after_its_delivery_gets_the_first_answer(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), OWN)
    instance = started(ada, "own")
    suspend_instance(actor=ada, instance_id=instance.pk)
    first = send_signal(actor=ada, instance_id=instance.pk, name="go", payload={"word": "on"}, signal_id="one")
    resume_instance(actor=ada, instance_id=instance.pk)
    drain()
    assert not instance.signals.exists()
    again = send_signal(actor=ada, instance_id=instance.pk, name="go", payload={"word": "on"}, signal_id="one")
    assert again == first
