"""Many people at the same tasks at once: everybody gets one, nobody gets two, no turn is taken twice."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connection

from engine.errors import Conflict
from engine.models import Task, TaskEvent
from engine.services.instances.lifecycle import start_instance
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task, take_next_task
from engine.services.tasks.bulk import act_on_tasks
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor

CROWD = 6

TURNS = """
workflow: turns
title: Turns
steps:
  - id: work
    task: {title: Work, roles: [support], assign_by: round_robin, not_same_as: [start]}
"""

BOARD = """
workflow: board
title: Board
steps:
  - id: vote
    task: {title: Vote, roles: [support], complete_when: done >= 3}
  - id: keep
    set: {votes: "${length(result.vote.answers)}"}
"""

ONE_EACH = TWO_TASKS.replace("{title: First}", "{title: First, wip_limit: 1}")


@pytest.fixture
def crowd(committed_cast: Cast) -> list[str]:
    """Return several more admins of Acme."""
    names = [f"clerk{number}" for number in range(CROWD)]
    for name in names:
        create_person(actor=None, tenant=committed_cast.acme, name=name, level=4, roles=["support"])
    return names


def test_all_who_ask_for_the_next_task_at_once_get_one_each(committed_cast: Cast, crowd: list[str]) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    for _ in range(CROWD):
        started(gwen, "two")
    taken = at_once([partial(take_next_task, actor=committed_cast.actor(name)) for name in crowd])
    assert len({task.pk for task in taken}) == CROWD
    assert {task.assignee.username for task in taken} == set(crowd)


def test_turns_are_taken_one_after_the_other_by_starts_at_once(committed_cast: Cast, crowd: list[str]) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TURNS)
    at_once([partial(start_instance, actor=gwen, template="turns", input={}) for _ in range(CROWD + 1)])
    held = Counter(Task.objects.open().values_list("assignee__username", flat=True))
    assert held == dict.fromkeys([*crowd, "ada"], 1)


def test_answers_of_several_at_once_are_all_counted_and_none_too_many(committed_cast: Cast, crowd: list[str]) -> None:
    activated(committed_cast.actor("gwen"), BOARD)
    instance = started(committed_cast.actor("gwen"), "board")
    vote = only_task(instance)
    answers = at_once([partial(complete_task, actor=committed_cast.actor(name), task_id=vote.pk) for name in crowd])
    refused = [answer.code for answer in answers if isinstance(answer, Conflict)]
    assert refused == ["closed"] * (CROWD - 3)
    instance.refresh_from_db()
    vote.refresh_from_db()
    assert (instance.status, instance.state, len(vote.answered_by)) == ("completed", {"votes": 3}, 3)


def test_one_person_claiming_many_at_once_stays_within_the_limit(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, ONE_EACH)
    tasks = [only_task(started(gwen, "two")) for _ in range(4)]
    claims = at_once([partial(claim_task, actor=ada, task_id=task.pk) for task in tasks])
    assert Counter(getattr(claim, "code", "claimed by ada") for claim in claims) == {
        "claimed by ada": 1,
        "wip_limit": 3,
    }


def test_bulk_claims_of_the_same_tasks_share_them_without_a_deadlock(committed_cast: Cast, crowd: list[str]) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    ids = [only_task(started(gwen, "two")).pk for _ in range(4)]
    orders = [ids, ids[::-1], ids[2:] + ids[:2]]
    acts = [
        partial(act_on_tasks, actor=committed_cast.actor(name), action="claim", task_ids=order)
        for name, order in zip(crowd, orders, strict=False)
    ]
    rows = [row for result in at_once(acts) for row in result]
    assert Counter(row.code for row in rows) == {"": 4, "claimed": 8}


def test_the_same_tasks_completed_together_by_several_are_answered_once_each(
    committed_cast: Cast, crowd: list[str]
) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    ids = [only_task(started(gwen, "two")).pk for _ in range(4)]
    orders = [ids, ids[::-1], ids[2:] + ids[:2]]
    acts = [
        partial(act_on_tasks, actor=committed_cast.actor(name), action="complete", task_ids=order, outcome="done")
        for name, order in zip(crowd, orders, strict=False)
    ]
    rows = [row for result in at_once(acts) for row in result]
    assert Counter(row.code for row in rows) == {"": 4, "closed": 8}
    assert TaskEvent.objects.filter(kind="completed").count() == 4


def test_a_reassignment_and_an_answer_at_once_leave_one_truth(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, TWO_TASKS)
    task = only_task(started(gwen, "two"))
    claim_task(actor=ada, task_id=task.pk)
    give = partial(assign_task, actor=gwen, task_id=task.pk, person="adam")
    answered, given = at_once([partial(complete_task, actor=ada, task_id=task.pk), give])
    task.refresh_from_db()
    if task.status == "completed":
        assert (task.completed_by_name, given.code) == ("ada", "closed")
    else:
        assert (task.status, answered.code) == ("open", "not_candidate")


PEOPLE, ROUNDS = 50, 200


@pytest.mark.slow
def test_fifty_people_claim_one_task_two_hundred_times_and_one_wins_each(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    tasks = [only_task(started(gwen, "two")) for _ in range(ROUNDS)]
    for number in range(PEOPLE):
        create_person(actor=None, tenant=committed_cast.acme, name=f"clerk{number}", level=4)
    people = [committed_cast.actor(f"clerk{number}") for number in range(PEOPLE)]
    together = Barrier(PEOPLE)

    def claim_all(actor: Actor) -> list[str]:
        try:
            return [claim_one(actor, task) for task in tasks]
        finally:
            connection.close()

    def claim_one(actor: Actor, task: Task) -> str:
        together.wait()
        try:
            return str(claim_task(actor=actor, task_id=task.pk).assignee_id)
        except Conflict as lost:
            return f"lost to {lost.facts['winner']}"

    with ThreadPoolExecutor(PEOPLE) as pool:
        told = list(zip(*pool.map(claim_all, people), strict=True))
    for task, answers in zip(tasks, told, strict=True):
        winner = Task.objects.get(pk=task.pk).assignee
        assert winner
        assert Counter(answers) == {str(winner.pk): 1, f"lost to {winner.username}": PEOPLE - 1}
    assert TaskEvent.objects.filter(kind="claimed").count() == ROUNDS
