"""Reopening over REST and in the admin, and that REST sends an answer at once where pages let people take it back."""

from typing import Any

import pytest
from django.test import Client

from engine.models import PendingAnswer, Task
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.services.test_undo import ANSWER, CHECK
from tests.workflows import activated, only_task, started


@pytest.fixture
def task(cast: Cast) -> Task:
    activated(cast.actor("gwen"), CHECK)
    return only_task(started(cast.actor("uri"), "check"))


def signed_in(cast: Cast, name: str) -> Client:
    client = Client()
    client.force_login(getattr(cast, name))
    return client


def posted(client: Client, task: Task, act: str, **body: Any) -> Any:
    return client.post(f"/api/v1/tasks/{task.pk}/{act}/", body, content_type="application/json")


def test_rest_sends_at_once_and_names_the_time_for_undo(cast: Cast, task: Task) -> None:
    ada = signed_in(cast, "ada")
    outcomes = {one["name"]: one["undo"] for one in ada.get(f"/api/v1/tasks/{task.pk}/").json()["outcomes"]}
    assert outcomes == {"aye": None, "nay": None, "now": 0}
    assert posted(ada, task, "complete", **ANSWER).status_code == 200
    task.refresh_from_db()
    assert task.status == "completed"
    assert not PendingAnswer.objects.exists()


def test_an_operator_reopens_and_gets_the_new_task(cast: Cast, task: Task) -> None:
    complete_task(actor=cast.actor("ada"), task_id=task.pk, **ANSWER)
    assert posted(signed_in(cast, "adam"), task, "reopen", reason="").status_code == 400
    assert posted(signed_in(cast, "sam"), task, "reopen", reason="x").status_code == 404
    answer = posted(signed_in(cast, "adam"), task, "reopen", reason="wrong case")
    assert answer.status_code == 200
    assert (answer.json()["step"], answer.json()["status"]) == ("first", "open")
    again = posted(signed_in(cast, "adam"), task, "reopen", reason="twice")
    assert (again.status_code, again.json()["code"], again.json()["why"]) == (409, "touched", "moved")


def test_the_admin_has_a_button_for_it(cast: Cast, task: Task) -> None:
    complete_task(actor=cast.actor("ada"), task_id=task.pk, **ANSWER)
    adam, page = signed_in(cast, "adam"), f"/admin/engine/task/{task.pk}/"
    assert f"{page}reopen/" in adam.get(f"{page}change/").content.decode()
    assert adam.post(f"{page}reopen/", {"answer": "wrong case"}).status_code == 302
    assert Task.objects.open().get(instance=task.instance_id).step == "first"
    assert f"{page}reopen/" in adam.get(f"{page}change/").content.decode()
    refused = adam.post(f"{page}reopen/", {"answer": "twice"}, follow=True)
    assert refused.status_code == 200
    assert Task.objects.filter(instance=task.instance_id, step="first").count() == 2
