"""A deputy does what is an absent person's, for as long as that one is away, and never against four eyes."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from engine import access
from engine.audit.chain import database_now
from engine.errors import WorkflowError
from engine.models import Audit, RuntimeState, Task, TaskEvent
from engine.services.people.absences import change_absence, end_absence, enter_absence, list_absences, warn_about
from engine.services.people.accounts import create_person
from engine.services.tasks.assignment import assign_task, take_next_task
from engine.services.tasks.bulk import act_on_tasks
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from engine.services.tasks.lists import list_named
from engine.services.tasks.suspension import skip_task
from engine.services.templates.versions import activate_version, save_draft
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Absence

PERSONAL = """
workflow: personal
title: Personal
starters: {min_level: 2}
steps:
  - id: look
    task: {title: Look, assignee: ada, min_level: 2, allow: [skip]}
"""
OFFERED = """
workflow: offered
title: Offered
steps:
  - id: look
    task: {title: Look, users: [ada], min_level: 2}
"""
FINANCE = """
workflow: finance-check
title: Finance check
starters: {min_level: 2}
steps:
  - id: look
    task: {title: Look, roles: [finance], min_level: 2}
"""
TWICE = """
workflow: twice
title: Twice
starters: {min_level: 2}
steps:
  - id: first
    task: {title: First, assignee: ada, min_level: 2}
  - id: second
    task: {title: Second, users: [ada, mira, lea, adam], min_level: 2, not_same_as: [first]}
"""
OWN_REQUEST = """
workflow: own-request
title: Own request
starters: {min_level: 2}
steps:
  - id: approve
    task: {title: Approve, assignee: ada, min_level: 2, not_same_as: [start]}
"""
BOARD = """
workflow: board
title: Board
steps:
  - id: vote
    task: {title: Vote, users: [ada, adam, gwen], min_level: 2, complete_when: open == 0}
"""


@pytest.fixture
def mira(cast: Cast) -> Actor:
    """Return an admin who holds Ada's roles."""
    create_person(actor=None, tenant=cast.acme, name="mira", level=4, roles=("finance", "support"), email="m@a.example")
    return cast.actor("mira")


@pytest.fixture
def lea(cast: Cast) -> Actor:
    """Give someone of level 3 who holds Ada's roles."""
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance", "support"), email="l@a.example")
    return cast.actor("lea")


def away(
    actor: Actor, person: str, deputy: str | None, *, days: tuple[float, float] = (-1, 5), **words: Any
) -> Absence:
    """Enter an absence, in days from now."""
    now = timezone.now()
    first, last = (now + timedelta(days=number) for number in days)
    return enter_absence(actor=actor, person=person, deputy=deputy, starts_at=first, ends_at=last, **words)


def refusal(act: Any, **given: Any) -> str:
    with pytest.raises(WorkflowError) as refused:
        act(**given)
    return refused.value.code


def shown(actor: Actor, view: str) -> list[Task]:
    """Return a list as pages and REST read it."""
    return list_named(actor, view).page(None, 50).rows


@pytest.mark.parametrize("name", ["mira", "lea"])
def test_deputy_sees_and_does_what_is_assigned_to_the_absent(
    cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor, name: str
) -> None:
    activated(gwen, PERSONAL)
    task = only_task(started(gwen, "personal"))
    assert shown(cast.actor(name), "mine") == []
    assert refusal(complete_task, actor=cast.actor(name), task_id=task.pk) in ("not_candidate", "not_found")
    away(ada, "ada", name)
    deputy = cast.actor(name)
    assert shown(deputy, "mine") == [task] == shown(ada, "mine")
    assert [one.code for one in access.explain_task(deputy, task)][-1] == "deputy"
    done = complete_task(actor=deputy, task_id=task.pk)
    assert (done.task.completed_by_name, done.task.completed_for_name) == (name, "ada")
    facts = TaskEvent.objects.get(task=task, kind="completed")
    assert (facts.actor_name, facts.new["for"]) == (name, "ada")
    assert Audit.objects.get(subject_id=task.instance_id, action="task_completed").new["for"] == "ada"
    task.refresh_from_db()
    assert task.completed_for_name == "ada"


@pytest.mark.parametrize("name", ["mira", "lea"])
def test_offers_by_name_are_the_deputys_too(
    cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor, name: str
) -> None:
    activated(gwen, OFFERED)
    task = only_task(started(gwen, "offered"))
    away(ada, "ada", name)
    deputy = cast.actor(name)
    assert shown(deputy, "available") == [task] == list(access.tasks_available(deputy))
    assert take_next_task(actor=deputy) == task
    task.refresh_from_db()
    assert (task.status, task.assignee and task.assignee.username) == ("claimed", "ada")
    assert TaskEvent.objects.get(task=task, kind="claimed").new == {"assignee": "ada", "for": "ada"}
    assert shown(ada, "mine") == [task]
    release_task(actor=deputy, task_id=task.pk)
    assert shown(deputy, "available") == [task]


def test_nothing_is_the_deputys_before_and_after(cast: Cast, gwen: Actor, ada: Actor, lea: Actor) -> None:
    activated(gwen, PERSONAL)
    task = only_task(started(gwen, "personal"))
    later = away(ada, "ada", "lea", days=(1, 5))
    assert shown(cast.actor("lea"), "mine") == []
    change_absence(actor=ada, absence_id=later.pk, starts_at=timezone.now() - timedelta(hours=1))
    assert shown(cast.actor("lea"), "mine") == [task]
    deputy = cast.actor("lea")
    claim_task(actor=deputy, task_id=task.pk)
    end_absence(actor=ada, absence_id=later.pk)
    assert shown(cast.actor("lea"), "mine") == []
    assert refusal(complete_task, actor=deputy, task_id=task.pk) == "not_found"  # though the actor was read before
    assert shown(ada, "mine") == [task]
    assert complete_task(actor=ada, task_id=task.pk).task.completed_for_name == ""


def test_roles_and_templates_limit_what_the_deputy_may_do(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    for source in (PERSONAL, FINANCE):
        activated(gwen, source)
    personal, finance = only_task(started(gwen, "personal")), only_task(started(gwen, "finance-check"))
    assign_task(actor=gwen, task_id=finance.pk, person="ada")
    absence = away(ada, "ada", "mira", roles=["support"])
    assert shown(cast.actor("mira"), "mine") == [personal]
    assert refusal(claim_task, actor=cast.actor("mira"), task_id=finance.pk) == "not_candidate"
    change_absence(actor=ada, absence_id=absence.pk, roles=["finance"], templates=["finance-check"])
    assert shown(cast.actor("mira"), "mine") == [finance]
    assert refusal(claim_task, actor=cast.actor("mira"), task_id=personal.pk) == "not_candidate"


def test_tasks_of_before_can_stay_with_the_absent_person(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    activated(gwen, PERSONAL)
    before = only_task(started(gwen, "personal"))
    enter_absence(
        actor=ada, person="ada", deputy="mira", starts_at=database_now(), ends_at=timezone.now() + timedelta(days=2),
        keeps_open=True,
    )  # fmt: skip
    after = only_task(started(gwen, "personal"))
    assert shown(cast.actor("mira"), "mine") == [after]
    assert refusal(complete_task, actor=cast.actor("mira"), task_id=before.pk) == "not_candidate"


def test_deputy_who_lost_the_role_may_not_act(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    activated(gwen, FINANCE)
    task = only_task(started(gwen, "finance-check"))
    assign_task(actor=gwen, task_id=task.pk, person="ada")
    away(ada, "ada", "mira")
    assert shown(cast.actor("mira"), "mine") == [task]
    cast.acme.people.get(username="mira").memberships.filter(role__name="finance").delete()
    assert shown(cast.actor("mira"), "mine") == []
    assert refusal(claim_task, actor=cast.actor("mira"), task_id=task.pk) == "not_candidate"


def test_chain_is_followed(cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor) -> None:
    activated(gwen, PERSONAL)
    task = only_task(started(gwen, "personal"))
    away(ada, "ada", "mira")
    away(gwen, "mira", "lea")
    assert [one.name for one in cast.actor("lea").stands_in] == ["mira", "ada"]
    done = complete_task(actor=cast.actor("lea"), task_id=task.pk)
    assert (done.task.completed_by_name, done.task.completed_for_name) == ("lea", "ada")


def test_chain_narrows(cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor) -> None:
    activated(gwen, PERSONAL)
    only_task(started(gwen, "personal"))
    away(ada, "ada", "mira")
    away(gwen, "mira", "lea", templates=["another"])
    assert shown(cast.actor("lea"), "mine") == []
    assert len(shown(cast.actor("mira"), "mine")) == 1


# Four eyes


def test_who_asked_never_approves_for_the_absent(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    activated(gwen, OWN_REQUEST)
    task = only_task(started(mira, "own-request"))
    away(ada, "ada", "mira")
    deputy = cast.actor("mira")
    assert shown(deputy, "mine") == [task]  # locked, and it says why
    for act in (claim_task, complete_task, save_task_draft):
        given = {"values": {}} if act is save_task_draft else {}
        assert refusal(act, actor=deputy, task_id=task.pk, **given) == "four_eyes"
    rows = act_on_tasks(actor=deputy, task_ids=[task.pk], action="claim")
    assert [row.code for row in rows] == ["four_eyes"]


@pytest.mark.parametrize("name", ["mira", "lea"])
def test_nobody_approves_for_an_absent_person_who_asked(
    cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor, name: str
) -> None:
    activated(gwen, OWN_REQUEST)
    task = only_task(started(ada, "own-request"))
    away(ada, "ada", name)
    code = refusal(complete_task, actor=cast.actor(name), task_id=task.pk)
    assert code == ("four_eyes" if name == "mira" else "not_found")


def test_both_took_part_in_what_the_deputy_did(cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor) -> None:
    activated(gwen, TWICE)
    instance = started(gwen, "twice")
    away(ada, "ada", "mira")
    complete_task(actor=cast.actor("mira"), task_id=only_task(instance).pk)
    assert set(RuntimeState.objects.get(pk=instance.pk).snapshot["people"]["first"]) == {"mira", "ada"}
    second = only_task(instance)
    assert set(second.excluded) == {"mira", "ada"}
    assert refusal(complete_task, actor=cast.actor("mira"), task_id=second.pk) == "four_eyes"
    assert refusal(complete_task, actor=cast.actor("ada"), task_id=second.pk) == "four_eyes"
    assert second not in shown(cast.actor("mira"), "available")
    assert complete_task(actor=cast.actor("lea"), task_id=second.pk).instance.status == "completed"


def test_skipping_counts_both_too(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    activated(gwen, PERSONAL)
    instance = started(gwen, "personal")
    task = only_task(instance)
    away(ada, "ada", "mira")
    skip_task(actor=cast.actor("mira"), task_id=task.pk, reason="not needed")
    assert TaskEvent.objects.get(task=task, kind="skipped").new == {"for": "ada"}


def test_one_person_never_counts_as_two(cast: Cast, gwen: Actor, ada: Actor, adam: Actor) -> None:
    activated(gwen, BOARD)
    vote = only_task(started(gwen, "board"))
    away(gwen, "gwen", "adam", roles=[])
    complete_task(actor=cast.actor("adam"), task_id=vote.pk)
    assert refusal(complete_task, actor=cast.actor("adam"), task_id=vote.pk) == "answered"


def test_vote_for_an_absent_person_is_theirs(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    activated(gwen, BOARD)
    vote = only_task(started(gwen, "board"))
    away(ada, "ada", "mira")
    first = complete_task(actor=cast.actor("mira"), task_id=vote.pk)
    assert first.task.answered_by == ["mira", "ada"]
    assert refusal(complete_task, actor=cast.actor("ada"), task_id=vote.pk) == "answered"
    complete_task(actor=cast.actor("adam"), task_id=vote.pk)
    assert complete_task(actor=gwen, task_id=vote.pk).instance.status == "completed"


# What is refused


def test_wrong_absences_say_what_is_wrong(cast: Cast, gwen: Actor, ada: Actor, adam: Actor, mira: Actor) -> None:
    def code(**words: Any) -> str:
        given = {"actor": ada, "person": "ada", "deputy": "mira"} | words
        return refusal(away, **given)

    assert code(days=(5, 4)) == "order"
    assert code(days=(-5, -4)) == "past"
    assert code(deputy="adam") == "role"
    assert code(deputy="ada") == "self"
    assert code(deputy="nobody") == "unknown"
    assert code(deputy="stan") == "unknown"
    assert code(person="adam", actor=cast.actor("uri")) == "unknown"
    assert code(person="gwen") == "unknown"
    assert code(roles=["hr"]) == "unknown"
    away(ada, "ada", "mira")
    assert code(days=(2, 9)) == "overlap"
    assert refusal(away, actor=mira, person="mira", deputy="ada") == "circle"


def test_longer_circles_are_refused(cast: Cast, gwen: Actor, ada: Actor, mira: Actor, lea: Actor) -> None:
    away(ada, "ada", "mira", days=(1, 9))
    away(gwen, "mira", "lea", days=(8, 12))
    assert refusal(away, actor=gwen, person="lea", deputy="ada", days=(3, 9)) == "circle"
    assert away(gwen, "lea", "ada", days=(13, 14)).deputy.username == "ada"


def test_who_came_back_early_may_leave_again_the_same_day(cast: Cast, ada: Actor, mira: Actor) -> None:
    end_absence(actor=ada, absence_id=away(ada, "ada", "mira").pk)
    again = away(ada, "ada", "mira", days=(-0.9, 3))
    assert refusal(away, actor=mira, person="mira", deputy="ada") == "circle"
    end_absence(actor=ada, absence_id=again.pk)
    assert away(mira, "mira", "ada").deputy == cast.ada


def test_deputy_who_is_away_is_a_warning(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    away(mira, "mira", None, days=(2, 3))
    assert [one.code for one in warn_about(away(ada, "ada", "mira"))] == ["deputy_away"]


def test_only_the_person_their_lead_and_admins_enter_and_see_it(
    cast: Cast, gwen: Actor, ada: Actor, lea: Actor
) -> None:
    uri = cast.actor("uri")
    absence = away(ada, "ada", "lea")
    assert list(list_absences(actor=uri)) == []
    assert list(list_absences(actor=cast.actor("sam"))) == []
    assert refusal(end_absence, actor=cast.actor("sam"), absence_id=absence.pk) == "not_found"
    assert refusal(end_absence, actor=lea, absence_id=absence.pk) == "refused"
    cast.acme.people.filter(username="uri").update(manager=cast.acme.people.get(username="lea"))
    mine = away(lea, "uri", None)
    assert list(list_absences(actor=lea)) in ([absence, mine], [mine, absence])
    end_absence(actor=lea, absence_id=mine.pk)
    assert list(list_absences(actor=uri)) == []


def test_activating_warns_of_tasks_for_which_nobody_is_left(cast: Cast, gwen: Actor, ada: Actor, mira: Actor) -> None:
    """At the step's line, for the days of the absence; a deputy who can do it, or the end of the absence, takes it away."""

    def found() -> list[tuple[str, int]]:
        fresh = save_draft(actor=gwen, source=PERSONAL)
        version = activate_version(actor=gwen, name="personal", number=fresh.number)
        assert version.status == "active"
        return [(one["severity"], one["line"]) for one in version.findings if one["code"] == "nobody_left"]

    assert found() == []
    absence = away(ada, "ada", None)
    assert found() == [("warning", 6)]
    change_absence(actor=ada, absence_id=absence.pk, deputy="mira")
    assert found() == []
    change_absence(actor=ada, absence_id=absence.pk, deputy=None)
    assert found() == [("warning", 6)]
    end_absence(actor=ada, absence_id=absence.pk)
    assert found() == []
