"""Whatever comes between: what was typed is kept, and a sentence says what happened and where to go."""

from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client

from engine.audit.chain import database_now
from engine.models import Task, TaskDraft
from engine.services.instances.lifecycle import cancel_instance
from engine.services.people.accounts import grant_role
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task, release_task
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started

ANSWER = {"outcome": "approve", "f.note": "Fine with me", "f.granted": "12.5"}


def send(client: Client, task: Task, act: str = "complete", **fields: str) -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def words(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


@pytest.fixture
def task(cast: Cast, review: str) -> Task:
    """Give an open task that Ada and Gwen may do."""
    grant_role(actor=None, person=cast.gwen, role="finance")
    return only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))


def test_lost_claim_names_the_winner_and_keeps_what_was_typed(cast: Cast, task: Task, browser: SignIn) -> None:
    claim_task(actor=cast.actor("gwen"), task_id=task.pk)
    answer = send(browser("ada"), task, **ANSWER)
    html = words(answer)
    assert answer.status_code == 409
    assert "Gwen was faster" in html
    assert "a few seconds before you. What you typed is kept below; nothing was sent." in html
    assert "Fine with me" in html
    for way_on in ("Take the next task", "Back to Available", "Add as a comment"):
        assert way_on in html
    assert "Gwen can release it, or somebody who may assign tasks can give it to another." in html


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
    assert "It is no longer needed: Gwen cancelled the request at" in words(answer)
    assert "Fine with me" in words(answer)
    later = words(client.get(f"/inbox/tasks/{task.pk}/"))
    assert "Your draft is kept above." in later
    assert "half a thought" in later


def test_answer_sent_twice_is_shown_not_sent(task: Task, browser: SignIn) -> None:
    client = browser("ada")
    assert send(client, task, **ANSWER).status_code == 302
    again = send(client, task, **ANSWER)
    assert again.status_code == 409
    assert "Already sent at" in words(again)
    assert "Here is what you answered." in words(again)
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
    assert "Gwen changed this at" in html
    assert "Compare, then send again." in html
    assert "Gwen looked at it" in html
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
    assert "what you typed is kept" in words(client.get(door["Location"]))
    client.force_login(cast.ada)
    html = words(client.get(f"/inbox/tasks/{task.pk}/"))
    assert "What you typed before you were signed out is here again. Nothing was sent yet." in html
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
    assert "Cancel the request" not in words(browser("uri").get(f"/inbox/instances/{task.instance_id}/"))
    assert browser("uri").post(address, {"reason": "x"}).status_code == 403
    nothing = browser("ada").post(address, {"reason": " "})
    assert (nothing.status_code, "Say why" in words(nothing)) == (400, True)
    assert browser("ada").post(address, {"reason": "not needed"}).status_code == 302
    task.instance.refresh_from_db()
    assert task.instance.status == "cancelled"
