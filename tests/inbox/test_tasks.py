"""Claim, release and complete a task through its page, without JavaScript."""

from django.http import HttpResponse
from django.test import Client

from engine.access.task_rules import SEEN_AS_ANSWERED, SEEN_BY_LEVEL
from engine.models import Task, TaskEvent
from engine.services.people.accounts import grant_role
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import (
    acts,
    allowing,
    codes,
    errors,
    notice,
    notices,
    page_name,
    part,
    refusing,
    toast,
    values,
    wrong_fields,
)
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started

ANSWER = {"outcome": "approve", "f.note": "fine", "f.granted": "12.5"}


def a_task(cast: Cast, what: str = "lunch") -> Task:
    return only_task(started(cast.actor("uri"), "review", what=what, amount=12.5))


def page(client: Client, task: Task) -> str:
    return client.get(f"/inbox/tasks/{task.pk}/").content.decode()


def send(client: Client, task: Task, act: str, **fields: str) -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def test_open_task_is_answered_without_a_claim_and_offers_one(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    html = page(ada, task)
    assert "Look at the receipts." in html
    assert 'name="f.note"' in html
    assert html.count('data-act="claim"') == 1
    assert send(ada, task, "complete", **ANSWER).status_code == 302
    task.refresh_from_db()
    assert (task.status, task.completed_by_name) == ("completed", "ada")
    kinds = TaskEvent.objects.filter(task_id=task.pk).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["created", "claimed", "completed"]


def test_open_task_that_another_began_to_answer_is_claimed_first(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada, gwen = a_task(cast), browser("ada"), browser("gwen")
    finance_too(cast, "gwen")
    send(ada, task, "draft", **{"f.note": "half a thou"})
    assert 'name="f.note"' in page(ada, task)
    html = page(gwen, task)
    assert 'name="f.note"' not in html
    assert html.count('data-act="claim"') == 1
    send(gwen, task, "claim")
    assert "half a thou" in page(gwen, task)
    assert 'name="f.note"' not in page(ada, task)


def test_who_loses_the_race_for_an_open_task_keeps_what_they_typed(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada, gwen = a_task(cast), browser("ada"), browser("gwen")
    finance_too(cast, "gwen")
    page(ada, task), page(gwen, task)
    send(gwen, task, "complete", **ANSWER)
    answer = send(ada, task, "complete", **{**ANSWER, "f.note": "my own words"})
    assert answer.status_code == 409
    assert "my own words" in answer.content.decode()


def test_a_program_answers_without_a_claim_whoever_began(cast: Cast, review: str, browser: SignIn) -> None:
    """REST keeps its contract: completing an open task claims it."""
    task = a_task(cast)
    finance_too(cast, "gwen")
    send(browser("ada"), task, "draft", **{"f.note": "half a thou"})
    complete_task(
        actor=cast.actor("gwen"), task_id=task.pk, outcome="approve", values={"note": "fine", "granted": 12.5}
    )
    task.refresh_from_db()
    assert task.completed_by_name == "gwen"


def test_claim_gives_the_form_to_the_claimer(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    answer = send(ada, task, "claim")
    assert answer.status_code == 302
    assert answer["Location"] == f"/inbox/tasks/{task.pk}/"
    html = page(ada, task)
    assert 'name="f.note"' in html
    assert 'value="approve"' in html


def test_lost_claim_names_the_winner(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    finance_too(cast, "gwen")
    answer = send(browser("gwen"), task, "claim")
    assert answer.status_code == 409
    assert "Ada" in notice("claimed", answer)
    task.refresh_from_db()
    assert task.assignee_id == cast.ada.pk


def test_lost_completion_keeps_what_was_typed(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    finance_too(cast, "gwen")
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    answer = send(
        browser("gwen"), task, "complete", outcome="approve", comment="and why", **{"f.note": "my long thoughts"}
    )
    html = answer.content.decode()
    assert answer.status_code == 409
    assert "Ada" in notice("claimed", html)
    assert "my long thoughts" in html
    assert "and why" in html


def test_release_gives_the_task_back(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "claim")
    assert send(ada, task, "release").status_code == 302
    task.refresh_from_db()
    assert (task.status, task.assignee_id) == ("open", None)


def test_releasing_an_open_task_says_that_it_is_not_claimed(cast: Cast, review: str, browser: SignIn) -> None:
    answer = send(browser("ada"), a_task(cast), "release")
    assert answer.status_code == 409
    assert notices(answer) == ["status"]


def test_complete_stores_typed_values_and_opens_the_own_next_task(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "claim")
    answer = send(ada, task, "complete", **ANSWER)
    task.refresh_from_db()
    assert task.answer == {"note": "fine", "granted": 12.5}
    following = only_task(task.instance)
    assert answer["Location"] == f"/inbox/tasks/{following.pk}/#title"


def test_after_the_last_task_the_list_says_what_was_done(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "complete", **ANSWER)
    last = only_task(task.instance)
    answer = ada.post(f"/inbox/tasks/{last.pk}/complete/", {}, follow=True)
    assert answer.redirect_chain[-1][0] == "/inbox/"
    told = toast("task.completed", answer)
    assert "EXP-lunch" in told
    assert f"/inbox/instances/{task.instance_id}/" in told


def test_wrong_values_come_back_at_their_fields_with_everything_typed(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "claim")
    answer = send(ada, task, "complete", outcome="approve", **{"f.granted": "250", "f.note": ""})
    html = answer.content.decode()
    assert answer.status_code == 400
    assert 'value="250"' in html
    assert 'id="id_f.granted_error"' in html
    assert 'id="id_f.note_error"' in html
    assert (wrong_fields(html), errors(html)) == (2, ["required", "maximum"])
    task.refresh_from_db()
    assert task.status == "claimed"


def test_text_that_is_no_number_is_refused_in_words(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    answer = send(ada, task, "complete", outcome="approve", **{"f.granted": "much", "f.note": "x"})
    html = answer.content.decode()
    assert answer.status_code == 400
    assert errors(html) == ["number"]
    assert 'value="much"' in html


def test_reject_asks_for_the_comment_that_its_rule_needs(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    answer = send(ada, task, "complete", outcome="reject", **{"f.note": "x"})
    html = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="id_comment_error"' in html
    assert errors(html) == ["comment_required"]
    assert 'value="x"' in html
    assert send(ada, task, "complete", outcome="reject", comment="too late", **{"f.note": "x"}).status_code == 302


def test_unknown_outcome_is_refused_without_an_answer(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    answer = send(browser("ada"), task, "complete", outcome="burn", **{"f.note": "x"})
    assert answer.status_code == 400
    assert errors(answer) == ["outcome"]


def test_double_submit_shows_the_first_answer(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "complete", **ANSWER)
    again = send(ada, task, "complete", **(ANSWER | {"f.note": "second thoughts"}))
    html = again.content.decode()
    assert again.status_code == 409
    assert notices(html) == ["answered"]
    assert "fine" in html
    task.refresh_from_db()
    assert task.answer["note"] == "fine"


def test_closed_task_says_what_happened_and_where_to_go(cast: Cast, review: str, browser: SignIn) -> None:
    task = a_task(cast)
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    html = page(browser("gwen"), task)
    assert "Ada" in notice("over.completed", html)
    assert "to_case" in acts(html)
    assert "/complete/" not in html


def test_who_reads_a_closed_task_is_told_why_they_see_it_and_nothing_about_acting(
    cast: Cast, review: str, browser: SignIn
) -> None:
    task = a_task(cast)
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    own, others = page(browser("ada"), task), page(browser("gwen"), task)
    assert allowing(own) == allowing(others) == ["seen"]
    assert SEEN_AS_ANSWERED.said({}) in own
    assert SEEN_BY_LEVEL.said({"level": "Admins"}) in others
    assert refusing(own + others) == []


def test_four_eyes_is_refused_and_explained(cast: Cast, review: str, browser: SignIn) -> None:
    task = only_task(started(cast.actor("ada"), "review", what="own lunch", amount=3))
    ada = browser("ada")
    html = page(ada, task)
    assert (values("why", html), refusing(html)) == (["refused"], ["four_eyes"])
    answer = send(ada, task, "claim")
    assert answer.status_code == 403
    assert notices(answer) == ["four_eyes"]


def test_who_sees_but_is_no_candidate_is_refused(cast: Cast, review: str, browser: SignIn) -> None:
    task, adam = a_task(cast), browser("adam")
    html = page(adam, task)
    assert "/claim/" not in html
    assert SEEN_BY_LEVEL.said({"level": "Admins"}) in html
    assert '<a class="wf-back" href="/inbox/?view=team" data-back>' in html
    answer = send(adam, task, "claim")
    assert answer.status_code == 403
    assert notices(answer) == ["not_candidate"]


def test_level_two_does_not_see_a_task_of_level_four(cast: Cast, review: str, browser: SignIn) -> None:
    task, uri = a_task(cast), browser("uri")
    assert uri.get(f"/inbox/tasks/{task.pk}/").status_code == 404
    assert send(uri, task, "claim").status_code == 404


def test_html_in_values_is_shown_as_text(cast: Cast, review: str, browser: SignIn) -> None:
    evil = "<script>alert(1)</script>"
    task, ada = a_task(cast, evil), browser("ada")
    answer = send(ada, task, "complete", outcome="approve", **{"f.note": evil, "f.granted": evil})
    assert evil not in answer.content.decode()
    send(ada, task, "complete", outcome="approve", comment=evil, **{"f.note": evil})
    for address in (
        f"/inbox/tasks/{task.pk}/",
        f"/inbox/instances/{task.instance_id}/",
        "/inbox/",
        "/inbox/?view=done",
    ):
        html = ada.get(address).content.decode()
        assert evil not in html
        assert "&lt;script&gt;" in html


def test_acts_answer_only_to_post(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    for act in ("claim", "release", "complete"):
        assert ada.get(f"/inbox/tasks/{task.pk}/{act}/").status_code == 405


def test_acts_need_the_csrf_token(cast: Cast, review: str) -> None:
    task = a_task(cast)
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.ada)
    answer = client.post(f"/inbox/tasks/{task.pk}/claim/")
    assert answer.status_code == 403
    assert page_name(answer) == "too_old"


def test_history_of_the_task_tells_who_did_what(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = a_task(cast), browser("ada")
    send(ada, task, "claim")
    send(ada, task, "complete", **ANSWER)
    html = page(ada, task)
    assert codes("entry", html) == ["completed", "claimed", "created"]
    assert "Approve" in part("history", html)


def finance_too(cast: Cast, name: str) -> None:
    """Let one more person be a candidate, for a race."""
    grant_role(actor=None, person=getattr(cast, name), role="finance")
