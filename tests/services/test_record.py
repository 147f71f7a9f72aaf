"""What the engine's record says of an instance, at every moment of its life, and how REST shows it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import Instance, RuntimeState, StepRun, Task
from engine.runtime.coordinator import node
from engine.services.schedules.changes import run_schedule
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.api.conftest import Caller, caller_of
from tests.cast import Cast
from tests.flaky import counter
from tests.services.test_signals import CHILD, PARENT
from tests.workflows import TIMER, TWO_TASKS, activated, fall_due, only_task, started

BRANCHES = """
workflow: branches
title: Branches
steps:
  - id: both
    parallel:
      branches:
        a: [{id: first, task: {title: First}}, {id: third, task: {title: Third}}]
        b: [{id: second, task: {title: Second}}]
        c: [{id: pause, wait: {for: P9D}}]
"""

GRAPH = """
workflow: build
title: Build
steps:
  - id: all
    graph:
      steps:
        - {id: compile, task: {title: Compile}}
        - {id: test, task: {title: Test}, needs: [compile]}
        - {id: ship, set: {shipped: "${status.test}"}, needs: [test]}
"""

BESIDE = """
workflow: beside-retry
title: Beside a retry
steps:
  - id: both
    parallel:
      branches:
        a: [{id: ask, call: {python: {function: test_flaky, args: {}}}, retry: {attempts: 3, delay: P1D}}]
        b: [{id: look, task: {title: Look}}, {id: again, task: {title: Again}}]
"""

PARTS = """
workflow: parted
title: Parted
input: {type: object, properties: {customer: {type: string}, number: {type: integer}}}
reference: {key: "${'ORD-' + string(start.number)}", parts: {customer: "${start.customer}", number: "${start.number}"}}
steps:
  - id: look
    task: {title: Look, type: check, route: /orders/check}
"""


def runtime(instance: Instance) -> RuntimeState:
    return RuntimeState.objects.get(pk=instance.pk)


def task_at(instance: Instance, step: str) -> Task:
    return Task.objects.open().get(instance=instance, step=step)


@pytest.fixture
def ada(committed_cast: Cast) -> Caller:
    """A program that acts for Ada."""
    return caller_of("ada")


def test_the_active_task_is_always_an_open_one(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), BRANCHES)
    instance = started(ada, "branches")
    for step in ("first", "second", "third"):
        complete_task(actor=ada, task_id=task_at(instance, step).pk)
        still_open = set(Task.objects.open().filter(instance=instance).values_list("pk", flat=True))
        assert runtime(instance).active_task_id in (still_open or {None})


def test_no_task_is_active_once_the_last_is_closed(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), TWO_TASKS.split("  - id: second")[0] + "  - {id: nap, wait: {for: P1D}}\n")
    instance = started(ada, "two")
    complete_task(actor=ada, task_id=only_task(instance).pk)
    assert (runtime(instance).waiting_kind, runtime(instance).active_task_id) == ("timer", None)


def test_the_active_task_is_found_again_however_it_was_opened(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), BRANCHES)
    instance = started(ada, "branches")
    complete_task(actor=ada, task_id=task_at(instance, "first").pk)
    assert runtime(instance).active_task_id == task_at(instance, "second").pk
    claim_task(actor=ada, task_id=task_at(instance, "second").pk)
    assert runtime(instance).active_task_id == task_at(instance, "second").pk


def test_the_record_says_where_and_when_it_was_advanced(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), TIMER)
    instance = started(committed_cast.actor("ada"), "timer")
    first = runtime(instance)
    assert (first.last_executed_by, first.last_executed_on) == (node(), instance.started_at)
    fall_due(instance)
    drain()
    later = runtime(instance)
    assert later.last_executed_by == node()
    assert instance.started_at < later.last_executed_on <= database_now()


def test_the_snapshot_names_the_children_that_are_waited_for(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, CHILD)
    activated(gwen, PARENT.replace("steps:", "reference: {key: P-1}\nsteps:", 1))
    parent = started(ada, "parent")
    child = Instance.objects.get(parent=parent)
    (frame,) = runtime(parent).snapshot["subWorkflowFrames"]
    assert frame == {"child": str(child.pk), "version": "latest", "resultKey": "sub", "parentReference": "P-1"}
    complete_task(actor=ada, task_id=only_task(child).pk)
    drain()
    assert runtime(parent).snapshot["subWorkflowFrames"] == []


def test_the_error_of_a_retrying_step_stands_in_the_record_until_it_is_tried_again(committed_cast: Cast) -> None:
    ada = committed_cast.actor("ada")
    activated(committed_cast.actor("gwen"), BESIDE)
    counter("flaky").write_bytes(b".")  # the first attempt fails, the second does not
    instance = started(ada, "beside-retry")
    drain()
    assert runtime(instance).last_error_code == "exception"
    complete_task(actor=ada, task_id=task_at(instance, "look").pk)
    kept = runtime(instance)
    assert (kept.last_error_code, kept.last_error_json["step"]) == ("exception", "ask")
    instance.refresh_from_db()
    assert (instance.status, instance.error) == ("running", None)
    fall_due(instance)
    drain()
    after = runtime(instance)
    assert (after.last_error_code, after.last_error_json) == (None, None)


def test_steps_of_a_graph_that_are_not_ready_are_pending(committed_cast: Cast, ada: Caller) -> None:
    activated(committed_cast.actor("gwen"), GRAPH)
    instance = started(committed_cast.actor("ada"), "build")
    shown = {row["step"]: row for row in ada.get(f"instances/{instance.pk}/steps/").json()}
    assert {step: row["status"] for step, row in shown.items()} == {
        "all": "running", "compile": "running", "test": "pending", "ship": "pending",
    }  # fmt: skip
    assert {shown[step]["parent"] for step in ("compile", "test", "ship")} == {shown["all"]["run"]}
    assert (shown["test"]["run"], shown["test"]["started_at"], shown["test"]["kind"]) == (None, None, "task")
    assert runtime(instance).snapshot["stepStatus"]["test"] == "pending"
    for step in ("compile", "test"):
        complete_task(actor=committed_cast.actor("ada"), task_id=task_at(instance, step).pk)
    over = {row["status"] for row in ada.get(f"instances/{instance.pk}/steps/").json()}
    instance.refresh_from_db()
    assert (over, instance.state) == ({"success"}, {"shipped": "success"})


def test_a_step_run_knows_the_run_that_it_is_part_of(committed_cast: Cast, ada: Caller) -> None:
    activated(committed_cast.actor("gwen"), BRANCHES)
    instance = started(committed_cast.actor("ada"), "branches")
    shown = {row["step"]: row for row in ada.get(f"instances/{instance.pk}/steps/").json()}
    assert shown["both"]["parent"] is None
    assert {shown[step]["parent"] for step in ("first", "second", "pause")} == {shown["both"]["run"]}
    complete_task(actor=committed_cast.actor("ada"), task_id=task_at(instance, "first").pk)
    assert StepRun.objects.get(instance=instance, step="first").parent_run == shown["both"]["run"]


@pytest.mark.parametrize("unique", [False, True])
def test_the_parts_of_a_reference_are_kept(committed_cast: Cast, ada: Caller, unique: bool) -> None:
    source = PARTS.replace("parts:", "unique: true, parts:") if unique else PARTS
    activated(committed_cast.actor("gwen"), source)
    instance = started(committed_cast.actor("ada"), "parted", customer="Zeta", number=7)
    parts = {"customer": "Zeta", "number": 7}
    assert (instance.reference, instance.reference_parts) == ("ORD-7", parts)
    complete_task(actor=committed_cast.actor("ada"), task_id=only_task(instance).pk)
    shown = ada.get(f"instances/{instance.pk}/").json()
    assert (shown["reference"], shown["reference_parts"]) == ("ORD-7", parts)


def test_a_reference_given_at_the_start_has_no_parts(committed_cast: Cast, ada: Caller) -> None:
    activated(committed_cast.actor("gwen"), PARTS)
    begun = ada.post("instances/", {"template": "parted", "input": {"number": 7}, "reference": "mine"}).json()
    assert (begun["reference"], begun["reference_parts"]) == ("mine", None)


def test_type_and_route_of_tasks_are_shown_and_asked_for(committed_cast: Cast, ada: Caller) -> None:
    activated(committed_cast.actor("gwen"), PARTS)
    activated(committed_cast.actor("gwen"), TWO_TASKS)
    task = only_task(started(committed_cast.actor("ada"), "parted", customer="Zeta", number=7))
    started(committed_cast.actor("ada"), "two")
    shown = ada.get(f"tasks/{task.pk}/").json()
    assert (shown["type"], shown["route"]) == ("check", "/orders/check")
    for asked in ({"type": "check"}, {"route": "/orders/check"}):
        assert [row["id"] for row in ada.get("tasks/", view="team", **asked).json()["results"]] == [str(task.pk)]
    assert ada.get("tasks/", view="team", type="other").json()["results"] == []


def test_an_instance_says_what_started_it(committed_cast: Cast, ada: Caller) -> None:
    gwen, actor = committed_cast.actor("gwen"), committed_cast.actor("ada")
    for source in (CHILD, PARENT, TIMER):
        activated(gwen, source)
    parent, other = started(actor, "parent"), started(actor, "parent")
    child = Instance.objects.get(parent=parent)
    assert ada.get(f"instances/{child.pk}/").json()["parent"] == str(parent.pk)
    assert ada.get(f"instances/{parent.pk}/").json()["parent"] is None
    listed = ada.get("instances/", parent=str(parent.pk)).json()["results"]
    assert [row["id"] for row in listed] == [str(child.pk)]
    assert ada.get("instances/", parent=str(child.pk)).json()["results"] == []
    assert Instance.objects.filter(parent=other).count() == 1
    schedule = create_schedule(actor=actor, template="timer", cron="0 9 * * *")
    run_schedule(actor=actor, schedule_id=schedule.pk)
    by_clock = Instance.objects.get(template__name="timer")
    assert ada.get(f"instances/{by_clock.pk}/").json()["schedule"] == str(schedule.pk)


def test_nobody_lists_the_children_of_another_tenants_instance(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    for source in (CHILD, PARENT):
        activated(gwen, source)
    parent = started(committed_cast.actor("ada"), "parent")
    answer: Any = caller_of("stan").get("instances/", parent=str(parent.pk))
    assert (answer.status_code, answer.json()["results"]) == (200, [])
    assert caller_of("stan").get("instances/", parent="x").status_code == 400
