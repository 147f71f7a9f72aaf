"""One slice, one commit: what start and completion leave in the tables."""

from typing import Any
from uuid import RFC_4122

from benchmarks.statements import counted
from engine.audit.chain import hash_row
from engine.dispatch.drain import drain
from engine.models import (
    Audit,
    Instance,
    JournalRow,
    RuntimeState,
    Signal,
    SignalReceipt,
    StepRun,
    Task,
    TaskEvent,
    Wait,
)
from engine.services.audit.verification import hashed_values
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.workflows import APPROVAL, CALL, TIMER, TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

STRETCH = """
workflow: stretch
title: Stretch
steps:
  - {id: one, set: {first: 1}}
  - {id: two, set: {second: 2}}
"""


def test_start_opens_the_first_task_with_everything_beside_it(gwen: Actor, uri: Actor) -> None:
    activated(gwen, APPROVAL)
    instance = started(uri, "approval", amount=12)
    assert (instance.status, instance.result, instance.reference) == ("running", "in_progress", "APP-12")
    task = only_task(instance)
    assert (task.title, task.effective_roles, task.excluded) == ("Review 12", ["finance"], ["uri"])
    assert Wait.objects.get(instance=instance).token == task.token
    assert [event.kind for event in TaskEvent.objects.filter(task=task)] == ["created"]
    runtime = RuntimeState.objects.get(instance=instance)
    assert (runtime.waiting_kind, runtime.waiting_token, runtime.active_task_id) == ("task", task.token, task.pk)
    assert runtime.resume_pointer["taskName"] == "review"


def test_completion_ends_the_instance_in_the_same_commit(gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, APPROVAL)
    instance = started(uri, "approval", amount=12)
    done = complete_task(actor=ada, task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    assert done.instance.status == "completed"
    assert done.instance.state == {"approved": True}
    assert not Wait.objects.filter(instance=instance).exists()
    assert not Signal.objects.filter(instance=instance).exists()
    assert [run.step for run in StepRun.objects.filter(instance=instance)] == ["review", "decide", "mark"]
    assert {run.status for run in StepRun.objects.filter(instance=instance)} == {"success"}
    assert [event.kind for event in TaskEvent.objects.filter(task=done.task)] == ["created", "claimed", "completed"]
    assert SignalReceipt.objects.get(instance=instance).disposition == "applied"


def test_ids_of_one_process_sort_as_they_were_made() -> None:
    made = [uuid7() for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == 5_000
    assert {(one.version, one.variant) for one in made} == {(7, RFC_4122)}


def test_a_timer_wait_has_its_delayed_signal(gwen: Actor) -> None:
    activated(gwen, TIMER)
    instance = started(gwen, "timer")
    wait = Wait.objects.get(instance=instance)
    signal = Signal.objects.get(instance=instance)
    assert (wait.kind, signal.type, signal.waiting_token) == ("timer", "TimerDue", wait.token)
    assert signal.due_at == wait.due_at > instance.started_at


def test_a_call_is_an_intent_until_a_worker_makes_it(gwen: Actor) -> None:
    activated(gwen, CALL)
    instance = started(gwen, "call", word="hi")
    effect = instance.effects.get()
    assert (effect.status, effect.made, effect.request["args"]) == ("intended", 0, {"word": "hi"})
    assert Signal.objects.get(instance=instance).type == "CallDue"


def test_the_next_task_is_in_the_answer(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TWO_TASKS)
    instance = started(gwen, "two")
    done = complete_task(actor=ada, task_id=only_task(instance).pk)
    assert [task.title for task in done.next_tasks] == ["Second"]


def test_the_audit_of_an_instance_is_one_unbroken_chain(gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, APPROVAL)
    instance = started(uri, "approval", amount=3)
    claim_task(actor=ada, task_id=only_task(instance).pk)
    complete_task(actor=ada, task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    acts = list(Audit.objects.filter(subject_id=instance.pk).order_by("seq"))
    assert [act.seq for act in acts] == list(range(1, len(acts) + 1))
    previous = ""
    rows = JournalRow.objects.filter(subject_id=instance.pk).order_by("seq")
    for row in rows:
        previous = hash_row(previous, hashed_values(row))
        assert row.hash == previous
    assert len(rows) == 3
    assert Instance.objects.get(pk=instance.pk).audit_hash == previous
    actions = [act.action for act in acts]
    assert actions[0] == "start_workflow"
    assert actions[-1] == "complete_workflow"
    assert {"task_created", "task_claimed", "task_completed", "execute_step", "complete_step"} <= set(actions)


def test_a_slice_costs_a_fixed_number_of_statements(gwen: Actor, uri: Actor, ada: Actor) -> None:
    activated(gwen, APPROVAL)
    started(uri, "approval", amount=1)
    with counted() as starting:
        instance = started(uri, "approval", amount=2)
    task = Task.objects.get(instance=instance)
    with counted() as completing:
        complete_task(actor=ada, task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert (len(starting), len(completing)) == (3, 2)


def test_fields_keep_the_order_in_which_the_author_wrote_them(gwen: Actor, ada: Actor) -> None:
    source = TWO_TASKS.replace(
        "{title: First}",
        "{title: First, payload: {zebra: 1, ant: 2}, form: {type: object, properties: {zip: {type: string}, a: {type: string}}}}",
    )
    version = activated(gwen, source)
    task = only_task(started(gwen, "two"))
    assert list(task.payload) == ["zebra", "ant"]
    assert list(task.form["properties"]) == ["zip", "a"]
    version.refresh_from_db()
    assert list(version.canonical["steps"][0]["task"]["payload"]) == ["zebra", "ant"]


def test_a_slice_out_of_time_goes_on_by_a_continuation(gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_SLICE_SECONDS = 1e-9
    activated(gwen, STRETCH)
    instance = started(gwen, "stretch")
    assert (instance.status, Signal.objects.get(instance=instance).type) == ("running", "InternalContinue")
    settings.WORKFLOW_SLICE_SECONDS = 60
    drain()
    instance.refresh_from_db()
    assert (instance.status, instance.state) == ("completed", {"first": 1, "second": 2})
