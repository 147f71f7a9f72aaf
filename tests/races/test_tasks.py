"""Two at once: exactly one wins, and the other is told the truth."""

from functools import partial

import pytest

from engine.dispatch.drain import drain
from engine.errors import Conflict
from engine.models import Audit, Instance, SignalReceipt, Task, TaskEvent
from engine.services.people.accounts import create_person, deactivate_person
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.templates.versions import activate_version, save_draft
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import TIMER, TWO_TASKS, activated, only_task, started

CROWD = 8


@pytest.fixture
def crowd(committed_cast: Cast) -> list[str]:
    """Return several more admins of Acme."""
    names = [f"clerk{number}" for number in range(CROWD)]
    for name in names:
        create_person(actor=None, tenant=committed_cast.acme, name=name, level=4, roles=["support"])
    return names


def test_of_many_claims_one_wins_and_the_others_are_told_who(committed_cast: Cast, crowd: list[str]) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), TWO_TASKS)
    for _ in range(5):
        task = only_task(started(cast.actor("gwen"), "two"))
        results = at_once([partial(claim_task, actor=cast.actor(name), task_id=task.pk) for name in crowd])
        winners = [result for result in results if isinstance(result, Task)]
        losers = [result for result in results if isinstance(result, Conflict)]
        assert (len(winners), len(losers)) == (1, CROWD - 1)
        assert winners[0].assignee
        assert {loser.facts["winner"] for loser in losers} == {winners[0].assignee.username}
        assert TaskEvent.objects.filter(task=task, kind="claimed").count() == 1


def test_of_many_completions_one_is_applied(committed_cast: Cast, crowd: list[str]) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), TWO_TASKS)
    instance = started(cast.actor("gwen"), "two")
    task = only_task(instance)
    results = at_once([partial(complete_task, actor=cast.actor(name), task_id=task.pk) for name in crowd])
    assert sum(not isinstance(result, Conflict) for result in results) == 1
    assert Task.objects.filter(instance=instance, step="second").count() == 1
    assert SignalReceipt.objects.filter(instance=instance, disposition="applied").count() == 1


def test_a_double_click_completes_once(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), TWO_TASKS)
    task = only_task(started(cast.actor("gwen"), "two"))
    results = at_once([partial(complete_task, actor=cast.actor("ada"), task_id=task.pk)] * 2)
    refusals = [result for result in results if isinstance(result, Conflict)]
    assert [refusal.code for refusal in refusals] == ["answered"]


def test_several_drains_apply_each_timer_once(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), TIMER.replace("PT0.2S", "PT0.01S"))
    instances = [started(cast.actor("ada"), "timer") for _ in range(40)]
    while Instance.objects.live().exists():
        at_once([drain] * 4)
    for instance in instances:
        assert SignalReceipt.objects.filter(instance=instance).count() == 1
        assert Audit.objects.filter(subject_id=instance.pk, action="complete_workflow").count() == 1


def test_of_two_activations_at_once_one_version_is_in_force(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    drafts = [save_draft(actor=gwen, source=TIMER) for _ in range(2)]
    at_once([partial(activate_version, actor=gwen, name="timer", number=draft.number) for draft in drafts])
    template = drafts[0].template
    assert template.versions.filter(status="active").count() == 1
    assert template.versions.filter(status="draft").count() == 0


def test_drafts_saved_at_once_get_different_numbers(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    saved = at_once([partial(save_draft, actor=gwen, source=TIMER)] * 4)
    assert sorted(version.number for version in saved) == [1, 2, 3, 4]


def test_who_leaves_while_claiming_holds_nothing(committed_cast: Cast) -> None:
    cast = committed_cast
    gwen = cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    for number in range(6):
        person = create_person(actor=None, tenant=cast.acme, name=f"leaver{number}", level=4)
        task = only_task(started(gwen, "two"))
        at_once(
            [
                partial(claim_task, actor=cast.actor(person.username), task_id=task.pk),
                partial(deactivate_person, actor=gwen, person=person),
            ]
        )
        task.refresh_from_db()
        assert (task.status, task.assignee_id) == ("open", None)
