"""What one is told before an absence is entered: who is left, on which day, what the deputy may not do, and the cure."""

from datetime import date, timedelta

import pytest
from django.utils import timezone

from engine.models import BusinessCalendar, Task
from engine.services.people.absence_days import day_back, days_away, presence_of, working_calendar
from engine.services.people.absence_work import (
    assign_open_tasks,
    barred_for,
    deputies_who_help,
    open_work,
    templates_of,
)
from engine.services.people.absences import enter_absence, intended_absence, warn_about
from engine.services.people.accounts import create_person
from engine.services.people.staffing import Outlook
from engine.services.tasks.assignment import assign_task
from tests.cast import Cast
from tests.services.test_deputies import FINANCE, OWN_REQUEST, PERSONAL
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, User

NAMED = """
workflow: named
title: Named
steps:
  - id: look
    task: {title: Look, users: [ada], min_level: 2}
"""
PAIR = """
workflow: pair
title: Pair
steps:
  - id: pay
    task: {title: Pay, users: [ada, mira, lea], min_level: 2, complete_when: done >= 2}
"""


@pytest.fixture
def mira(cast: Cast) -> User:
    return person(cast, "mira")


@pytest.fixture
def lea(cast: Cast) -> User:
    return person(cast, "lea")


def person(cast: Cast, name: str) -> User:
    create_person(
        actor=None, tenant=cast.acme, name=name, level=3, roles=("finance", "support"), email=f"{name}@a.example"
    )
    return User.objects.get(username=name)


def monday() -> date:
    today = timezone.localdate() + timedelta(days=8)
    return today - timedelta(days=today.weekday())


def intended(actor: Actor, deputy: str | None, *, days: int = 12, first: int = 0) -> Absence:
    start = monday() + timedelta(days=first)
    return intended_absence(
        actor=actor, person=actor.name, deputy=deputy, starts_at=start, ends_at=start + timedelta(days=days - 1)
    )


def test_nothing_is_written_before_it_is_entered(cast: Cast, ada: Actor, gwen: Actor) -> None:
    activated(gwen, NAMED)
    absence = intended(ada, None)
    assert [one.code for one in warn_about(absence)] == ["nobody_left"]
    assert not Absence.objects.exists()


def test_deputy_who_closes_the_gap_is_offered(cast: Cast, ada: Actor, gwen: Actor, mira: User, lea: User) -> None:
    """Not one who is away then, nor one for whom the absent person stands in."""
    activated(gwen, NAMED)
    outlook = Outlook(intended(ada, None))
    assert deputies_who_help(actor=ada, outlook=outlook, gaps=outlook.gaps) == [lea, mira]
    away = intended(cast.actor("lea"), None, days=2, first=1)
    away.save()
    outlook = Outlook(intended(ada, "lea"))
    assert [gap.task.step for gap in outlook.gaps] == ["look"]
    assert deputies_who_help(actor=ada, outlook=outlook, gaps=outlook.gaps) == [mira]
    enter_absence(
        actor=cast.actor("mira"), person="mira", deputy="ada", starts_at=monday() - timedelta(days=3), ends_at=monday()
    )
    assert deputies_who_help(actor=ada, outlook=outlook, gaps=outlook.gaps) == []


def test_days_say_who_is_here_and_where_it_is_too_few(
    cast: Cast, ada: Actor, gwen: Actor, mira: User, lea: User
) -> None:
    activated(gwen, PAIR)
    intended(cast.actor("mira"), None, days=5, first=7).save()
    outlook = Outlook(intended(ada, "mira"))
    calendar = working_calendar(cast.acme.pk)
    days = [day for day in days_away(outlook.absence) if calendar.is_business_day(day)]
    assert len(days) == 10
    found = presence_of(outlook, days, outlook.gaps[0])
    assert [row.person.username for row in found.people] == ["ada", "mira", "lea"]
    assert [row.here for row in found.people] == [(False,) * 10, (True,) * 5 + (False,) * 5, (True,) * 10]
    assert (found.counts, found.short) == ((2,) * 5 + (1,) * 5, (False,) * 5 + (True,) * 5)
    assert [row.person.username for row in presence_of(outlook, days).people] == ["ada", "mira"]


def test_working_days_follow_the_only_calendar(cast: Cast, ada: Actor) -> None:
    absence = intended(ada, None)
    assert day_back(absence, working_calendar(cast.acme.pk)) == monday() + timedelta(days=14)
    holiday = monday() + timedelta(days=14)
    week = {"mon": ["09:00-12:00"], "tue": ["09:00-12:00"]}
    content = {"timezone": "UTC", "hours": week, "holidays": [holiday.isoformat()]}
    BusinessCalendar.objects.create(tenant=cast.acme, name="office", content=content)
    assert day_back(absence, working_calendar(cast.acme.pk)) == monday() + timedelta(days=15)


def test_what_the_deputy_may_not_do_is_named(cast: Cast, ada: Actor, gwen: Actor, mira: User) -> None:
    activated(gwen, OWN_REQUEST)
    own = only_task(started(cast.actor("mira"), "own-request"))
    only_task(started(gwen, "own-request"))
    found = barred_for(actor=ada, person=cast.ada, deputy=mira)
    assert [(one.task.pk, one.why.code) for one in found] == [(own.pk, "four_eyes")]


def test_open_tasks_are_counted_by_role_and_template(cast: Cast, ada: Actor, gwen: Actor, mira: User) -> None:
    activated(gwen, FINANCE)
    activated(gwen, PERSONAL)
    task = only_task(started(gwen, "finance-check"))
    assign_task(actor=gwen, task_id=task.pk, person="ada")
    Task.objects.filter(pk=task.pk).update(due_at=timezone.now() + timedelta(days=1))
    only_task(started(gwen, "personal"))
    found = open_work(actor=ada, person=cast.ada, until=timezone.now() + timedelta(days=2))
    assert (found.total, found.due, dict(found.roles)) == (2, 1, {"finance": 1})
    assert dict(found.templates) == {"finance-check": 1, "personal": 1}
    assert templates_of(actor=ada, person=cast.ada) == {"finance-check": "Finance check", "personal": "Personal"}
    assert templates_of(actor=ada, person=mira) == {"finance-check": "Finance check"}
    done = assign_open_tasks(actor=ada, person=cast.ada, deputy=mira, note="")
    assert [row.code for row in done] == ["", ""]
    task.refresh_from_db()
    assert task.assignee == mira
