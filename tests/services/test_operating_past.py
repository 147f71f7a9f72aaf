"""Operating past a decision: a person whom four eyes bar from a task ends it by no act; workflows know when an operator acted."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engine import services
from engine.dispatch.drain import drain
from engine.errors import WorkflowError
from engine.models import Audit, BulkRow, Instance, RuntimeState, Signal, Task
from engine.services.instances import bulk_operations, signals
from engine.services.instances import lifecycle as instances
from engine.services.instances import repair as operations
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import complete_task
from tests.api.conftest import caller_of
from tests.cast import Cast
from tests.hooks import notices, toasts
from tests.workflows import activated, started
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import Kind, User

pytestmark = pytest.mark.security("nobody operates past a decision that four eyes keep them from")

X = "{id: x, task: {title: Prepare, roles: [finance]}}"
RELEASE = "title: Release, roles: [finance], outcomes: [ok, no], not_same_as: [x]"
PAID = "{id: pay, set: {paid: true}}"

INTERRUPTED = f"""
workflow: interrupted
steps:
  - {X}
  - {{id: y, task: {{{RELEASE}}}, on: [{{signal: go, interrupting: true, steps: [{PAID}]}}]}}
"""
RACED = f"""
workflow: raced
steps:
  - {X}
  - first:
      branches:
        decide: [{{id: y, task: {{{RELEASE}}}}}]
        told: [{{id: told, signal: {{name: go, key: "k"}}}}]
  - {PAID}
"""
WITHDRAWN = f"""
workflow: withdrawn
steps:
  - {X}
  - {{id: y, task: {{{RELEASE}}}, on: [{{signal: go, interrupting: true, steps: [{{cancel: case}}]}}]}}
"""
BESIDE = f"""
workflow: beside
steps:
  - {X}
  - parallel:
      join: fail_fast
      branches:
        decide: [{{id: y, task: {{{RELEASE}}}}}]
        broken: [{{id: broken, set: {{a: "${{start.nothing}}"}}}}, {{cancel: {{steps: [y]}}}}]
  - {PAID}
"""
KID = f"""
workflow: kid
steps:
  - {X}
  - {{id: y, task: {{{RELEASE}}}}}
"""
EDITED = f"""
workflow: edited
steps:
  - {X}
  - id: y
    input: {{title: ""}}
    task: {{title: "${{100 / size(state.title) > 0 ? state.title : ''}}", roles: [finance], outcomes: [ok, no], not_same_as: [x]}}
  - {PAID}
"""
"""A task that fails for the input that it was given, and would be open for another one."""
PARENT = f"""
workflow: parent
steps:
  - {{id: c, workflow: {{name: kid}}, on_error: [{{steps: [{PAID}]}}],
     on: [{{signal: go, interrupting: true, steps: [{{set: {{paid: true}}}}]}}]}}
"""


@pytest.fixture
def staged(committed_cast: Cast) -> Cast:
    create_person(actor=None, tenant=committed_cast.acme, name="fay", level=4, roles=("finance",), email="f@a.example")
    return committed_cast


def prepared(cast: Cast, source: str, name: str) -> Instance:
    """Start a case and let Ada do the step that bars her from the next."""
    activated(cast.actor("gwen"), source)
    instance = started(cast.actor("gwen"), name)
    complete_task(actor=cast.actor("ada"), task_id=Task.objects.open().get(step="x").pk)
    return instance


def ends_nothing(cast: Cast, instance: Instance, act: Callable[[], object]) -> None:
    """Expect that an act is refused, and that the task is as it was."""
    with pytest.raises(WorkflowError) as refusal:
        act()
    assert refusal.value.code == "four_eyes"
    drain()
    instance.refresh_from_db()
    assert Task.objects.open().filter(step="y").count() == 1
    assert "paid" not in instance.state


def go(cast: Cast, instance: Instance, name: str = "ada", **how: Any) -> Callable[[], object]:
    return lambda: signals.send_signal(actor=cast.actor(name), instance_id=instance.pk, name="go", **how)


@pytest.mark.parametrize(("source", "name"), [(INTERRUPTED, "interrupted"), (RACED, "raced")])
def test_a_signal_does_not_end_the_task_for_whom_it_bars(staged: Cast, source: str, name: str) -> None:
    instance = prepared(staged, source, name)
    ends_nothing(staged, instance, go(staged, instance))
    go(staged, instance, "fay")()
    instance.refresh_from_db()
    assert instance.state == {"paid": True}


def test_a_signal_of_a_service_account_does_not_for_whoever_stands_behind_it(staged: Cast) -> None:
    instance = prepared(staged, INTERRUPTED, "interrupted")
    robot = create_person(actor=None, tenant=staged.acme, name="robot", level=4, kind=Kind.SERVICE)
    User.objects.filter(pk=robot.pk).update(same_eyes=["ada"])
    sender = actor_of(User.objects.get(pk=robot.pk))
    ends_nothing(
        staged, instance, lambda: signals.send_signal(actor=sender, instance_id=instance.pk, name="go", payload=None)
    )
    User.objects.filter(pk=robot.pk).update(same_eyes=["fay"])
    signals.send_signal(actor=actor_of(User.objects.get(pk=robot.pk)), instance_id=instance.pk, name="go")
    instance.refresh_from_db()
    assert instance.state == {"paid": True}


def test_a_signal_held_for_a_suspended_case_does_not_either(staged: Cast) -> None:
    instance, fay = prepared(staged, INTERRUPTED, "interrupted"), staged.actor("fay")
    operations.suspend_instance(actor=fay, instance_id=instance.pk)
    go(staged, instance)()
    operations.resume_instance(actor=fay, instance_id=instance.pk)
    drain()
    instance.refresh_from_db()
    assert (Task.objects.open().filter(step="y").count(), instance.state) == (1, {})
    assert not Signal.objects.filter(instance=instance, type="ExternalSignal").exists()


@pytest.mark.parametrize("early", [False, True])
def test_a_signal_by_key_does_not_either(staged: Cast, early: bool) -> None:
    send: dict[str, Any] = {"actor": staged.actor("ada"), "name": "go", "key": "k", "ttl": "P1D"}
    if early:
        signals.send_keyed_signal(**send)
    instance = prepared(staged, RACED, "raced")
    if not early:
        signals.send_keyed_signal(**send)
    drain()
    instance.refresh_from_db()
    assert (Task.objects.open().filter(step="y").count(), instance.state) == (1, {})
    signals.send_keyed_signal(**{**send, "actor": staged.actor("fay")})
    drain()
    instance.refresh_from_db()
    assert instance.state == {"paid": True}


def test_a_signal_may_give_the_case_up(staged: Cast) -> None:
    instance = prepared(staged, WITHDRAWN, "withdrawn")
    go(staged, instance)()
    instance.refresh_from_db()
    assert instance.status == "cancelled"


def test_passing_over_what_failed_beside_the_task_does_not_end_it(staged: Cast) -> None:
    """The error names the step that failed; what is passed over is the whole that it broke, with the task in it."""
    instance = prepared(staged, BESIDE, "beside")
    skip: dict[str, Any] = {"instance_id": instance.pk, "reason": "go on"}
    ends_nothing(staged, instance, lambda: operations.skip_step(actor=staged.actor("ada"), **skip))
    operations.skip_step(actor=staged.actor("fay"), **skip)
    instance.refresh_from_db()
    assert instance.state == {"paid": True}


def by_service(cast: Cast, name: str, instance: Instance) -> str:
    try:
        operations.retry_step(actor=cast.actor(name), instance_id=instance.pk, input=OTHER, reason="a typo")
    except WorkflowError as refusal:
        return refusal.code
    return "done"


def by_rest(cast: Cast, name: str, instance: Instance) -> str:
    answer = caller_of(name).post(f"instances/{instance.pk}/retry/", {"input": OTHER, "reason": "a typo"})
    return "done" if answer.status_code == 200 else str(answer.json()["code"])


def by_admin(cast: Cast, name: str, instance: Instance) -> str:
    browser = Client()
    browser.force_login(User.objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")
    address = reverse("admin:engine_instance_retry", args=[instance.pk])
    answer = browser.post(address, {"input": json.dumps(OTHER), "reason": "a typo"}, follow=True)
    (said,) = [*notices(answer), *toasts(answer)]
    return "done" if said == "instance.retry" else said


OTHER = {"title": "Release"}
ROUTES = {"service": by_service, "REST": by_rest, "admin": by_admin}


@pytest.mark.parametrize("route", ROUTES)
def test_a_retry_with_other_input_is_not_for_whom_the_task_bars(staged: Cast, route: str) -> None:
    instance = prepared(staged, EDITED, "edited")
    assert Instance.objects.get(pk=instance.pk).status == "incident"
    assert ROUTES[route](staged, "ada", instance) == "four_eyes"
    drain()
    assert Instance.objects.get(pk=instance.pk).status == "incident"
    assert not Audit.objects.filter(subject_id=instance.pk, action="retry_workflow").exists()
    assert ROUTES[route](staged, "fay", instance) == "done"
    drain()
    assert Task.objects.open().get(step="y").title == "Release"


def test_a_child_that_holds_the_task_is_not_ended_from_either_side(staged: Cast) -> None:
    activated(staged.actor("gwen"), KID)
    parent = prepared(staged, PARENT, "parent")
    child = Instance.objects.get(parent=parent)
    ada = staged.actor("ada")
    ends_nothing(staged, parent, lambda: instances.cancel_instance(actor=ada, instance_id=child.pk, reason="go on"))
    ends_nothing(staged, parent, go(staged, parent))
    instances.cancel_instance(actor=ada, instance_id=parent.pk, reason="the whole case")  # nothing continues without it


def test_what_was_done_in_a_child_under_way_counts_too(staged: Cast) -> None:
    activated(staged.actor("gwen"), KID)
    y = "{id: z, task: {title: Z, roles: [finance], not_same_as: [c]}, on: [{signal: go, interrupting: true, steps: []}]}"
    steps = f"- parallel: {{branches: {{a: [{{id: c, workflow: {{name: kid}}}}], b: [{y}]}}}}"
    instance = prepared(staged, f"workflow: over\nsteps:\n  {steps}\n", "over")
    with pytest.raises(WorkflowError) as refusal:
        go(staged, instance)()
    assert refusal.value.code == "four_eyes"
    assert Task.objects.open().filter(step="z").count() == 1
    go(staged, instance, "fay")()
    assert not Task.objects.open().filter(step="z").exists()


def test_many_at_once_in_the_background_are_refused_one_by_one(staged: Cast) -> None:
    instance = prepared(staged, BESIDE, "beside")
    ada = staged.actor("ada")
    act = bulk_operations.begin_bulk_act(actor=ada, action="skip", subject_ids=[instance.pk], reason="all")
    drain()
    row = BulkRow.objects.get(bulk_act=act)
    assert (row.status, Task.objects.open().filter(step="y").count()) == ("refused", 1)
    with pytest.raises(WorkflowError) as refusal:
        operations.skip_step(actor=ada, instance_id=instance.pk, reason="all")
    assert (refusal.value.code, refusal.value.message) == ("four_eyes", row.message)


# Every act

GUARDED: Mapping[str, str] = {
    "repair.retry_step": "refuse_passing, refuse_barred",
    "repair.skip_step": "refuse_passing, refuse_barred",
    "signals.send_signal": "refuse_barred",
    "reopening.reopen_task": "refuse_passing",
    "lifecycle.cancel_instance": "refuse_ending",
    "signals.send_keyed_signal": "by=actor.sender",
}
"""Acts on a case that may end a task in it, and what keeps whom four eyes bar from doing so; their bodies are looked at."""
HARMLESS: Mapping[str, str] = {
    "repair.suspend_instance": "nothing happens meanwhile, and timers keep their time",
    "repair.resume_instance": "what fell due meanwhile would have happened anyway",
    "repair.replay_dead_letter": "the same signal once more, with the same sender",
    "repair.discard_dead_letter": "the case stays an incident, and to go on takes a skip or a retry",
    "repair.letter_of": "reads",
    "repair.list_dead_letters": "reads",
    "repair.incidents_by_cause": "reads",
    "suspension.suspend_task": "the task stays, and so do its timers",
    "suspension.resume_task": "the task stays",
    "suspension.snooze_task": "refused by access, tests/inbox/test_four_eyes_ways.py",
    "suspension.skip_task": "refused by access, tests/inbox/test_four_eyes_ways.py",
    "redo.redo_task": "what bars them is asked again, and what was decided stays, tests/services/test_redo.py",
    "redo.can_redo": "reads",
    "assignment.try_claim": "a claim, which access refuses to those whom the task bars",
    "lifecycle.start_instance": "another case, in which everything is decided anew",
    "lifecycle.queue_start": "another case, in which everything is decided anew",
    "lifecycle.next_tasks": "reads",
    "lifecycle.end_by_hand": "the writes of cancel_instance and withdraw_instance, which decide before",
    "requests.withdraw_instance": "only a case of one's own that belongs to no other, and before anybody has answered it",
    "lifecycle.tasks_after": "reads",
    "bulk_operations.begin_bulk_act": "each row goes through one of the acts above, in the name of who began it",
    "bulk_operations.preview_bulk_act": "reads",
    "bulk_operations.stop_bulk_act": "ends what is left of it",
    "purge.keep_instance": "keeps its rows longer",
    "assignment.assign_task": "nobody gets a task that bars them, tests/inbox/test_four_eyes_ways.py",
    "assignment.take_next_task": "offers nothing that bars them, tests/inbox/test_four_eyes_ways.py",
}
ACTING = (
    "instances.repair", "instances.signals", "tasks.suspension", "instances.lifecycle", "instances.bulk_operations",
    "tasks.assignment", "tasks.redo", "tasks.reopening",
)  # fmt: skip
"""Where acts on cases live. Modules with other acts on an instance are found by their arguments."""


def acts_on_cases() -> dict[str, Callable[..., Any]]:
    """Find every service that takes an actor, and is an act on a case by where it lives or by what it takes."""
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.walk_packages(services.__path__, "engine.services."):
        here = importlib.import_module(module.name)
        place = module.name.removeprefix("engine.services.")
        for name, one in vars(here).items():
            if name.startswith("_") or not inspect.isfunction(one) or one.__module__ != here.__name__:
                continue
            taken = inspect.signature(one).parameters
            operates = "instance_id" in taken and "reason" in taken
            if "actor" in taken and (place in ACTING or operates):
                found[f"{place.rpartition('.')[2]}.{name}"] = one
    return found


def test_every_act_on_a_case_is_guarded_or_known_to_be_harmless(record_property: Any) -> None:
    acts = acts_on_cases()
    record_property("figure", f"{len(acts)} acts on cases, {len(GUARDED)} of them guarded")
    assert sorted(acts) == sorted({*GUARDED, *HARMLESS})
    for name, guards in GUARDED.items():
        source = inspect.getsource(acts[name]) + inspect.getsource(operations._repair)
        assert [guard for guard in guards.split(", ") if guard not in source] == [], name


# What the workflow is told

TELLS = """
workflow: tells
steps:
  - {id: box, group: {steps: [{id: ask, call: {python: {function: no_such, args: {}}}}]}}
  - {id: free, set: {b: 1}}
  - set:
      told: ["${result.ask.operated}", "${result.box.operated}", "${result.free.operated}",
             "${get(result, 'ask.operated', false)}", "${has(result.ask.operated)}"]
      note: "${result.ask.operated ? 'look at this' : 'fine'}"
"""


def test_an_operator_is_told_of_to_what_follows(staged: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.services.templates.versions.registered_functions", lambda: {"no_such": None})
    activated(staged.actor("gwen"), TELLS)
    instance = started(staged.actor("ada"), "tells")
    drain()
    operations.skip_step(actor=staged.actor("fay"), instance_id=instance.pk, step="ask", reason="by phone", output=5)
    drain()
    instance.refresh_from_db()
    assert instance.state["told"] == [True, True, False, True, True]
    assert instance.state["note"] == "look at this"
    assert RuntimeState.objects.get(pk=instance.pk).snapshot["results"]["ask"] == 5
