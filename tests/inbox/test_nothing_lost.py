"""Whatever comes between: what was typed is kept, and a sentence says what happened and where to go."""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from engine.access.task_rules import WHO_CAN_MOVE_IT
from engine.audit.chain import database_now
from engine.errors import Conflict
from engine.models import Task, TaskDraft
from engine.presentation.narrative.relative_times import clock_words
from engine.services.instances.lifecycle import cancel_instance
from engine.services.people.accounts import grant_role
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task, release_task
from tasks_inbox.messages import notice_of, over_words
from tests.cast import Cast
from tests.hooks import acts, notice, notices, part
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started

ANSWER = {"outcome": "approve", "f.note": "Fine with me", "f.granted": "12.5"}


def send(client: Client, task: Task, act: str = "complete", **fields: str) -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def words(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


@pytest.fixture
def task(cast: Cast, review: str) -> Task:
    """Return an open task that Ada and Gwen may do."""
    grant_role(actor=None, person=cast.gwen, role="finance")
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


def test_lost_claim_names_the_winner_and_keeps_what_was_typed(cast: Cast, task: Task, browser: SignIn) -> None:
    claim_task(actor=cast.actor("gwen"), task_id=task.pk)
    answer = send(browser("ada"), task, **ANSWER)
    html = words(answer)
    assert answer.status_code == 409
    said = notice("claimed", html)
    assert "Gwen" in said
    assert 'data-sent="nothing"' in said
    assert "Fine with me" in part("typed", html)
    assert {"next", "to_available", "comment_typed"} <= acts(html)
    assert WHO_CAN_MOVE_IT.said({"winner": "Gwen"}) in html


def test_lost_claim_says_whether_it_was_a_matter_of_seconds() -> None:
    def said(ago: timedelta) -> str:
        at = timezone.now() - ago
        text = notice_of(Conflict("", code="claimed", winner_name="Gwen", claimed_at=at)).text
        return text.replace(clock_words(at), "")

    assert said(timedelta(seconds=3)) != said(timedelta(hours=1))


def test_task_withdrawn_while_open_says_who_ended_it_and_keeps_the_draft(
    cast: Cast, task: Task, browser: SignIn
) -> None:
    ada = cast.actor("ada")
    claim_task(actor=ada, task_id=task.pk)
    save_task_draft(actor=ada, task_id=task.pk, values={"note": "half a thought"})
    cancel_instance(actor=cast.actor("gwen"), instance_id=task.instance_id, reason="not needed")
    client = browser("ada")
    answer = send(client, task, **ANSWER)
    assert answer.status_code == 409
    assert over_words(Task.objects.get(pk=task.pk)) in notice("closed", answer)
    assert "Gwen" in notice("closed", answer)
    assert "Fine with me" in part("typed", answer)
    later = words(client.get(f"/inbox/tasks/{task.pk}/"))
    assert notices(later) == ["over.cancelled"]
    assert "half a thought" in part("typed", later)


def test_answer_sent_twice_is_shown_not_sent(task: Task, browser: SignIn) -> None:
    client = browser("ada")
    assert send(client, task, **ANSWER).status_code == 302
    again = send(client, task, **ANSWER)
    assert again.status_code == 409
    assert notices(again) == ["answered"]
    assert "Fine with me" in part("answer", again)
    assert Task.objects.filter(instance_id=task.instance_id, step="review").count() == 1


def test_old_tab_does_not_overwrite_what_another_did_meanwhile(cast: Cast, task: Task, browser: SignIn) -> None:
    ada, gwen = cast.actor("ada"), cast.actor("gwen")
    seen = (database_now() - timedelta(minutes=5)).isoformat()
    claim_task(actor=gwen, task_id=task.pk)
    save_task_draft(actor=gwen, task_id=task.pk, values={"note": "Gwen looked at it"})
    release_task(actor=gwen, task_id=task.pk)
    claim_task(actor=ada, task_id=task.pk)
    answer = send(browser("ada"), task, seen=seen, **ANSWER)
    html = words(answer)
    assert answer.status_code == 409
    assert "Gwen" in notice("changed", html)
    assert "Gwen looked at it" in part("theirs", html)
    assert 'value="Fine with me"' in html
    now = TaskDraft.objects.get().saved_at.isoformat()
    assert send(browser("ada"), task, seen=now, **ANSWER).status_code == 302


def form_fields(client: Client, task: Task) -> dict[str, str]:
    html = client.get(f"/inbox/tasks/{task.pk}/").content.decode()
    return {"whose": html.split('name="whose" value="')[1].split('"')[0], **ANSWER}


def test_session_that_ended_keeps_the_answer_until_one_is_back(cast: Cast, task: Task, browser: SignIn) -> None:
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    client = browser("ada")
    sent = form_fields(client, task)
    client.logout()
    door = send(client, task, **sent)
    assert door["Location"] == f"/accounts/login/?next=/inbox/tasks/{task.pk}/"
    assert notices(client.get(door["Location"])) == ["answer_kept"]
    client.force_login(cast.ada)
    html = words(client.get(f"/inbox/tasks/{task.pk}/"))
    assert notices(html) == ["back_again"]
    assert 'value="Fine with me"' in html
    assert 'value="Fine with me"' not in words(client.get(f"/inbox/tasks/{task.pk}/"))


def test_what_was_kept_is_shown_to_nobody_else(cast: Cast, task: Task, browser: SignIn) -> None:
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    client = browser("ada")
    sent = form_fields(client, task)
    client.logout()
    send(client, task, **sent)
    assign_task(actor=cast.actor("gwen"), task_id=task.pk, person="gwen")
    client.force_login(cast.gwen)
    assert "Fine with me" not in words(client.get(f"/inbox/tasks/{task.pk}/"))


def test_stranger_leaves_nothing_in_a_session(task: Task) -> None:
    client = Client()
    send(client, task, **ANSWER)
    assert "kept_answer" not in client.session


def test_draft_by_itself_is_told_that_the_session_ended(task: Task) -> None:
    answer = Client().post(f"/inbox/tasks/{task.pk}/draft/", ANSWER, headers={"X-Requested-With": "draft"})
    assert answer.status_code == 401


def test_case_is_cancelled_from_its_page_with_a_reason_and_by_level_four_only(
    cast: Cast, task: Task, browser: SignIn
) -> None:
    address = f"/inbox/instances/{task.instance_id}/cancel/"
    assert browser("sam").post(address, {"reason": "x"}).status_code == 404
    for name, offered in (("ada", True), ("uri", False)):
        assert ("cancel" in acts(browser(name).get(f"/inbox/instances/{task.instance_id}/"))) is offered
    assert browser("uri").post(address, {"reason": "x"}).status_code == 403
    nothing = browser("ada").post(address, {"reason": " "})
    assert (nothing.status_code, notices(nothing)) == (400, ["invalid"])
    assert browser("ada").post(address, {"reason": "not needed"}).status_code == 302
    task.instance.refresh_from_db()
    assert task.instance.status == "cancelled"
