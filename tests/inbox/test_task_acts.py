"""What people do with a task besides answering it, through its page and without JavaScript."""

import re
from datetime import datetime, timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine.models import Task, TaskComment
from engine.presentation.narrative.relative_times import moment_words
from engine.presentation.narrative.task_changes import TOLD
from engine.services.tasks.comments import comment_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import codes, notices, refusing, toast, value
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started

ACTS = ("draft", "draft/discard", "comment", "assign", "suspend", "resume", "snooze", "skip", "files")


def a_task(cast: Cast) -> Task:
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


def page(client: Client, task: Task) -> str:
    return client.get(f"/inbox/tasks/{task.pk}/").content.decode()


def send(client: Client, task: Task, act: str, **fields: str) -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def to_vote(cast: Cast) -> Task:
    task = only_task(started(cast.actor("uri"), "board", subject="van"))
    complete_task(actor=cast.actor("ada"), task_id=task.pk, ticked=["point_1"])
    return only_task(task.instance)


def to_file(cast: Cast) -> Task:
    task = to_vote(cast)
    for name in ("ada", "adam"):
        complete_task(actor=cast.actor(name), task_id=task.pk, outcome="agree")
    return only_task(task.instance)


def test_comment_is_read_by_the_next_who_looks(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    send(browser("adam"), task, "comment", text="The receipt is <b>blue</b>.")
    html = page(browser("ada"), task)
    assert "The receipt is &lt;b&gt;blue&lt;/b&gt;." in html
    assert codes("entry", html)[0] == "commented"


def test_empty_comment_is_refused_in_words(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    answer = send(browser("adam"), task, "comment", text="  ")
    assert answer.status_code == 400
    assert notices(answer) == ["invalid"]
    long = send(browser("ada"), task, "comment", text="so long " * 2000).content.decode()
    assert notices(long) == ["invalid"]
    assert "so long so long" in long
    assert not TaskComment.objects.exists()


def called(what: str) -> str:
    """Return how the page calls what an act changed."""
    return str(TOLD[what][0])


def history(html: str) -> list[tuple[str, str, str]]:
    """Read what the page says was changed, newest first: what, from, to."""
    told = re.findall(r"<dt>(.*?)</dt>\s*<dd>(?:<del>(.*?)</del> )?<ins>(.*?)</ins>", html)
    return [(what, old, new) for what, old, new in told]


def test_assigned_task_is_the_receivers_with_the_reason_in_its_history(
    cast: Cast, review: str, browser: SignIn
) -> None:
    task, gwen = a_task(cast), browser("gwen")
    html = page(gwen, task)
    assert '<option value="ada"' in html
    assert '<option value="uri"' not in html
    send(gwen, task, "assign", person="ada", reason="you know the firm")
    html = page(browser("ada"), task)
    assert "you know the firm" in html
    assert 'name="f.note"' in html
    send(gwen, task, "assign", person="")
    task.refresh_from_db()
    assert task.assignee_id is None
    assert history(page(gwen, task))[:2] == [(called("assignee"), "Ada", "–"), (called("assignee"), "", "Ada")]


def test_task_is_not_given_to_who_may_not_do_it(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    answer = send(browser("gwen"), task, "assign", person="uri")
    assert answer.status_code == 403
    unknown = send(browser("gwen"), task, "assign", person="nobody")
    assert unknown.status_code == 400
    assert notices(unknown) == ["unknown"]
    nobody = send(browser("gwen"), task, "assign")
    assert (nobody.status_code, notices(nobody)) == (400, ["invalid"])


def test_refused_act_leaves_the_form_of_ones_own_task_open(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    html = send(browser("ada"), task, "comment").content.decode()
    assert notices(html) == ["invalid"]
    assert 'name="f.note"' in html
    assert "/claim/" not in html


def test_reason_with_a_letter_that_cannot_be_kept_loses_only_that(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    assert send(browser("gwen"), task, "suspend", reason="clo\0sed").status_code == 302
    assert task.events.get(kind="suspended").cause == "closed"


def test_suspended_task_offers_only_to_resume(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    send(ada, task, "suspend", reason="the firm is closed")
    html = page(ada, task)
    assert "the firm is closed" in html
    assert "/suspend/" not in html
    assert "/complete/" not in html
    send(ada, task, "resume")
    assert "/complete/" in page(ada, task)


def test_task_put_off_leaves_mine_waits_in_its_list_and_comes_back(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    until = (timezone.now() + timedelta(days=2)).isoformat()
    assert send(ada, task, "snooze", until=until)["Location"] == "/inbox/"
    assert task.title not in ada.get("/inbox/").content.decode()
    assert task.title in ada.get("/inbox/?view=later").content.decode()
    assert "data-snoozed" in page(ada, task)
    until_words = moment_words(datetime.fromisoformat(until), timezone.now())
    assert history(page(ada, task)) == [(called("until"), "", until_words)]
    send(ada, task, "snooze", back="1")
    assert task.title in ada.get("/inbox/").content.decode()


@pytest.mark.parametrize("when", ["", "soon", "2020-01-01T10:00", "2026-99-99T10:00", "9999-12-31T23:59"])
def test_moment_that_cannot_be_is_refused(cast: Cast, review: str, browser: SignIn, when: str) -> None:
    task = a_task(cast)
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    answer = send(browser("ada"), task, "snooze", moment=when)
    assert answer.status_code == 400
    task.refresh_from_db()
    assert task.follow_up_at is None


def test_skip_is_offered_where_the_author_allows_it_and_asks_for_a_reason(
    cast: Cast, board: str, review: str, browser: SignIn
) -> None:
    ada, other = browser("ada"), a_task(cast)
    assert "/skip/" not in page(ada, other)
    assert send(ada, other, "skip", reason="no").status_code == 403
    task = to_file(cast)
    assert "/skip/" in page(ada, task)
    assert send(ada, task, "skip").status_code == 400
    assert send(ada, task, "skip", reason="the notary keeps it").status_code == 302
    task.refresh_from_db()
    assert task.status == "skipped"


def test_task_without_drafts_offers_none(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_file(cast), browser("ada")
    send(ada, task, "claim")
    html = page(ada, task)
    assert "/complete/" in html
    assert "/draft/" not in html


def test_several_answer_without_claiming_each_once(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada, adam = to_vote(cast), browser("ada"), browser("adam")
    html = page(ada, task)
    assert "/claim/" not in html
    assert value("answered", html) == ""
    assert f"/inbox/tasks/{task.pk}/claim/" not in ada.get("/inbox/?view=available").content.decode()
    answer = ada.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "agree"}, follow=True)
    told = toast("task.completed", answer)
    assert "RES-van" in told
    assert "Agree" in told
    assert refusing(page(ada, task)) == ["answered"]
    assert value("answered", page(adam, task)) == "ada"
    send(adam, task, "complete", outcome="agree")
    task.refresh_from_db()
    assert task.status == "completed"


def test_acts_are_not_there_for_who_does_not_see_the_task(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    for name in ("uri", "sam"):
        client = browser(name)
        assert {act: send(client, task, act).status_code for act in ACTS} == dict.fromkeys(ACTS, 404)


def test_acts_answer_only_to_post(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    for act in ACTS:
        assert ada.get(f"/inbox/tasks/{task.pk}/{act}/").status_code == 405


def test_page_of_a_task_costs_the_same_however_much_was_said(
    cast: Cast, review: str, browser: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    task, ada = a_task(cast), browser("ada")
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    for more in (0, 5):
        for number in range(more):
            comment_task(actor=cast.actor("adam"), task_id=task.pk, text=f"thought {number}")
        with django_assert_num_queries(29):
            page(ada, task)
