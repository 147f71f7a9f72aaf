"""What a person's act costs the database, counted in statements, and that saving them changed no answer and no rule."""

import os
from typing import Any

import pytest
from django.db import connection, models

from benchmarks.recording import recorded
from benchmarks.reviewed import kept, plain
from benchmarks.statements import counted
from benchmarks.workflows import W1
from engine.errors import NotFound, Refused
from engine.models import Audit, Instance, Task
from engine.services.instances.lifecycle import StartedInstance, next_tasks, start_instance
from engine.services.tasks.lifecycle import CompletedTask, claim_task, complete_task
from tests.cast import Cast
from tests.short_way import short_way_only
from tests.workflows import TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Membership, User

SEVERAL = """
workflow: several
title: Several at once
steps:
  - id: all
    parallel:
      branches:
        a: [{id: first, task: {title: First}}]
        b: [{id: dated, task: {title: Dated, due: P1D}}]
        c: [{id: urgent, task: {title: Urgent, priority: high}}]
        d: [{id: last, task: {title: Last}}]
"""
ANSWER: dict[str, Any] = {"outcome": "approve", "values": {"note": "ok"}}


def start(actor: Actor) -> StartedInstance:
    return start_instance(actor=actor, template="w1", input={"amount": 1200})


def warmed(gwen: Actor, *actors: Actor) -> None:
    """Load what is read once per process: the compiled definition."""
    activated(gwen, W1)
    start(actors[0])


@pytest.mark.parametrize("finance", ["ada", "flo"])
def test_w1_takes_eight_statements_and_three_transactions_at_most(committed_cast: Cast, finance: str) -> None:
    cast, starting_cost = committed_cast, 3
    _employ(cast, "flo", level=2, role="finance")
    warmed(cast.actor("gwen"), cast.actor("uri"))
    uri, actor = cast.actor("uri"), cast.actor(finance)
    with counted() as starting:
        begun = start(uri)
    task = only_task(begun.instance)
    with counted() as claiming:
        claim_task(actor=actor, task_id=task.pk)
    with counted() as completing:
        done = complete_task(actor=actor, task_id=task.pk, **ANSWER)
    assert done.instance.status == "completed"
    assert [len(starting), len(claiming), len(completing)] == [starting_cost, 2, 2]
    assert len(starting) + len(claiming) + len(completing) <= 8
    assert _writing_transactions(begun.instance) == 3


def _employ(cast: Cast, name: str, *, level: int, role: str) -> None:
    from engine.services.people.accounts import create_person

    create_person(actor=None, tenant=cast.acme, name=name, level=level, roles=[role])


def _writing_transactions(instance: Instance) -> int:
    """Count the transactions that left their number in the instance's audit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT xid) FROM wf_audit WHERE subject_id = %s", [instance.pk])
        return int(cursor.fetchone()[0])


def test_completing_an_open_task_takes_no_statement_more(gwen: Actor, uri: Actor, ada: Actor) -> None:
    warmed(gwen, uri)
    task = only_task(start(uri).instance)
    with counted() as sent:
        complete_task(actor=ada, task_id=task.pk, **ANSWER)
    assert len(sent) == 2
    kinds = Audit.objects.filter(subject_id=task.instance_id).order_by("seq").values_list("action", flat=True)
    assert list(kinds).index("task_claimed") < list(kinds).index("task_completed")


@short_way_only
def test_raw_psycopg_is_measured_with_the_very_statements_of_w1(gwen: Actor, ada: Actor) -> None:
    warmed(gwen, gwen)
    with recorded() as sent:
        task_id = start(gwen).tasks[0].pk
        claim_task(actor=ada, task_id=task_id)
        complete_task(actor=ada, task_id=task_id, **ANSWER)
    assert [plain(text) for text, _ in sent] == [plain(kept(name)) for name in ("start", "claim", "complete")]


@short_way_only
@pytest.mark.skipif("WORKFLOW_TEST_POOLER" in os.environ, reason="behind an old pooler nothing is prepared")
def test_hot_statements_are_prepared_once_a_connection(gwen: Actor, uri: Actor, ada: Actor) -> None:
    """Two of a start and two of a completion run again as they were prepared; how often each is planned, its costs decide."""
    warmed(gwen, uri)
    before = _runs_of_prepared()
    for _ in range(8):
        complete_task(actor=ada, task_id=only_task(start(uri).instance).pk, **ANSWER)
    after = _runs_of_prepared()
    assert len([name for name, runs in after.items() if runs - before.get(name, 0) >= 8]) >= 4


def _runs_of_prepared() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, generic_plans + custom_plans FROM pg_prepared_statements")
        return dict(cursor.fetchall())


def test_answers_are_what_the_database_holds(gwen: Actor, uri: Actor, ada: Actor) -> None:
    warmed(gwen, uri)
    begun = start(uri)
    assert _fields(begun.instance) == _fields(Instance.objects.get(pk=begun.instance.pk))
    task = only_task(begun.instance)
    for opened in start(gwen).tasks:
        assert _fields(opened) == _fields(Task.objects.get(pk=opened.pk))
    claimed = claim_task(actor=ada, task_id=task.pk)
    assert _fields(claimed) == _fields(Task.objects.get(pk=task.pk))
    assert claimed.assignee == User.objects.get(username="ada")
    done: CompletedTask = complete_task(actor=ada, task_id=task.pk, **ANSWER)
    assert _fields(done.instance) == _fields(Instance.objects.get(pk=begun.instance.pk))
    assert _fields(done.task) == _fields(Task.objects.get(pk=task.pk))


def _fields(row: models.Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_new_tasks_come_in_the_order_of_the_inbox(gwen: Actor) -> None:
    activated(gwen, SEVERAL)
    begun = start_instance(actor=gwen, template="several", input={})
    assert [task.step for task in begun.tasks] == ["urgent", "dated", "first", "last"]
    assert list(begun.tasks) == list(next_tasks(gwen, begun.instance.pk))


def test_who_was_demoted_since_they_came_in_acts_at_the_level_they_have_now(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TWO_TASKS)
    task = only_task(started(gwen, "two"))
    User.objects.filter(username="ada").update(level=2)
    with pytest.raises(NotFound):
        claim_task(actor=ada, task_id=task.pk)
    with pytest.raises(Refused) as refusal:
        start_instance(actor=ada, template="two", input={})
    assert refusal.value.code == "level"


def test_who_lost_a_role_since_they_came_in_is_no_candidate(gwen: Actor, uri: Actor, ada: Actor) -> None:
    warmed(gwen, uri)
    task = only_task(start(uri).instance)
    Membership.objects.filter(user_id=ada.person_id, role__name="finance").delete()
    for act in (claim_task, complete_task):
        with pytest.raises(Refused) as refusal:
            act(actor=ada, task_id=task.pk)
        assert refusal.value.code == "not_candidate"


def test_who_left_since_they_came_in_starts_and_claims_nothing(gwen: Actor, uri: Actor, ada: Actor) -> None:
    warmed(gwen, uri)
    task = only_task(start(uri).instance)
    User.objects.filter(username__in=["ada", "uri"]).update(is_active=False)
    for act in (lambda: claim_task(actor=ada, task_id=task.pk), lambda: start(uri)):
        with pytest.raises(Refused) as refusal:
            act()
        assert refusal.value.code == "level"
