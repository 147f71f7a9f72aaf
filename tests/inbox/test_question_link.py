"""Answer a question from its mail: a GET never acts, one press does, only for its person, while the question is open."""

from __future__ import annotations

import re

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from engine.models import Audit, Notification, Task, TaskComment, TaskQuestion
from engine.services.notifications.audience import Item
from engine.services.people.accounts import create_person
from engine.services.tasks.handover import ask_about_task, withdraw_question
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.question_links import question_token
from tasks_inbox.notices.mail import _linked_path
from tests.cast import Cast
from tests.hooks import errors, notices, page_name, text_of
from tests.inbox.conftest import SignIn
from tests.services.test_handover import CHECK
from tests.workflows import activated, only_task, started


@pytest.fixture
def task(cast: Cast) -> Task:
    """Give a task of Lea's about which Uri is asked."""
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance",), email="l@a.example")
    activated(cast.actor("gwen"), CHECK)
    held = claim_task(actor=cast.actor("lea"), task_id=only_task(started(cast.actor("uri"), "check")).pk)
    return ask_about_task(actor=cast.actor("lea"), task_id=held.pk, user="uri", question="Which <b>one</b>?")


def address(cast: Cast, task: Task) -> str:
    return f"/inbox/answer/question/{question_token(person=cast.uri, task_id=task.pk)}/"


def test_fetching_the_link_never_acts(cast: Cast, task: Task) -> None:
    client, url, before = Client(), address(cast, task), Audit.objects.count()
    for _ in range(5):
        answer = client.get(url)
        assert (answer.status_code, page_name(answer)) == (200, "answer_question")
        assert client.head(url).status_code == 200
    assert "Which &lt;b&gt;one&lt;/b&gt;?" in text_of(answer)
    assert Audit.objects.count() == before
    question = TaskQuestion.objects.get()
    assert (question.opened_at, question.ended_at) == (None, None)


def test_one_press_answers_without_a_session(cast: Cast, task: Task) -> None:
    client, url = Client(enforce_csrf_checks=True), address(cast, task)
    empty = client.post(url, {"answer": " "})
    assert (empty.status_code, errors(empty)) == (400, ["required"])
    sent = client.post(url, {"answer": "The red one"})
    assert notices(sent) == ["sent"]
    assert [(one.author_name, one.text) for one in TaskComment.objects.all()] == [("uri", "The red one")]
    assert Audit.objects.get(action="task_informed").via == "via mail link"
    assert (Session.objects.count(), sent["Referrer-Policy"]) == (0, "no-referrer")
    task.refresh_from_db()
    assert task.waiting_since is None
    assert notices(client.post(url, {"answer": "The blue one"})) == ["answered"]
    assert TaskComment.objects.count() == 1


@pytest.mark.parametrize("end", ["withdrawn", "answered"])
def test_link_ends_with_its_question(cast: Cast, task: Task, end: str) -> None:
    url = address(cast, task)
    if end == "withdrawn":
        withdraw_question(actor=cast.actor("lea"), task_id=task.pk)
    else:
        complete_task(actor=cast.actor("lea"), task_id=task.pk, outcome="yes", values={"note": "fits"})
    for answer in (Client().get(url), Client().post(url, {"answer": "late"})):
        assert (answer.status_code, notices(answer)) == (410, ["over"])
    assert not TaskComment.objects.exists()


def test_link_is_only_for_its_person_and_no_link_of_a_task(cast: Cast, task: Task, browser: SignIn) -> None:
    url = address(cast, task)
    assert notices(browser("gwen").post(url, {"answer": "x"})) == ["other_person"]
    assert notices(Client().get(url.replace("answer/question", "answer"))) == ["dead_link"]
    assert notices(Client().get(url[:-3] + ("aa/" if url[-3:] != "aa/" else "bb/"))) == ["dead_link"]
    assert not question_token(person=cast.gwen, task_id=task.pk)


def test_mail_leads_to_the_link_unless_the_author_asks_for_a_sign_in(cast: Cast, task: Task) -> None:
    item = Item(Notification(kind="asked", task_id=task.pk, person_id=cast.uri.pk))
    path = _linked_path(item, cast.uri, cast.actor("uri"))
    assert re.fullmatch(r"/inbox/answer/question/[^/]+/", path)
    assert Client().get(path).status_code == 200
    Task.objects.filter(pk=task.pk).update(extra={**task.extra, "secure": True})
    assert _linked_path(item, cast.uri, cast.actor("uri")) == ""
