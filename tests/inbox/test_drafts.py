"""Answers begun and kept: by the button, by themselves, with ticks and files."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from engine.models import Task, TaskAttachment, TaskDraft
from engine.services.instances.lifecycle import cancel_instance
from engine.services.people.accounts import grant_role
from engine.services.tasks.lifecycle import claim_task
from tests.cast import Cast
from tests.hooks import element, errors, notices, toasts, value, values
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started


def send(client: Client, task: Task, act: str, **fields: object) -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def page(client: Client, task: Task) -> str:
    return client.get(f"/inbox/tasks/{task.pk}/").content.decode()


def to_review(cast: Cast) -> Task:
    task = only_task(started(cast.actor("uri"), "review", what="lunch", amount=12.5))
    return claim_task(actor=cast.actor("ada"), task_id=task.pk)


def to_prepare(cast: Cast) -> Task:
    task = only_task(started(cast.actor("uri"), "board", subject="van"))
    return claim_task(actor=cast.actor("ada"), task_id=task.pk)


def pdf(name: str = "offer.pdf", content: bytes = b"%PDF-1.7 fine") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def test_draft_is_found_again_even_where_it_is_wrong(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = to_review(cast), browser("ada")
    answer = send(ada, task, "draft", comment="not sure", **{"f.note": "half a thou", "f.granted": "1,5"})
    assert answer["Location"] == f"/inbox/tasks/{task.pk}/"
    html = page(ada, task)
    assert toasts(html) == ["draft.saved"]
    assert values("by", html) == ["ada"]
    for kept in ('value="half a thou"', 'value="1,5"', "not sure</textarea>"):
        assert kept in html
    task.refresh_from_db()
    assert task.status == "claimed"


def test_draft_that_left_a_field_empty_does_not_bring_its_default_back(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_prepare(cast), browser("ada")
    assert 'value="3"' in page(ada, task)
    send(ada, task, "draft", **{"f.size": ""})
    assert 'value="3"' not in page(ada, task)


def test_draft_by_itself_answers_one_word(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = to_review(cast), browser("ada")
    address = f"/inbox/tasks/{task.pk}/draft/"
    answer = ada.post(address, {"f.note": "typing"}, headers={"X-Requested-With": "draft"})
    assert answer.status_code == 200
    assert answer.json().keys() == {"words"}
    assert TaskDraft.objects.get(task_id=task.pk).values == {"note": "typing"}


def test_draft_of_a_released_task_is_told_to_who_may_go_on_with_it(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = to_review(cast), browser("ada")
    send(ada, task, "draft", comment="not sure", **{"f.note": "half a thou"})
    send(ada, task, "release")
    html = page(ada, task)
    assert values("by", html) == ["ada"]
    grant_role(actor=None, person=cast.gwen, role="finance")
    other = page(browser("gwen"), task)
    assert value("draft-of", other) == "ada"
    for kept in ("half a thou", "not sure"):
        assert kept in html
        assert kept in other
    for kept in ("half a thou", "not sure"):
        assert kept not in page(browser("adam"), task)


def test_comment_alone_of_a_draft_is_still_read_when_the_task_is_withdrawn(
    cast: Cast, review: str, browser: SignIn
) -> None:
    task, ada = to_review(cast), browser("ada")
    send(ada, task, "draft", comment="not sure")
    cancel_instance(actor=cast.actor("gwen"), instance_id=task.instance_id, reason="no budget")
    assert "not sure" in page(ada, task)


def test_discarded_draft_is_gone(cast: Cast, review: str, browser: SignIn) -> None:
    task, ada = to_review(cast), browser("ada")
    send(ada, task, "draft", **{"f.note": "away with it"})
    send(ada, task, "draft/discard")
    assert "away with it" not in page(ada, task)


def test_draft_of_a_lost_task_is_refused(cast: Cast, review: str, browser: SignIn) -> None:
    task = to_review(cast)
    answer = send(browser("gwen"), task, "draft", **{"f.note": "mine"})
    assert answer.status_code in (403, 409)
    assert not TaskDraft.objects.exists()


def test_ticks_stay_with_the_task_and_missing_ones_stop_the_answer(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_prepare(cast), browser("ada")
    refused = send(ada, task, "complete", checklist="1", tick="legal")
    assert refused.status_code == 400
    html = refused.content.decode()
    assert errors(html) == ["unticked"]
    assert "The numbers are checked" in element("data-error", html)
    assert 'value="legal" checked' in html
    send(ada, task, "draft", checklist="1", tick="point_1")
    assert 'value="point_1" checked' in page(ada, task)
    send(ada, task, "draft", checklist="1")
    assert 'value="point_1" checked' not in page(ada, task)
    assert send(ada, task, "complete", checklist="1", tick="point_1").status_code == 302


def test_added_file_can_be_fetched_and_taken_away_and_the_form_is_kept(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_prepare(cast), browser("ada")
    assert send(ada, task, "files", file=pdf(), **{"f.size": "7"}).status_code == 302
    file = TaskAttachment.objects.get()
    address = f"/inbox/tasks/{task.pk}/files/{file.pk}/"
    html = page(ada, task)
    assert address in html
    assert 'value="7"' in html
    fetched = ada.get(address)
    assert fetched["Content-Disposition"] == 'attachment; filename="offer.pdf"'
    assert b"".join(fetched.streaming_content) == b"%PDF-1.7 fine"  # type: ignore[attr-defined]
    assert ada.post(f"{address}remove/", {"f.size": "8"}).status_code == 302
    assert not TaskAttachment.objects.exists()
    assert 'value="8"' in page(ada, task)


def test_wrong_or_missing_file_is_told_by_name_with_the_form_kept(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_prepare(cast), browser("ada")
    wrong = send(ada, task, "files", file=pdf("offer.exe"), **{"f.size": "7"})
    assert wrong.status_code == 400
    assert errors(wrong) == ["type"]
    told = element("data-error", wrong)
    assert [part for part in ("offer.exe", "PDF", "1 KB") if part not in told] == []
    assert 'value="7"' in wrong.content.decode()
    assert errors(send(ada, task, "files")) == ["required"]
    send(ada, task, "files", file=pdf())
    full = send(ada, task, "files", file=pdf("second.pdf"))
    assert full.status_code == 409
    assert (errors(full), notices(full)) == (["limit"], ["invalid"])


def test_file_that_comes_with_the_answer_is_added_with_it(cast: Cast, board: str, browser: SignIn) -> None:
    task, ada = to_prepare(cast), browser("ada")
    assert send(ada, task, "complete", checklist="1", tick="point_1", file=pdf()).status_code == 302
    assert TaskAttachment.objects.get().name == "offer.pdf"
    assert "offer.pdf" in page(ada, task)


def test_file_of_a_task_one_does_not_see_is_not_there(cast: Cast, board: str, browser: SignIn) -> None:
    task = to_prepare(cast)
    send(browser("ada"), task, "files", file=pdf())
    address = f"/inbox/tasks/{task.pk}/files/{TaskAttachment.objects.get().pk}/"
    for name in ("uri", "sam"):
        assert browser(name).get(address).status_code == 404
        assert browser(name).post(f"{address}remove/").status_code == 404
