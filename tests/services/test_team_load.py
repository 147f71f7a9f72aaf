"""The load of a team: what is counted, for whom, and by how many queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engine.errors import Refused
from engine.models import Task
from engine.services.insights.team_load import DAYS, Day, PersonLoad, QueueLoad, TeamLoad, team_load
from engine.services.people.absences import enter_absence
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.services.test_leads import DESK, lead, person
from tests.workflows import activated, started
from workflowplatform.accounts.models import Role, User


@pytest.fixture
def desk(cast: Cast) -> None:
    """Give Finance to Lena and Mira besides Ada, and three cases to all of them."""
    activated(cast.actor("gwen"), DESK)
    person(cast, "lena")
    person(cast, "mira")
    for _number in range(3):
        started(cast.actor("uri"), "desk")


def of(load: TeamLoad, name: str) -> PersonLoad:
    return next(each for each in load.people if each.person.username == name)


def queue(load: TeamLoad, name: str) -> QueueLoad:
    return next(each for each in load.queues if each.role.name == name)


def pay_tasks() -> list[Task]:
    return list(Task.objects.filter(step="pay").order_by("id"))


def test_only_leads_and_level_4_see_a_load(cast: Cast, desk: None) -> None:
    for name in ("uri", "lena"):
        with pytest.raises(Refused):
            team_load(actor=cast.actor(name))
    assert team_load(actor=lead(cast, "lena")).roles
    assert team_load(actor=cast.actor("ada")).roles


def test_each_person_has_open_late_oldest_and_done_this_week(cast: Cast, desk: None) -> None:
    first, second, third = pay_tasks()
    old = timezone.now() - timedelta(days=6)
    Task.objects.filter(pk=first.pk).update(created_at=old, due_at=old + timedelta(days=1))
    assign_task(actor=cast.actor("ada"), task_id=first.pk, person="mira")
    claim_task(actor=cast.actor("mira"), task_id=second.pk)
    claim_task(actor=cast.actor("lena"), task_id=third.pk)
    complete_task(actor=cast.actor("lena"), task_id=third.pk)
    load = team_load(actor=cast.actor("ada"), role="finance")
    mira, lena = of(load, "mira"), of(load, "lena")
    assert (mira.open, mira.late, mira.oldest, mira.done) == (2, 1, old, 0)
    assert (lena.open, lena.late, lena.oldest, lena.done) == (0, 0, None, 1)
    assert [each.person.username for each in load.people] == ["mira", "ada", "lena"]


def test_a_lead_counts_only_the_tasks_and_people_of_their_role_as_far_as_their_level_goes(
    cast: Cast, desk: None
) -> None:
    for step in ("help", "pay", "sign"):
        for task in Task.objects.filter(step=step):
            assign_task(actor=cast.actor("ada"), task_id=task.pk, person="ada")
    lena = lead(cast, "lena")
    load = team_load(actor=lena)
    assert {each.person.username for each in load.people} == {"ada", "lena", "mira"}
    assert of(load, "ada").open == 3
    assert [role.name for role in load.roles] == ["finance"]
    assert team_load(actor=lena, role="support").chosen is None
    assert of(team_load(actor=cast.actor("gwen")), "ada").open == 9
    assert of(team_load(actor=cast.actor("gwen"), role="finance"), "ada").open == 6


def test_a_queue_has_what_waits_its_age_and_what_came_in_and_went_out_on_each_day(cast: Cast, desk: None) -> None:
    first, second, _third = pay_tasks()
    yesterday = timezone.now() - timedelta(days=1)
    Task.objects.filter(pk=first.pk).update(created_at=yesterday)
    complete_task(actor=cast.actor("mira"), task_id=second.pk)
    finance = queue(team_load(actor=lead(cast, "lena")), "finance")
    assert (finance.waiting, finance.oldest, finance.trend) == (2, yesterday, "growing")
    assert len(finance.days) == DAYS
    assert [(day.came, day.done) for day in finance.days[-2:]] == [(1, 0), (2, 1)]
    assert finance.days[-1].on == timezone.localdate()


def test_the_trend_of_a_queue_is_what_came_in_against_what_went_out() -> None:
    def trend(came: int, done: int) -> str:
        return QueueLoad(Role(name="finance"), 0, 0, None, (Day(timezone.localdate(), came, done),)).trend

    assert [trend(*pair) for pair in ((0, 0), (10, 10), (10, 9), (10, 8), (8, 10))] == [
        "steady", "steady", "steady", "growing", "shrinking",
    ]  # fmt: skip


def test_who_is_away_is_there_with_the_deputy(cast: Cast, desk: None) -> None:
    now = timezone.now()
    enter_absence(
        actor=cast.actor("mira"), person="mira", deputy="lena",
        starts_at=now - timedelta(minutes=1), ends_at=now + timedelta(days=2),
    )  # fmt: skip
    away = of(team_load(actor=cast.actor("ada"), role="finance"), "mira").away
    assert away is not None
    assert away.deputy is not None
    assert away.deputy.username == "lena"


def test_another_tenant_counts_nothing_of_this_one(cast: Cast, desk: None) -> None:
    load = team_load(actor=cast.actor("sam"))
    assert (load.open, {each.person.tenant_id for each in load.people}) == (0, {cast.globex.pk})
    assert {each.waiting for each in load.queues} == {0}


def test_the_number_of_queries_does_not_grow_with_people_and_tasks(cast: Cast, desk: None) -> None:
    lena = lead(cast, "lena")

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            team_load(actor=lena)
        return len(asked)

    few = queries()
    for number in range(5):
        person(cast, f"clerk{number}")
        task = Task.objects.get(instance=started(cast.actor("uri"), "desk"), step="pay")
        claim_task(actor=cast.actor(f"clerk{number}"), task_id=task.pk)
    assert queries() == few
    assert few <= 9
    assert User.objects.filter(username__startswith="clerk").count() == 5
