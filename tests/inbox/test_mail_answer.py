"""Answer a task from a message: a GET never acts, one press does, once, by its person, under every rule."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from engine.models import Audit, Notification, Task, TaskEvent, TaskLink
from engine.services.instances.lifecycle import cancel_instance
from engine.services.tasks.lifecycle import complete_task
from engine.services.tasks.mail_links import answer_by_link, link_token, open_link
from tests.cast import Cast
from tests.hooks import errors, notices, page_name, text_of
from tests.inbox.conftest import REVIEW, SignIn
from tests.races.crowd import at_once
from tests.workflows import activated, only_task, started

FETCHES = 10_000 if os.environ.get("WORKFLOW_TEST_ALL") else 40
"""Mail scanners fetch every link."""

SECURED = """
workflow: secured
title: Secured
starters: {min_level: 2}
steps:
  - id: sign
    task:
      title: Sign
      assignee: ada
      outcomes: {sign: {title: Sign, secure: true}, later: {title: Later}}
"""
SECURE_TASK = SECURED.replace("workflow: secured", "workflow: secure-task").replace(
    "assignee: ada", "assignee: ada\n      secure: true"
)


def a_task(cast: Cast) -> Task:
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


def address(cast: Cast, task: Task, name: str = "ada") -> str:
    return f"/inbox/answer/{link_token(person=getattr(cast, name), task=task)}/"


def filled(page: Any, **more: str) -> dict[str, str]:
    """Return what a browser sends: the hidden fields of the page, and an answer."""
    (form,) = re.findall(r'name="form" value="([^"]+)"', text_of(page))
    return {"form": form, "f.note": "fine", "outcome": "approve", **more}


def test_fetching_the_link_never_acts_however_often(cast: Cast, review: str) -> None:
    task, client = a_task(cast), Client()
    url = address(cast, task)
    before = Audit.objects.count()
    for number in range(FETCHES):
        answer = client.get(url) if number % 2 else client.head(url)
        assert answer.status_code == 200
    task.refresh_from_db()
    assert (task.status, task.assignee_id) == ("open", None)
    assert Audit.objects.count() == before
    assert TaskLink.objects.get().used_at is None


def test_one_press_answers_without_a_session_and_the_audit_says_how(cast: Cast, review: str) -> None:
    task, client = a_task(cast), Client(enforce_csrf_checks=True)
    url = address(cast, task)
    answer = client.post(url, filled(client.get(url)))
    assert page_name(answer) == "answer_sent"
    task.refresh_from_db()
    assert (task.status, task.completed_by_name, task.answer["note"]) == ("completed", "ada", "fine")
    act = Audit.objects.get(action="task_claimed")
    assert act.via == "via mail link"
    assert act.reason == ""
    assert not client.cookies.get("sessionid")
    assert Session.objects.count() == 0
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]


def test_link_works_once_and_says_what_was_answered(cast: Cast, review: str) -> None:
    task, client = a_task(cast), Client()
    url = address(cast, task)
    fields = filled(client.get(url))
    client.post(url, fields)
    again = client.post(url, {**fields, "outcome": "reject", "comment": "no"})
    assert notices(again) == ["answered"]
    assert "Approve" in text_of(again)
    task.refresh_from_db()
    assert task.outcome == "approve"


def test_two_presses_at_once_answer_once(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), REVIEW)
    task = a_task(committed_cast)
    opened = open_link(link_token(person=committed_cast.ada, task=task))
    press = partial(answer_by_link, opened=opened, outcome="approve", values={"note": "x"})
    results = at_once([press, press, press])
    assert sum(getattr(one, "code", "") == "answered" for one in results) == 2
    assert TaskEvent.objects.filter(task=task, kind="completed").count() == 1


def test_link_is_refused_in_the_browser_of_another_person(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    answer = browser("gwen").get(address(cast, task))
    assert (answer.status_code, notices(answer)) == (403, ["other_person"])
    assert browser("ada").get(address(cast, task)).status_code == 200
    sent = browser("gwen").post(address(cast, task), {"outcome": "approve", "f.note": "x"})
    assert sent.status_code == 403
    task.refresh_from_db()
    assert task.status == "open"


def test_changed_signature_is_a_dead_link(cast: Cast, review: str) -> None:
    url = address(cast, a_task(cast))
    answer = Client().get(url[:-3] + ("aa/" if url[-3:] != "aa/" else "bb/"))
    assert (answer.status_code, notices(answer)) == (404, ["dead_link"])


def test_old_links_hold_while_the_old_key_is_a_fallback(cast: Cast, review: str, settings: Any) -> None:
    url = address(cast, a_task(cast))
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    assert Client().get(url).status_code == 404
    settings.SECRET_KEY_FALLBACKS = [old]
    assert Client().get(url).status_code == 200


def test_withdrawn_request_says_who_withdrew_it(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    cancel_instance(actor=cast.actor("gwen"), instance_id=task.instance_id, reason="not needed")
    answer = Client().get(url)
    assert (answer.status_code, notices(answer)) == (410, ["over"])
    assert "Gwen" in text_of(answer)


def test_task_that_another_person_claimed_cannot_be_answered(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    page = Client().get(url)
    Task.objects.filter(pk=task.pk).update(status="claimed", assignee=cast.gwen, claimed_at=task.created_at)
    assert notices(Client().get(url)) == ["claimed"]
    assert notices(Client().post(url, filled(page))) == ["claimed"]


def test_four_eyes_hold_on_a_link(cast: Cast, review: str) -> None:
    task = only_task(started(cast.actor("ada"), "review", what="own", amount=1))
    url = address(cast, task)
    assert notices(Client().get(url)) == ["four_eyes"]
    assert notices(Client().post(url, {"outcome": "approve", "f.note": "x"})) == ["four_eyes"]
    task.refresh_from_db()
    assert task.status == "open"


def test_lost_level_is_noticed_at_the_press(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    fields = filled(Client().get(url))
    type(cast.ada).objects.filter(pk=cast.ada.pk).update(level=1)
    assert Client().post(url, fields).status_code in (403, 410)
    type(cast.ada).objects.filter(pk=cast.ada.pk).update(level=4, is_active=False)
    assert Client().get(url).status_code == 404
    task.refresh_from_db()
    assert task.status == "open"


def test_form_that_changed_since_the_mail_says_so_and_takes_no_blind_answer(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    fields = filled(Client().get(url))
    form = {**task.form, "properties": {**task.form["properties"], "extra": {"type": "string"}}}
    Task.objects.filter(pk=task.pk).update(form=form)
    assert notices(Client().get(url)) == ["form_changed"]
    answer = Client().post(url, fields)
    assert (answer.status_code, notices(answer)) == (409, ["form_changed"])
    assert 'value="fine"' in text_of(answer)
    assert Client().post(url, filled(answer)).status_code == 200
    task.refresh_from_db()
    assert task.status == "completed"


def test_what_is_missing_comes_back_with_everything_typed(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    page = Client().get(url)
    answer = Client().post(url, filled(page, **{"f.note": "", "f.granted": "12"}))
    assert answer.status_code == 400
    assert errors(answer) == ["required"]
    answer = Client().post(url, filled(page, outcome="reject"))
    assert "comment_required" in errors(answer)


def test_secure_outcome_needs_a_sign_in_and_keeps_what_was_typed(cast: Cast) -> None:
    activated(cast.actor("gwen"), SECURED)
    task = only_task(started(cast.actor("uri"), "secured"))
    url, client = address(cast, task), Client()
    answer = client.post(url, {**filled(client.get(url)), "outcome": "sign", "comment": "my words"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/")
    task.refresh_from_db()
    assert task.status == "open"
    client.force_login(cast.ada)
    back = client.get(f"/inbox/tasks/{task.pk}/")
    assert "my words" in text_of(back)


def test_other_outcome_of_the_same_task_needs_no_sign_in(cast: Cast) -> None:
    activated(cast.actor("gwen"), SECURED)
    task = only_task(started(cast.actor("uri"), "secured"))
    url, client = address(cast, task), Client()
    assert page_name(client.post(url, {**filled(client.get(url)), "outcome": "later"})) == "answer_sent"


def test_secure_task_shows_no_form(cast: Cast) -> None:
    activated(cast.actor("gwen"), SECURE_TASK)
    task = only_task(started(cast.actor("uri"), "secure-task"))
    url = address(cast, task)
    answer = Client().get(url)
    assert notices(answer) == ["sign_in"]
    assert 'name="outcome"' not in text_of(answer)
    assert Client().post(url, {"outcome": "later"}).status_code == 403


def test_answered_on_the_page_says_so_on_the_link(cast: Cast, review: str) -> None:
    task = a_task(cast)
    url = address(cast, task)
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "x"})
    assert notices(Client().get(url)) == ["answered"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_page_speaks_its_persons_language(cast: Cast, review: str, language: str) -> None:
    type(cast.ada).objects.filter(pk=cast.ada.pk).update(language=language)
    answer = Client(headers={"accept-language": "fr"}).get(address(cast, a_task(cast)))
    assert f'<html lang="{language}"' in text_of(answer)
    assert not Notification.objects.exists()
