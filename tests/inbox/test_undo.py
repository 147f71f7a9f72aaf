"""Taking an answer back on pages: the countdown, undo, a second press, what others see; every act is a plain form."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.models import PendingAnswer, Task, TaskDraft
from engine.services.instances.repair import suspend_instance
from tests.cast import Cast
from tests.hooks import notices, text_of
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

CHECK = """
workflow: check
title: Check
undo: PT10M
starters: {min_level: 2}
reference: {key: "${'CHK-' + string(start.number)}"}
input: {type: object, properties: {number: {type: integer}}}
steps:
  - id: first
    task:
      title: First
      roles: [finance]
      outcomes: {aye: {title: Aye}, nay: {title: Nay, reject: true}}
      comment: optional
"""


@pytest.fixture
def tasks(cast: Cast) -> list[Task]:
    activated(cast.actor("gwen"), CHECK)
    return [only_task(started(cast.actor("uri"), "check", number=number)) for number in (1, 2, 3)]


def answered(client: Client, task: Task, **words: str) -> Any:
    return client.post(
        f"/inbox/tasks/{task.pk}/complete/?in=view%3Davailable", {"outcome": "aye", **words}, follow=True
    )


def sends(page: Any) -> list[str]:
    """Return the batches of answers whose countdown a page shows."""
    found = re.findall(
        r'data-sends data-code="answer.held"[^>]*data-state="/inbox/pending/([0-9a-f-]+)/"', text_of(page)
    )
    return [str(one) for one in found]


def codes(page: Any) -> list[str]:
    return [str(one) for one in re.findall(r'data-toast data-code="([^"]+)"', text_of(page))]


def test_the_next_task_opens_with_the_countdown(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    page = answered(ada, tasks[0])
    assert page.redirect_chain[-1][0].startswith(f"/inbox/tasks/{tasks[1].pk}/")
    (batch,) = sends(page)
    assert sends(ada.get("/inbox/?view=team")) == [batch]
    assert PendingAnswer.objects.get().batch_id.hex == batch.replace("-", "")


def test_undo_opens_the_task_with_what_was_typed(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    (batch,) = sends(answered(ada, tasks[0], comment="Too early"))
    page = ada.post(f"/inbox/pending/{batch}/undo/", follow=True)
    assert page.redirect_chain[-1][0].startswith(f"/inbox/tasks/{tasks[0].pk}/")
    assert codes(page) == ["answer.taken_back"]
    assert "Too early" in text_of(page)
    assert sends(page) == []
    tasks[0].refresh_from_db()
    assert tasks[0].status == "claimed"


def test_a_second_press_sends_at_once(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    (batch,) = sends(answered(ada, tasks[0]))
    page = ada.post(f"/inbox/pending/{batch}/send/", follow=True)
    assert codes(page) == ["answer.sent"]
    assert sends(page) == []
    tasks[0].refresh_from_db()
    assert tasks[0].status == "completed"


def test_a_script_gets_what_became_of_it(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    (batch,) = sends(answered(ada, tasks[0]))
    assert ada.get(f"/inbox/pending/{batch}/").json()["state"] == "waiting"
    headers = {"X-Requested-With": "answers"}
    assert ada.post(f"/inbox/pending/{batch}/send/", headers=headers).json()["state"] == "sent"


def test_undo_that_comes_too_late_says_so(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    (batch,) = sends(answered(ada, tasks[0]))
    PendingAnswer.objects.update(due_at=database_now() - timedelta(seconds=1))
    drain()
    assert ada.get(f"/inbox/pending/{batch}/").json()["state"] == "sent"
    assert codes(ada.post(f"/inbox/pending/{batch}/undo/", follow=True)) == ["answer.sent"]


def test_the_same_form_sent_twice_is_one_answer(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    first = sends(answered(ada, tasks[0]))
    again = answered(ada, tasks[0])
    assert again.status_code == 200
    assert sends(again) == first
    assert PendingAnswer.objects.count() == 1


def test_others_see_who_answered_and_cannot_act(browser: SignIn, cast: Cast, tasks: list[Task]) -> None:
    answered(browser("ada"), tasks[0])
    page = browser("gwen").get(f"/inbox/tasks/{tasks[0].pk}/")
    assert 'data-act="undo_answer"' not in text_of(page)
    assert 'name="outcome"' not in text_of(page)
    assert "data-refused" in text_of(page)
    refused = browser("gwen").post(f"/inbox/tasks/{tasks[0].pk}/complete/", {"outcome": "aye"})
    assert refused.status_code == 409
    assert notices(refused) == ["sending"]
    assert 'data-sending="ada"' in text_of(browser("gwen").get("/inbox/?view=team"))


def test_its_own_page_offers_undo_and_lists_leave_it_out(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    answered(ada, tasks[0])
    page = text_of(ada.get(f"/inbox/tasks/{tasks[0].pk}/"))
    assert 'data-act="undo_answer"' in page
    assert 'data-act="send_answer"' in page
    assert f'data-task="{tasks[0].pk}"' not in text_of(ada.get("/inbox/?view=mine"))


@pytest.mark.parametrize("name", ["gwen", "uri", "sam", "zoe"])
def test_nobody_else_reaches_an_answer(browser: SignIn, tasks: list[Task], name: str) -> None:
    (batch,) = sends(answered(browser("ada"), tasks[0]))
    other = browser(name)
    assert other.get(f"/inbox/pending/{batch}/").status_code == 404
    assert other.post(f"/inbox/pending/{batch}/undo/").status_code == 404
    assert other.post(f"/inbox/pending/{batch}/send/").status_code == 404
    assert PendingAnswer.objects.count() == 1


def test_a_refused_answer_is_told_and_its_draft_is_back(browser: SignIn, cast: Cast, tasks: list[Task]) -> None:
    ada = browser("ada")
    (batch,) = sends(answered(ada, tasks[0], comment="Kept words"))
    suspend_instance(actor=cast.actor("gwen"), instance_id=tasks[0].instance_id)
    PendingAnswer.objects.update(due_at=database_now() - timedelta(seconds=1))
    drain()
    assert ada.get(f"/inbox/pending/{batch}/").json()["state"] == "refused"
    page = ada.get(f"/inbox/tasks/{tasks[0].pk}/")
    assert notices(page) == ["not_sent"]
    assert TaskDraft.objects.get().comment == "Kept words"


def test_many_answers_are_one_countdown(browser: SignIn, tasks: list[Task]) -> None:
    ada = browser("ada")
    sent = {"action": "complete", "task": [task.pk for task in tasks], "outcome": "aye", "back": "view=available"}
    page = ada.post("/inbox/bulk/", sent, follow=True)
    (batch,) = sends(page)
    assert codes(page) == []
    assert PendingAnswer.objects.count() == 3
    undone = ada.post(f"/inbox/pending/{batch}/undo/", follow=True)
    assert undone.redirect_chain[-1][0] == "/inbox/"
    assert PendingAnswer.objects.count() == 0


def test_pages_without_an_answer_in_hand_ask_nothing_more(
    browser: SignIn, tasks: list[Task], django_assert_num_queries: Any
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    ada = browser("ada")
    ada.get("/inbox/?view=team")
    with CaptureQueriesContext(connection) as without:
        ada.get("/inbox/?view=team")
    answered(ada, tasks[0])
    with CaptureQueriesContext(connection) as within:
        ada.get("/inbox/?view=team")
    assert len(within) == len(without)
