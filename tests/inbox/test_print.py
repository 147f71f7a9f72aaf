"""A case on paper: what was asked, who decided what and when, and the end of its audit."""

import json
from io import BytesIO

import pytest

from engine.models import Instance
from engine.services.audit.receipts import make_receipt
from engine.services.instances.requests import add_case_file, comment_instance
from engine.services.tasks.comments import comment_task
from engine.services.tasks.handover import ask_about_task, return_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import page_name
from tests.inbox.conftest import SignIn
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.models import User


@pytest.fixture
def case(cast: Cast, review: str) -> Instance:
    instance = started(cast.actor("uri"), review, what="lunch", amount=1234.5)
    task = only_task(instance)
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    comment_task(actor=cast.actor("ada"), task_id=task.pk, text="Who was there?")
    values = {"note": "client lunch", "granted": 99.5}
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values=values, comment="All right")
    instance.refresh_from_db()
    return instance


def test_a_case_is_printed_with_its_decisions_and_the_end_of_its_audit(case: Instance, browser: SignIn) -> None:
    answer = browser("ada").get(f"/inbox/instances/{case.pk}/print/")
    html = answer.content.decode()
    assert page_name(answer) == "print"
    for text in ("EXP-lunch", "1,234.5", "Approve", "All right", "client lunch", "99.5", "Who was there?"):
        assert text in html
    groups = html.split("data-hash>")[1].split("<")[0]
    assert groups.replace(" ", "") == case.audit_hash
    assert {len(group) for group in groups.split(" ")} == {4}


def test_what_was_said_about_the_whole_case_is_on_paper_and_in_the_receipt(
    cast: Cast, case: Instance, browser: SignIn
) -> None:
    uri = cast.actor("uri")
    comment_instance(actor=uri, instance_id=case.pk, text="The bill follows")
    case.refresh_from_db()
    html = browser("uri").get(f"/inbox/instances/{case.pk}/print/").content.decode()
    assert "The bill follows" in html
    said = json.loads(json.loads(make_receipt(actor=uri, instance_id=case.pk))["statement"])
    assert [(one["by"], one["text"]) for one in said["comments"]] == [("uri", "The bill follows")]


def test_files_of_the_whole_case_are_on_paper_and_in_the_receipt(cast: Cast, review: str, browser: SignIn) -> None:
    uri, case = cast.actor("uri"), started(cast.actor("uri"), review, what="lunch", amount=1)
    add_case_file(actor=uri, instance_id=case.pk, name="bill.pdf", content=BytesIO(b"%PDF-1.7 bill"))
    html = browser("uri").get(f"/inbox/instances/{case.pk}/print/").content.decode()
    assert "bill.pdf" in html
    said = json.loads(json.loads(make_receipt(actor=uri, instance_id=case.pk))["statement"])
    assert [one["name"] for one in said["files"]] == ["bill.pdf"]


def test_paper_has_the_title_of_the_case_and_its_reference(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), APPROVAL.replace("\nsteps:", '\ncase_title: "Grant of ${start.amount}"\nsteps:', 1))
    case = started(cast.actor("uri"), "approval", amount=7)
    html = browser("uri").get(f"/inbox/instances/{case.pk}/print/").content.decode()
    assert "<h1>Grant of 7</h1>" in html
    assert str(case.reference) in html


def test_questions_are_on_paper_with_their_answers(cast: Cast, review: str, browser: SignIn) -> None:
    instance = started(cast.actor("uri"), review, what="lunch", amount=1)
    task = claim_task(actor=cast.actor("ada"), task_id=only_task(instance).pk)
    ask_about_task(actor=cast.actor("ada"), task_id=task.pk, user="uri", question="Who was there?")
    return_task(actor=cast.actor("uri"), task_id=task.pk, note="Three guests")
    html = browser("ada").get(f"/inbox/instances/{instance.pk}/print/").content.decode()
    assert 0 < html.index("Who was there?") < html.index("Three guests")


def test_people_are_on_paper_by_their_full_names_for_every_reader(case: Instance, browser: SignIn) -> None:
    User.objects.filter(username="ada").update(full_name="Ada Lindqvist")
    html = browser("uri").get(f"/inbox/instances/{case.pk}/print/").content.decode()
    assert "Ada Lindqvist" in html


def test_german_prints_german_numbers(case: Instance, browser: SignIn) -> None:
    ada = browser("ada")
    ada.cookies["django_language"] = "de"
    assert "1.234,5" in ada.get(f"/inbox/instances/{case.pk}/print/").content.decode()


def test_who_sees_the_case_may_print_it_and_nobody_else(case: Instance, browser: SignIn) -> None:
    for page in ("print", "receipt"):
        address = f"/inbox/instances/{case.pk}/{page}/"
        assert browser("uri").get(address).status_code == 200
        assert browser("sam").get(address).status_code == 404
    file = browser("uri").get(f"/inbox/instances/{case.pk}/receipt/")
    assert file["Content-Disposition"] == 'attachment; filename="EXP-lunch.receipt.json"'


def test_comments_on_tasks_that_the_reader_does_not_see_are_left_out(case: Instance, browser: SignIn) -> None:
    assert "Who was there?" not in browser("uri").get(f"/inbox/instances/{case.pk}/print/").content.decode()
