"""A reference in use once at a time: the second start is refused for everyone until the first case is over."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.models import Audit, HeldReference, Instance, Schedule, ScheduleFire, Task
from engine.services.audit.verification import verify_everything
from engine.services.instances.events import accept_event
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.schedules.lifecycle import create_schedule
from engine.services.schedules.runner import fire_due_slots
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor

ORDER = """
workflow: order
title: Order
starters: {min_level: 2}
input: {type: object, properties: {number: {type: string}}}
reference: {key: "${start.number}", unique: true}
steps:
  - id: pack
    task: {title: Pack}
"""
HEARD = ORDER.replace("title: Order", "title: Heard order\nevent: {name: ordered}")


def order(actor: Actor, number: str, **more: Any) -> Instance:
    return start_instance(actor=actor, template="order", input={"number": number}, **more).instance


@pytest.fixture
def orders(gwen: Actor) -> Actor:
    activated(gwen, ORDER)
    return gwen


def test_second_start_is_refused_naming_the_first(orders: Actor) -> None:
    first = order(orders, "A-1")
    for again in ({}, {"reference": "A-1"}):
        with pytest.raises(Conflict) as refusal:
            order(orders, "A-1", **again)
        assert (refusal.value.code, refusal.value.facts) == ("reference", {"instance": str(first.pk)})
    assert order(orders, "A-2").reference == "A-2"
    assert order(orders, "A-1", reference="A-3").reference == "A-3"
    assert Instance.objects.count() == 3


def test_reference_is_free_again_when_its_case_is_over_or_goes_by_another(orders: Actor) -> None:
    first = order(orders, "A-1")
    cancel_instance(actor=orders, instance_id=first.pk, reason="again")
    second = order(orders, "A-1")
    Instance.objects.filter(pk=second.pk).update(reference="A-9")
    third = order(orders, "A-1")
    assert HeldReference.objects.get().instance_id == third.pk


def test_event_under_a_reference_in_use_starts_nothing_and_says_so(orders: Actor) -> None:
    activated(orders, HEARD)
    first = accept_event(actor=orders, name="ordered", external_id="e-1", payload={"number": "A-1"})
    again = accept_event(actor=orders, name="ordered", external_id="e-2", payload={"number": "A-1"})
    assert (len(first.started), first.refused, again.started) == (1, (), ())
    assert [(one.template, one.code) for one in again.refused] == [("order", "reference")]
    assert Instance.objects.count() == 1


def test_other_templates_and_tenants_keep_references_of_their_own(orders: Actor, sam: Actor) -> None:
    activated(sam, ORDER)
    activated(orders, ORDER.replace("workflow: order", "workflow: other"))
    order(orders, "A-1")
    assert order(sam, "A-1").reference == "A-1"
    assert start_instance(actor=orders, template="other", input={"number": "A-1"}).instance.reference == "A-1"


def test_of_starts_at_the_same_moment_one_has_the_reference(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, ORDER)
    results = at_once([lambda: order(gwen, "A-1")] * 6)
    won = [one for one in results if isinstance(one, Instance)]
    assert (len(won), Instance.objects.count()) == (1, 1)
    assert {one.facts["instance"] for one in results if isinstance(one, Conflict)} == {str(won[0].pk)}


PARENT = """
workflow: parent
title: Parent
input: {type: object, properties: {number: {type: string}}}
steps:
  - id: ready
    task: {title: Ready}
  - id: sell
    workflow: {name: order, input: {number: "${start.number}"}}
    on_error:
      - match: error.code == 'reference'
        steps: [{id: note, set: {refused: "${error.message}"}}]
"""

TWINS = """
workflow: twins
title: Twins
steps:
  - id: both
    parallel:
      branches:
        left: [{id: one, workflow: {name: order, input: {number: A-1}}, on_error: []}]
        right: [{id: two, workflow: {name: order, input: {number: A-1}}, on_error: []}]
"""


def parent_ready(actor: Actor, number: str = "A-1") -> Task:
    return only_task(started(actor, "parent", number=number))


def test_child_under_a_reference_in_use_fails_its_step_naming_who_has_it(orders: Actor) -> None:
    activated(orders, PARENT)
    first = order(orders, "A-1")
    activated(orders, HEARD)
    done = complete_task(actor=orders, task_id=parent_ready(orders).pk)
    drain()
    done.instance.refresh_from_db()
    assert done.instance.status == "completed"
    assert str(first.pk) in done.instance.state["refused"]
    assert Instance.objects.filter(template__name="order").count() == 1


def test_child_under_a_free_reference_holds_it(orders: Actor) -> None:
    activated(orders, PARENT)
    complete_task(actor=orders, task_id=parent_ready(orders).pk)
    child = Instance.objects.get(template__name="order")
    assert (child.reference, HeldReference.objects.get().instance_id) == ("A-1", child.pk)
    with pytest.raises(Conflict):
        order(orders, "A-1")


def test_of_two_children_born_in_one_slice_one_has_the_reference(orders: Actor) -> None:
    activated(orders, TWINS)
    started(orders, "twins")
    drain()
    assert Instance.objects.filter(template__name="order").count() == 1


@pytest.mark.parametrize(
    "step",
    [
        'emit: {event: ordered, payload: {number: "${start.number}"}}',
        'continue_with: {name: order, input: {number: "${start.number}"}}',
    ],
)
def test_what_an_emit_or_a_continuation_cannot_start_stands_in_the_history(orders: Actor, step: str) -> None:
    activated(orders, PARENT.split("  - id: sell")[0] + f"  - {{id: sell, {step}}}\n")
    first = order(orders, "A-1")
    activated(orders, HEARD)
    done = complete_task(actor=orders, task_id=parent_ready(orders).pk)
    assert done.instance.status == "completed"
    refusal = Audit.objects.get(subject_id=done.instance.pk, action="refuse_start")
    assert str(first.pk) in refusal.cause
    assert refusal.new["workflow"] == "order"
    assert not verify_everything().broken
    complete_task(actor=orders, task_id=parent_ready(orders, "A-2").pk)
    assert set(Instance.objects.filter(template__name="order").values_list("reference", flat=True)) == {"A-1", "A-2"}


def test_queued_starts_hold_the_reference_that_they_will_have(orders: Actor) -> None:
    activated(orders, ORDER.replace("steps:", "limits: {concurrent: 1}\nsteps:"))
    first, second = order(orders, "A-1"), order(orders, "A-2")
    assert (first.status, second.status, second.reference) == ("running", "queued", "A-2")
    with pytest.raises(Conflict) as refusal:
        order(orders, "A-2")
    assert refusal.value.facts == {"instance": str(second.pk)}


def test_slot_of_a_schedule_under_a_reference_in_use_is_skipped_with_the_reason(orders: Actor) -> None:
    order(orders, "A-1")
    schedule = create_schedule(actor=orders, template="order", cron="0 8 * * *", input={"number": "A-1"})
    Schedule.objects.filter(pk=schedule.pk).update(next_at=database_now(), look_at=database_now())
    assert fire_due_slots(schedule_id=schedule.pk) == 0
    fire = ScheduleFire.objects.get(schedule=schedule)
    assert (fire.outcome, fire.reason.split(" ")[0]) == ("skipped", "A-1")


def test_of_children_born_at_the_same_moment_one_has_the_reference(committed_cast: Cast, settings: Any) -> None:
    settings.WORKFLOW_DISPATCHER = "rq"
    gwen = committed_cast.actor("gwen")
    activated(gwen, ORDER)
    activated(gwen, PARENT)
    tasks = [parent_ready(gwen) for _ in range(5)]
    done = at_once([partial(complete_task, actor=gwen, task_id=task.pk) for task in tasks])
    assert [type(one).__name__ for one in done] == ["CompletedTask"] * 5
    drain()
    assert Instance.objects.filter(template__name="order").count() == 1
    assert Counter(Instance.objects.filter(template__name="parent").values_list("status", flat=True)) == {
        "running": 1,
        "completed": 4,
    }
