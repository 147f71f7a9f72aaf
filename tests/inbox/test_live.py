"""What an open page is told: counts, new tasks, rows that are gone, and what became of the task that one looks at."""

from typing import Any
from uuid import uuid4

from django.test import Client
from pytest_django import DjangoAssertNumQueries

from engine.models import Task
from engine.services.instances.lifecycle import cancel_instance
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tasks_inbox.presenters.live import fresh_words, state_of
from tests.cast import Cast
from tests.hooks import notice
from tests.inbox.conftest import SignIn
from tests.inbox.test_lists import some_tasks

LONG_AGO, TO_COME = "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"


def news(client: Client, view: str = "available", shown: Any = (), **more: str) -> dict[str, Any]:
    asked = {"view": view, "since": TO_COME, "shown": ",".join(str(task.pk) for task in shown), **more}
    answer = client.get("/inbox/live/", asked)
    assert answer.status_code == 200
    return answer.json()


def test_new_tasks_are_counted_but_not_those_shown(cast: Cast, review: str, browser: SignIn) -> None:
    first, second, third = some_tasks(cast, 3)
    ada = browser("ada")
    told = news(ada, shown=[first], since=LONG_AGO)
    assert (told["fresh"], told["words"], told["gone"]) == (2, fresh_words(2), {})
    assert told["counts"]["available"] == "3"
    assert news(ada, shown=[first], heard=f"{second.pk},{first.pk}")["words"] == fresh_words(1)
    assert news(ada, shown=[first], since=LONG_AGO, q="trip 2")["fresh"] == 1
    claim_task(actor=cast.actor("ada"), task_id=third.pk)
    assert news(ada, "mine", heard=str(third.pk))["fresh"] == 1


def test_rows_that_left_a_list_say_what_became_of_them(cast: Cast, review: str, browser: SignIn) -> None:
    taken, done, given, ended, still = tasks = some_tasks(cast, 5)
    claim_task(actor=cast.actor("ada"), task_id=taken.pk)
    complete_task(actor=cast.actor("ada"), task_id=done.pk, outcome="approve", values={"note": "ok"})
    assign_task(actor=cast.actor("gwen"), task_id=given.pk, person="ada")
    cancel_instance(actor=cast.actor("gwen"), instance_id=ended.instance_id, reason="no need")
    gone = news(browser("gwen"), "available", shown=tasks)["gone"]
    became = {str(taken.pk): "claimed", str(done.pk): "completed", str(given.pk): "open", str(ended.pk): "cancelled"}
    assert {pk: gone[pk]["code"] for pk in became} == became
    assert all("Ada" in gone[str(task.pk)]["words"] for task in (taken, done, given))
    own = news(browser("ada"), "available", shown=tasks)["gone"]
    assert (own[str(taken.pk)]["code"], own[str(done.pk)]["code"]) == ("yours", "completed_by_you")
    assert str(still.pk) not in own


def test_nothing_is_told_of_another_tenants_tasks(cast: Cast, review: str, browser: SignIn) -> None:
    task = some_tasks(cast, 1)[0]
    told = news(browser("stan"), shown=[task], since=LONG_AGO, heard=str(task.pk))
    assert (told["fresh"], list(told["gone"])) == (0, [str(task.pk)])
    assert told["gone"][str(task.pk)]["code"] == "unlisted"
    assert news(browser("stan"), shown=[Task(pk=uuid4())])["gone"].popitem()[1]["code"] == "unlisted"
    assert browser("stan").get(f"/inbox/tasks/{task.pk}/live/").status_code == 404


def test_nonsense_is_answered_calmly(cast: Cast, browser: SignIn) -> None:
    ada = browser("ada")
    for since in ("", "x", "2026-13-01T00:00:00Z", "2026-01-01"):
        asked = {"view": "available", "since": since, "shown": "x,", "heard": "\0,,"}
        assert ada.get("/inbox/live/", asked).json()["fresh"] == 0
    assert list(ada.get("/inbox/live/", {"view": "nothing"}).json()) == ["counts"]
    assert Client().get("/inbox/live/").status_code == 302


def test_asking_costs_a_fixed_number_of_queries(
    cast: Cast, review: str, browser: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tasks = some_tasks(cast, 1)
    ada = browser("ada")
    with django_assert_num_queries(6):
        news(ada, shown=tasks, since=LONG_AGO)
    tasks += some_tasks(cast, 4)
    with django_assert_num_queries(6):
        news(ada, shown=tasks, since=LONG_AGO)


def test_an_open_task_page_is_told_only_what_changed_since(cast: Cast, review: str, browser: SignIn) -> None:
    task = some_tasks(cast, 1)[0]
    gwen, ada = browser("gwen"), browser("ada")
    address, was = f"/inbox/tasks/{task.pk}/live/", state_of(task)
    assert gwen.get(address, {"was": was}).status_code == 204
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    told = gwen.get(address, {"was": was}).content.decode()
    assert "Ada" in notice("taken", told)
    assert notice("yours", ada.get(address, {"was": was}))
    task.refresh_from_db()
    assert gwen.get(address, {"was": state_of(task)}).status_code == 204
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert "Ada" in notice("completed", gwen.get(address, {"was": was}))
