"""Pages of deputies and of handing over: away, for Ada, hand over, waiting, questions."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from engine.models import Task
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.hooks import notices
from tests.services.test_deputies import PERSONAL, away
from tests.services.test_handover import CHECK
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import Absence, User


@pytest.fixture
def lea(cast: Cast) -> str:
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance", "support"), email="l@a.example")
    return "lea"


def browser(name: str) -> Client:
    """Sign a person in."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def days(first: int, last: int) -> dict[str, str]:
    today = timezone.localdate()
    return {"from": str(today + timedelta(days=first)), "until": str(today + timedelta(days=last))}


def test_person_enters_changes_and_ends_an_absence(cast: Cast, lea: str) -> None:
    ada = browser("ada")
    assert 'data-page="away"' in ada.get("/inbox/away/").content.decode()
    answer = ada.post("/inbox/away/", {**days(2, 4), "deputy": lea, "note": "<b>Tuesdays</b>"}, follow=True)
    made = Absence.objects.get()
    assert f'data-absence="{made.pk}"' in answer.content.decode()
    assert (made.person.username, made.deputy and made.deputy.username, made.note) == ("ada", lea, "<b>Tuesdays</b>")
    assert (made.ends_at - made.starts_at).days == 3
    wrong = ada.post("/inbox/away/", {**days(3, 5), "deputy": "adam"})
    assert (wrong.status_code, notices(wrong)) == (400, ["overlap"])
    assert ada.post(f"/inbox/away/{made.pk}/", {**days(5, 6), "deputy": ""}).status_code == 302
    assert ada.get(f"/inbox/away/{made.pk}/").status_code == 200
    assert browser("uri").post(f"/inbox/away/{made.pk}/end/").status_code == 404
    assert ada.post(f"/inbox/away/{made.pk}/end/").status_code == 302
    assert not Absence.objects.exists()


def test_a_deputy_sees_the_absence_and_is_offered_no_change(cast: Cast, lea: str) -> None:
    made = away(cast.actor("ada"), "ada", lea)
    for name, offered in ((lea, False), ("ada", True), ("gwen", True)):
        page = browser(name).get("/inbox/away/").content.decode()
        assert f'data-absence="{made.pk}"' in page
        assert ('data-act="end_absence"' in page) == offered, name


def test_lists_and_tasks_say_for_whom(cast: Cast, lea: str) -> None:
    activated(cast.actor("gwen"), PERSONAL)
    task = only_task(started(cast.actor("gwen"), "personal"))
    away(cast.actor("ada"), "ada", lea)
    page = browser(lea)
    assert 'data-for="ada"' in page.get("/inbox/").content.decode()
    shown = page.get(f"/inbox/tasks/{task.pk}/").content.decode()
    assert 'data-for="ada"' in shown
    assert 'data-reason data-code="deputy"' in shown
    assert page.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "done"}).status_code == 302
    task.refresh_from_db()
    assert (task.completed_by_name, task.completed_for_name) == (lea, "ada")


@pytest.fixture
def task(cast: Cast, lea: str) -> Task:
    activated(cast.actor("gwen"), CHECK)
    return claim_task(actor=cast.actor(lea), task_id=only_task(started(cast.actor("uri"), "check")).pk)


def test_asking_parks_the_task_and_the_answer_frees_it(cast: Cast, lea: str, task: Task) -> None:
    page, address = browser(lea), f"/inbox/tasks/{task.pk}/"
    assert 'data-act="hand_over"' in page.get(address).content.decode()
    page.post(f"{address}ask/", {"person": "uri", "question": "Which <b>one</b>?"})
    assert "waiting" in notices(page.get(address))
    assert 'data-waiting="uri"' in page.get("/inbox/").content.decode()
    uri = browser("uri")
    listed = uri.get("/inbox/questions/").content.decode()
    assert 'data-nav="questions"' in listed
    assert "Which &lt;b&gt;one&lt;/b&gt;?" in listed
    question = task.questions.get()
    assert uri.post(f"/inbox/questions/{question.pk}/", {"answer": " "}).status_code == 400
    assert uri.post(f"/inbox/questions/{question.pk}/", {"answer": "The red one"}).status_code == 302
    after = page.get(address)
    assert "waiting" not in notices(after)
    assert "The red one" in after.content.decode()


def test_delegating_and_returning(cast: Cast, lea: str, task: Task) -> None:
    address = f"/inbox/tasks/{task.pk}/"
    assert browser(lea).post(f"{address}delegate/", {"person": "ada", "note": "have a look"}).status_code == 302
    ada = browser("ada")
    assert "delegated" in notices(ada.get(address))
    assert ada.post(f"{address}return/", {"note": "not mine"}).status_code == 302
    task.refresh_from_db()
    assert (task.status, task.assignee and task.assignee.username, task.delegated_by_name) == ("claimed", lea, "")
    assert browser(lea).post(f"{address}assign/", {"person": "ada"}).status_code == 302
