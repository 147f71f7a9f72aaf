"""The clock of a task is paused while a question about it is open: rows, signals, mails, audit."""

from datetime import timedelta
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import Instance, RuntimeState, Signal, Task, TaskCandidate, TaskEvent, Wait
from engine.models.base import NEVER
from engine.runtime.replay import replay
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.handover import (
    answer_question,
    ask_about_task,
    delegate_task,
    questions_for,
    withdraw_question,
)
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.workflows import activated, fall_due, only_task, started
from workflowplatform.accounts.actor import Actor

CHECK = """
workflow: check
title: Check
starters: {{min_level: 2}}
steps:
  - id: first
    timeout: PT10H
    task:
      title: First
      roles: [finance]
      min_level: 2
      due: PT4H
      sla: PT5H
      remind: [{{every: PT2H}}]
      escalate: [{{after: PT6H, priority: high}}]
      ask: {ask}
"""


@pytest.fixture
def lea(cast: Cast) -> Actor:
    """Give a person of level 3 in finance."""
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance",), email="l@a.example")
    create_person(actor=None, tenant=cast.acme, name="max", level=3, roles=("finance",), email="x@a.example")
    return cast.actor("lea")


def claimed(gwen: Actor, uri: Actor, lea: Actor, ask: str = "{pause: true}") -> Task:
    activated(gwen, CHECK.format(ask=ask))
    return claim_task(actor=lea, task_id=only_task(started(uri, "check")).pk)


@pytest.fixture
def task(gwen: Actor, uri: Actor, lea: Actor) -> Task:
    """Give a task of Lea's whose clock a question stops."""
    return claimed(gwen, uri, lea)


def asked(lea: Actor, task: Task) -> Task:
    return ask_about_task(actor=lea, task_id=task.pk, user="uri", question="Which one?")


def answered(uri: Actor) -> None:
    answer_question(actor=uri, question_id=questions_for(uri).get().pk, answer="This one")


def timers(task: Task) -> list[Any]:
    return list(
        Wait.objects.filter(instance_id=task.instance_id, kind="timer")
        .order_by("due_at")
        .values_list("due_at", flat=True)
    )


def is_replayed(task: Task) -> bool:
    instance = Instance.objects.select_related("template", "version").get(pk=task.instance_id)
    return replay(instance) == RuntimeState.objects.get(pk=task.instance_id).snapshot


def test_task_is_due_at_no_time_until_the_answer_and_later_by_the_pause(lea: Actor, uri: Actor, task: Task) -> None:
    due_at, sla_at, before = task.due_at, task.sla_at, timers(task)
    assert due_at
    waiting = asked(lea, task)
    assert (waiting.is_paused, waiting.due_at, waiting.clock_due_at, waiting.clock_resumes_at) == (
        True,
        None,
        due_at,
        None,
    )
    assert timers(task) == []
    assert not Signal.objects.filter(instance_id=task.instance_id).exists()
    assert set(TaskCandidate.objects.filter(task=task).values_list("due_at", flat=True)) == {NEVER}
    answered(uri)
    task.refresh_from_db()
    assert task.clock_paused_at is None
    pause = task.due_at - due_at  # type: ignore[operator]
    assert timedelta() < pause < timedelta(minutes=5)
    assert timers(task) == [due + pause for due in before]
    assert task.sla_at == sla_at + pause  # type: ignore[operator]
    assert set(TaskCandidate.objects.filter(task=task).values_list("due_at", flat=True)) == {task.due_at}
    assert Signal.objects.filter(instance_id=task.instance_id).count() == len(before)
    assert is_replayed(task)


def test_nothing_fires_while_the_clock_stands_still(lea: Actor, task: Task) -> None:
    asked(lea, task)
    fall_due(task.instance)
    drain()
    task.refresh_from_db()
    assert (task.status, task.priority_name) == ("claimed", "normal")
    assert not TaskEvent.objects.filter(task=task, kind__in=("reminded", "late", "escalated", "expired")).exists()


def test_late_task_is_not_counted_as_late_while_it_waits(gwen: Actor, lea: Actor, task: Task) -> None:
    asked(lea, task)
    Task.objects.filter(pk=task.pk).update(clock_due_at=database_now() - timedelta(days=1))
    assert not Task.objects.open().filter(due_at__lt=database_now()).exists()


@pytest.mark.parametrize("end", ["withdraw", "release", "assign", "delegate"])
def test_pause_ends_when_the_question_is_withdrawn_or_the_task_changes_hands(
    cast: Cast, lea: Actor, uri: Actor, task: Task, end: str
) -> None:
    asked(lea, task)
    {
        "withdraw": lambda: withdraw_question(actor=lea, task_id=task.pk),
        "release": lambda: release_task(actor=cast.actor("ada"), task_id=task.pk),
        "assign": lambda: assign_task(actor=cast.actor("ada"), task_id=task.pk, person="max"),
        "delegate": lambda: delegate_task(actor=lea, task_id=task.pk, user="max"),
    }[end]()
    task.refresh_from_db()
    assert (task.is_paused, task.waiting_since, task.due_at is None) == (False, None, False)
    assert len(timers(task)) == 4
    assert not questions_for(uri).exists()
    assert list(TaskEvent.objects.filter(task=task, kind="unasked").values_list("actor_name", flat=True))
    assert is_replayed(task)


def test_clock_runs_again_by_itself_after_the_authors_time(gwen: Actor, uri: Actor, lea: Actor) -> None:
    task = claimed(gwen, uri, lea, "{pause: true, at_most: P2D}")
    waiting = asked(lea, task)
    assert waiting.clock_paused_at
    assert waiting.clock_resumes_at == waiting.clock_paused_at + timedelta(days=2)
    fall_due(task.instance)
    drain()
    task.refresh_from_db()
    assert (task.is_paused, task.waiting_for_name, task.due_at is None) == (False, "uri", False)
    assert TaskEvent.objects.filter(task=task, kind="clock_runs").exists()
    answered(uri)
    assert is_replayed(task)


def test_task_decided_without_the_answer_was_due_when_it_was(lea: Actor, task: Task) -> None:
    due_at = task.due_at
    asked(lea, task)
    done = complete_task(actor=lea, task_id=task.pk, outcome="done")
    task.refresh_from_db()
    assert (done.instance.status, task.due_at, task.is_paused) == ("completed", due_at, False)
    assert is_replayed(task)


def test_clock_runs_on_where_the_author_does_not_stop_it(gwen: Actor, uri: Actor, lea: Actor) -> None:
    task = claimed(gwen, uri, lea, "{pause: false}")
    before = timers(task)
    waiting = asked(lea, task)
    assert (waiting.is_paused, waiting.due_at, timers(task)) == (False, task.due_at, before)
