"""Leads of a role: who makes them, what they see of their team, what they move, and nothing more."""

from __future__ import annotations

import pytest

from engine import access
from engine.access.tasks import people_who_see
from engine.errors import Invalid, NotFound, Refused
from engine.models import Audit, Task
from engine.services.people.accounts import create_person, grant_role, revoke_role
from engine.services.people.leads import set_leads
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.bulk import act_on_tasks
from engine.services.tasks.lifecycle import claim_task, complete_task, release_task
from tests.cast import Cast
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Membership, User

DESK = """
workflow: desk
title: Desk
starters: {min_level: 2}
steps:
  - id: both
    parallel:
      branches:
        a: [{id: pay, task: {title: Pay, roles: [finance], min_level: 2, not_same_as: [start]}}]
        b: [{id: help, task: {title: Help, roles: [support], min_level: 2}}]
        c: [{id: sign, task: {title: Sign, roles: [finance]}}]
"""


def person(cast: Cast, name: str, level: int = 2, roles: tuple[str, ...] = ("finance",)) -> User:
    return create_person(actor=None, tenant=cast.acme, name=name, level=level, roles=roles)


def lead(cast: Cast, name: str, *roles: str) -> Actor:
    set_leads(actor=cast.actor("gwen"), person=User.objects.get(username=name), roles=roles or ("finance",))
    return cast.actor(name)


@pytest.fixture
def desk(cast: Cast) -> dict[str, Task]:
    """Start a case with a task for each role, and one that asks for level 4; Lena and Mira hold finance."""
    activated(cast.actor("gwen"), DESK)
    person(cast, "lena")
    person(cast, "mira")
    instance = started(cast.actor("uri"), "desk")
    return {task.step: task for task in Task.objects.filter(instance=instance)}


def test_only_level_5_makes_a_lead_and_each_difference_is_in_the_audit(cast: Cast, desk: dict[str, Task]) -> None:
    lena = User.objects.get(username="lena")
    with pytest.raises(Refused):
        set_leads(actor=cast.actor("ada"), person=lena, roles=["finance"])
    set_leads(actor=cast.actor("gwen"), person=lena, roles=["finance"])
    set_leads(actor=cast.actor("gwen"), person=lena, roles=["finance"])
    set_leads(actor=cast.actor("gwen"), person=lena, roles=[])
    acts = Audit.objects.filter(subject_id=lena.pk, action__endswith="lead_role").order_by("seq")
    assert list(acts.values_list("action", "new__role", "old__role")) == [
        ("lead_role", "finance", None),
        ("unlead_role", None, "finance"),
    ]


def test_a_role_that_is_not_held_or_not_there_cannot_be_led(cast: Cast, desk: dict[str, Task]) -> None:
    lena = User.objects.get(username="lena")
    for roles, code in ((["support"], "not_held"), (["nobody"], "unknown")):
        with pytest.raises(Invalid) as refusal:
            set_leads(actor=cast.actor("gwen"), person=lena, roles=roles)
        assert refusal.value.first_code == code
    with pytest.raises(NotFound):
        set_leads(actor=cast.actor("sam"), person=lena, roles=["finance"])


def test_a_service_account_leads_nobody(cast: Cast) -> None:
    robot = create_person(actor=None, tenant=cast.acme, name="robot", level=4, roles=("finance",), kind="service")
    with pytest.raises(Refused):
        set_leads(actor=None, person=robot, roles=["finance"])


def test_who_loses_the_role_leads_it_no_more(cast: Cast, desk: dict[str, Task]) -> None:
    lead(cast, "lena")
    revoke_role(actor=None, person=User.objects.get(username="lena"), role="finance")
    grant_role(actor=None, person=User.objects.get(username="lena"), role="finance")
    assert cast.actor("lena").leads == frozenset()


def test_a_lead_sees_the_tasks_of_their_role_whoever_has_them_and_no_others(cast: Cast, desk: dict[str, Task]) -> None:
    assign_task(actor=cast.actor("ada"), task_id=desk["pay"].pk, person="mira")
    assert not access.visible_tasks(cast.actor("lena")).filter(pk=desk["pay"].pk).exists()
    lena = lead(cast, "lena")
    assert set(access.visible_tasks(lena)) == {desk["pay"]}
    assert next(reason.code for reason in access.explain_task(lena, access.task_of(lena, desk["pay"].pk))) == "seen"
    assert User.objects.get(username="lena") in people_who_see(desk["pay"])
    assert User.objects.get(username="lena") not in people_who_see(desk["help"])


def test_a_lead_moves_a_task_to_a_person_of_the_team_back_to_the_queue_and_nowhere_else(
    cast: Cast, desk: dict[str, Task]
) -> None:
    pay = desk["pay"].pk
    claim_task(actor=cast.actor("mira"), task_id=pay)
    for refused in ("lena", "uri"):
        with pytest.raises((Refused, NotFound)):
            assign_task(actor=cast.actor(refused), task_id=pay, person="lena")
    lena = lead(cast, "lena")
    assert assign_task(actor=lena, task_id=pay, person="lena", reason="Mira is away.").assignee.username == "lena"
    assert assign_task(actor=lena, task_id=pay, person="mira").assignee.username == "mira"
    with pytest.raises(Invalid):
        assign_task(actor=lena, task_id=pay, person="adam")
    assert release_task(actor=lena, task_id=pay).assignee_id is None


def test_a_lead_neither_answers_for_others_nor_operates(cast: Cast, desk: dict[str, Task]) -> None:
    lena = lead(cast, "lena")
    assign_task(actor=lena, task_id=desk["pay"].pk, person="mira")
    with pytest.raises(Refused):
        complete_task(actor=lena, task_id=desk["pay"].pk)
    with pytest.raises(NotFound):
        assign_task(actor=lena, task_id=desk["sign"].pk, person="mira")


def test_who_stopped_leading_meanwhile_moves_nothing(cast: Cast, desk: dict[str, Task]) -> None:
    assign_task(actor=cast.actor("ada"), task_id=desk["pay"].pk, person="mira")
    lena = lead(cast, "lena")
    Membership.objects.update(leads=False)
    with pytest.raises(Refused):
        assign_task(actor=lena, task_id=desk["pay"].pk, person="lena")


def test_four_eyes_hold_for_the_receiver_when_many_are_moved(cast: Cast, desk: dict[str, Task]) -> None:
    """Mira asked for one of the cases, so it stays where it is; the other one moves, and can be given back."""
    own = Task.objects.get(instance=started(cast.actor("mira"), "desk"), step="pay")
    lena = lead(cast, "lena")
    results = act_on_tasks(actor=lena, task_ids=[own.pk, desk["pay"].pk], action="assign", person="mira")
    assert [result.code for result in results] == ["four_eyes", ""]
    assert "Mira" in results[0].message
    holders = {result.task_id: result.holder for result in results if result.ok}
    (back,) = act_on_tasks(actor=lena, task_ids=list(holders), action="give_back", holders=holders)
    assert back.ok
    assert only_owner(desk["pay"]) is None


def only_owner(task: Task) -> str | None:
    return Task.objects.get(pk=task.pk).assignee_id


def test_another_tenant_has_no_leads_here(cast: Cast, desk: dict[str, Task]) -> None:
    zoe = actor_of(cast.zoe).within(cast.acme)
    assert zoe.leads == frozenset()
    set_leads(actor=None, person=User.objects.get(username="stan"), roles=["finance"])
    assert not access.visible_tasks(cast.actor("stan")).filter(pk__in=[task.pk for task in desk.values()]).exists()
