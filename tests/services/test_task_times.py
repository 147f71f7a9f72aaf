"""Tasks that find their person, send e-mails and escalate, all of it by durable timers."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from engine import access
from engine.dispatch.drain import drain
from engine.models import Instance, Signal, Task, TaskEvent
from engine.runtime import task_effects
from engine.services.people.accounts import change_manager, create_person
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.services.test_deputies import away
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence, User

SHARED = """
workflow: shared
title: Shared
steps:
  - id: work
    task: {{title: Work, assign_by: {way}, users: [ada, adam, gwen, uri], not_same_as: [start]}}
"""


def holders(actor: Actor, times: int) -> list[str | None]:
    """Start as many and return whose the tasks are."""
    tasks = [only_task(started(actor, "shared")) for _ in range(times)]
    return [task.assignee.username if task.assignee else None for task in tasks]


def test_round_robin_goes_through_those_who_may_act(gwen: Actor) -> None:
    activated(gwen, SHARED.format(way="round_robin"))
    assert holders(gwen, 5) == ["ada", "adam", "ada", "adam", "ada"]


def test_least_loaded_gets_the_next_one(gwen: Actor, ada: Actor) -> None:
    activated(gwen, SHARED.format(way="least_loaded"))
    assert Counter(holders(gwen, 4)) == {"ada": 2, "adam": 2}
    done = access.tasks_mine(ada).first()
    assert done is not None
    complete_task(actor=ada, task_id=done.pk)
    assert holders(gwen, 1) == ["ada"]


def test_random_follows_the_draw_that_is_lent(gwen: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    activated(gwen, SHARED.format(way="random"))
    monkeypatch.setattr(task_effects, "draw", lambda number: number - 1)
    assert holders(gwen, 1) == ["adam"]


@pytest.mark.parametrize("way", ["random", "round_robin", "least_loaded", "most_experienced"])
def test_nobody_away_is_chosen_while_anybody_is_here(
    cast: Cast, gwen: Actor, ada: Actor, adam: Actor, way: str
) -> None:
    activated(gwen, SHARED.format(way=way))
    away(gwen, "ada", None)
    assert holders(gwen, 3) == ["adam"] * 3
    away(gwen, "adam", None)
    assert set(holders(gwen, 2)) <= {"ada", "adam"}, "where all are away it is one of them"
    Absence.objects.filter(person=cast.ada).update(ends_at=timezone.now())
    assert holders(gwen, 2) == ["ada"] * 2


def test_where_nobody_fits_the_task_is_offered(gwen: Actor, uri: Actor) -> None:
    activated(gwen, SHARED.format(way="round_robin").replace("ada, adam, gwen, uri", "uri"))
    assert holders(gwen, 1) == [None]


def test_most_experienced_gets_the_next_one(gwen: Actor, adam: Actor) -> None:
    activated(gwen, SHARED.format(way="most_experienced"))
    assert holders(gwen, 2) == ["ada", "adam"], "nobody has any: who has fewest open tasks, then by name"
    own = access.tasks_mine(adam).first()
    assert own is not None
    complete_task(actor=adam, task_id=own.pk)
    assert holders(gwen, 3) == ["adam", "adam", "adam"]
    Task.objects.filter(pk=own.pk).update(completed_at=own.created_at - timedelta(days=91))
    assert holders(gwen, 1) == ["ada"], "what was done long ago counts no more"


LED = """
workflow: led
title: Led
starters: {min_level: 2}
input: {type: object, properties: {employee: {type: string}}}
steps:
  - id: first
    task: {title: First, assign_by: manager_of, roles: [finance], not_same_as: [start]}
  - id: second
    task: {title: Second, assignee: "${manager_of(start.employee)}", roles: [finance]}
"""


def led(cast: Cast, **leads: str | None) -> None:
    for name, lead in leads.items():
        change_manager(actor=cast.actor("gwen"), person=getattr(cast, name), manager=lead)


def test_task_is_for_the_manager_of_the_starter_decided_when_it_opens(cast: Cast, gwen: Actor, uri: Actor) -> None:
    activated(gwen, LED)
    led(cast, uri="adam", adam="gwen")
    task = only_task(started(uri, "led", employee="adam"))
    led(cast, uri="ada")
    assert (task.status, task.assignee and task.assignee.username) == ("open", "adam")
    event = TaskEvent.objects.get(task=task, kind="assigned")
    assert (event.cause, event.new) == ("manager_of", {"assignee": "adam"})
    complete_task(actor=cast.actor("adam"), task_id=task.pk)
    following = only_task(task.instance)
    assert following.assignee_id == gwen.person_id
    release_task(actor=gwen, task_id=following.pk)
    complete_task(actor=cast.actor("ada"), task_id=following.pk)


@pytest.mark.parametrize("why", ["nobody", "inactive", "low level", "four eyes", "away"])
def test_without_a_manager_who_may_do_it_the_task_is_offered_and_says_so(cast: Cast, gwen: Actor, why: str) -> None:
    early = "  - {id: early, task: {title: E, users: [ada]}}\n  - id: first"
    checked = LED.replace("  - id: first", early).replace("[start]", "[early]")
    activated(gwen, checked if why == "four eyes" else LED)
    led(cast, uri={"nobody": None, "low level": None}.get(why, "ada"))
    if why == "low level":
        User.objects.filter(pk=cast.ada.pk).update(level=3)
        led(cast, uri="ada")
    if why == "inactive":
        User.objects.filter(pk=cast.ada.pk).update(is_active=False)
    if why == "away":
        away(cast.actor("gwen"), "ada", None)
    instance = started(cast.actor("uri"), "led", employee="gwen")
    if why == "four eyes":
        complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk)
    task = only_task(instance)
    assert (task.assignee_id, task.effective_roles) == (None, ["finance"])
    assert TaskEvent.objects.get(task=task, kind="offered").cause == "no_manager"


@pytest.mark.parametrize(("templates", "holder"), [([], "ada"), (["led"], "ada"), (["another"], None)])
def test_manager_who_is_away_has_it_where_a_deputy_stands_in(
    cast: Cast, gwen: Actor, templates: list[str], holder: str | None
) -> None:
    create_person(actor=None, tenant=cast.acme, name="mira", level=4, roles=("finance", "support"), email="m@a.example")
    activated(gwen, LED)
    led(cast, uri="ada")
    away(gwen, "ada", "mira", templates=templates)
    task = only_task(started(cast.actor("uri"), "led", employee="gwen"))
    assert (task.assignee and task.assignee.username) == holder


LATE = """
workflow: late
title: Late
steps:
  - id: answer
    task:
      title: Answer
      roles: [support]
      not_same_as: [start]
      notify: true
      sla: PT2H
      remind: [{after: PT1H, to: [ada, "boss@acme.example"], subject: Please}]
      escalate:
        - {after: P1D, notify: [management], priority: high, roles: [management]}
        - {after: P2D, assignee: adam}
        - {after: P3D, assignee: gwen}
        - {after: P4D, interrupting: true, steps: [{id: sorry, set: {sorry: true}}]}
"""


@pytest.fixture
def late(committed_cast: Cast) -> Task:
    """Return a task with every kind of timer, its first e-mail sent."""
    gwen = committed_cast.actor("gwen")
    activated(gwen, LATE)
    task = only_task(started(gwen, "late"))
    drain()
    return task


def let_pass(instance: Instance, **time: float) -> None:
    """Bring everything due that falls due within this time, as if it had passed."""
    signals = Signal.objects.filter(instance=instance)
    for signal in signals.order_by("due_at"):
        Signal.objects.filter(pk=signal.pk).update(due_at=signal.due_at - timedelta(**time))
    drain()


def test_a_letter_says_where_its_task_is(committed_cast: Cast, settings: Any) -> None:
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    gwen = committed_cast.actor("gwen")
    activated(gwen, LATE)
    task = only_task(started(gwen, "late"))
    drain()
    assert f"https://workflow.example.com/inbox/tasks/{task.pk}/" in mail.outbox[0].body.splitlines()


def test_letters_reminders_and_escalations_come_one_after_the_other(committed_cast: Cast, late: Task) -> None:
    assert [(letter.to, letter.subject) for letter in mail.outbox] == [(["ada@acme.example"], "New task: Answer")]
    let_pass(late.instance, hours=1)
    assert sorted((letter.to[0], letter.subject) for letter in mail.outbox[1:]) == [
        ("ada@acme.example", "Please"),
        ("boss@acme.example", "Please"),
    ]
    ada, adam = committed_cast.actor("ada"), committed_cast.actor("adam")
    claim_task(actor=ada, task_id=late.pk)
    let_pass(late.instance, hours=23)
    late.refresh_from_db()
    assert (late.priority_name, late.effective_roles, late.assignee_id) == (
        "high",
        ["support", "management"],
        ada.person_id,
    )
    assert mail.outbox[-1].to == ["adam@acme.example"]
    let_pass(late.instance, days=1)
    late.refresh_from_db()
    assert (late.status, late.assignee_id) == ("open", adam.person_id)
    let_pass(late.instance, days=1)
    late.refresh_from_db()
    assert late.assignee_id == adam.person_id, "four eyes: Gwen started it"
    let_pass(late.instance, days=1)
    late.refresh_from_db()
    late.instance.refresh_from_db()
    assert (late.status, late.instance.status, late.instance.state) == ("cancelled", "completed", {"sorry": True})
    kinds = Counter(TaskEvent.objects.filter(task=late).values_list("kind", flat=True))
    assert (kinds["reminded"], kinds["escalated"], kinds["late"]) == (2, 3, 1)


def test_an_answered_task_sends_no_more_letters(committed_cast: Cast, late: Task) -> None:
    complete_task(actor=committed_cast.actor("ada"), task_id=late.pk)
    assert not Signal.objects.filter(instance=late.instance).exists()
