"""What people may do with a request of their own, and what is refused."""

from io import BytesIO

import pytest

from engine import access
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, Effect, Instance, Notification, Task
from engine.services.instances.requests import (
    add_case_file,
    comment_instance,
    open_case_file,
    remind_people,
    withdraw_instance,
)
from engine.services.tasks.comments import comment_task
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User

BUY = """
workflow: buy
title: Buy
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string, title: What to buy}}}
case_title: "${start.what} for ${person(instance.started_by)}"
reference: {key: "${'BUY-' + start.what}"}
steps:
  - id: review
    task:
      title: "Review ${start.what}"
      roles: [finance]
      comment: never
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
  - id: order
    task: {title: Order it, roles: [finance], comment: never}
"""
LOCKED = BUY.replace("workflow: buy", "workflow: locked").replace("starters:", "starter: {withdraw: false}\nstarters:")


@pytest.fixture
def bought(cast: Cast) -> Instance:
    activated(cast.actor("gwen"), BUY)
    return started(cast.actor("uri"), "buy", what="lamp")


def test_a_case_has_a_title_as_of_its_start(bought: Instance) -> None:
    bought.refresh_from_db()
    assert str(bought) == "lamp for uri"
    assert bought.reference == "BUY-lamp"


def test_the_starter_withdraws_before_the_first_answer(uri: Actor, bought: Instance) -> None:
    over = withdraw_instance(actor=uri, instance_id=bought.pk, reason="bought elsewhere")
    assert over.status == "cancelled"
    assert not Task.objects.open().filter(instance=bought).exists()
    act = Audit.objects.filter(subject_id=bought.pk, action="cancel_workflow").get()
    assert (act.actor_name, act.reason) == ("uri", "bought elsewhere")


def test_withdrawing_asks_for_a_reason(uri: Actor, bought: Instance) -> None:
    with pytest.raises(Invalid) as refusal:
        withdraw_instance(actor=uri, instance_id=bought.pk, reason=" ")
    assert refusal.value.first_code == "required"
    bought.refresh_from_db()
    assert bought.status == "running"


def test_nobody_else_withdraws(cast: Cast, bought: Instance) -> None:
    for name in ("ada", "gwen"):
        with pytest.raises(Refused) as refusal:
            withdraw_instance(actor=cast.actor(name), instance_id=bought.pk, reason="mine now")
        assert refusal.value.code == "starter"
    with pytest.raises(NotFound):
        withdraw_instance(actor=cast.actor("sam"), instance_id=bought.pk, reason="another tenant")


def test_a_colleague_of_level_3_does_not_even_see_it(cast: Cast, bought: Instance) -> None:
    User.objects.filter(username="adam").update(level=3)
    for act in (
        lambda adam: withdraw_instance(actor=adam, instance_id=bought.pk, reason="x"),
        lambda adam: remind_people(actor=adam, instance_id=bought.pk),
        lambda adam: comment_instance(actor=adam, instance_id=bought.pk, text="x"),
        lambda adam: add_case_file(actor=adam, instance_id=bought.pk, name="a.txt", content=BytesIO(b"a")),
        lambda adam: list(access.comments_of_case(adam, bought.pk)),
        lambda adam: list(access.files_of_case(adam, bought.pk)),
    ):
        with pytest.raises(NotFound):
            act(cast.actor("adam"))


def test_after_the_first_answer_nothing_is_withdrawn(uri: Actor, ada: Actor, bought: Instance) -> None:
    complete_task(actor=ada, task_id=only_task(bought).pk, outcome="approve")
    with pytest.raises(Conflict) as refusal:
        withdraw_instance(actor=uri, instance_id=bought.pk, reason="too late")
    assert refusal.value.code == "answered"


def test_an_author_may_forbid_it(cast: Cast, uri: Actor) -> None:
    activated(cast.actor("gwen"), LOCKED)
    with pytest.raises(Refused) as refusal:
        withdraw_instance(actor=uri, instance_id=started(uri, "locked", what="desk").pk, reason="no")
    assert refusal.value.code == "withdraw"


def test_twice_is_refused(uri: Actor, bought: Instance) -> None:
    withdraw_instance(actor=uri, instance_id=bought.pk, reason="once")
    with pytest.raises(Conflict) as refusal:
        withdraw_instance(actor=uri, instance_id=bought.pk, reason="twice")
    assert refusal.value.facts["status"] == "cancelled"


def test_a_reminder_goes_out_once_in_24_hours(uri: Actor, ada: Actor, bought: Instance) -> None:
    User.objects.filter(username="ada").update(email="ada@acme.example")
    reminded = remind_people(actor=uri, instance_id=bought.pk)
    assert [task.step for task in reminded.tasks] == ["review"]
    letters = [effect.request["to"] for effect in Effect.objects.filter(instance=bought, transport="email")]
    assert ["ada@acme.example"] in letters
    with pytest.raises(Conflict) as refusal:
        remind_people(actor=uri, instance_id=bought.pk)
    assert refusal.value.code == "reminded"
    assert Effect.objects.filter(instance=bought, transport="email").count() == len(letters)


def test_only_the_starter_reminds(ada: Actor, bought: Instance) -> None:
    with pytest.raises(Refused) as refusal:
        remind_people(actor=ada, instance_id=bought.pk)
    assert refusal.value.code == "starter"


def test_comments_on_a_case_reach_its_tasks_and_those_on_tasks_only_those_who_see_them(
    uri: Actor, ada: Actor, bought: Instance
) -> None:
    task = only_task(bought)
    comment_instance(actor=uri, instance_id=bought.pk, text="The blue one")
    comment_task(actor=ada, task_id=task.pk, text="Too dear?")
    assert [one.text for one in access.comments_of(ada, task.pk)] == ["The blue one", "Too dear?"]
    assert [one.text for one in access.comments_of_case(uri, bought.pk)] == ["The blue one"]
    assert [one.text for one in access.comments_of_case(ada, bought.pk)] == ["The blue one", "Too dear?"]


def test_a_comment_on_a_case_is_told_to_everyone_who_takes_part_and_to_nobody_twice(
    cast: Cast, uri: Actor, ada: Actor, bought: Instance
) -> None:
    task = only_task(bought)
    complete_task(actor=ada, task_id=task.pk, outcome="approve", values={})
    comment_instance(actor=uri, instance_id=bought.pk, text="Thanks, @gwen and @ada")
    comment_instance(actor=cast.actor("gwen"), instance_id=bought.pk, text="Fine")
    rows = Notification.objects.filter(kind="mentioned", channel="mail").order_by("pk")
    told = [(row.person.username if row.person else "", row.task_id, row.text) for row in rows]
    assert sorted(told[:2]) == [("ada", task.pk, "Thanks, @gwen and @ada"), ("gwen", None, "Thanks, @gwen and @ada")]
    assert sorted(told[2:]) == [("ada", task.pk, "Fine"), ("uri", None, "Fine")]


def test_a_file_of_a_case_is_kept_and_a_wrong_one_refused(uri: Actor, bought: Instance) -> None:
    added = add_case_file(actor=uri, instance_id=bought.pk, name="offer.txt", content=BytesIO(b"10 lamps"))
    found, content = open_case_file(actor=uri, instance_id=bought.pk, attachment_id=added.pk)
    with content:
        assert (found.name, content.read()) == ("offer.txt", b"10 lamps")
    with pytest.raises(Invalid):
        add_case_file(actor=uri, instance_id=bought.pk, name="offer.exe", content=BytesIO(b"MZ"))
    withdraw_instance(actor=uri, instance_id=bought.pk, reason="done")
    with pytest.raises(Conflict):
        add_case_file(actor=uri, instance_id=bought.pk, name="late.txt", content=BytesIO(b"late"))
