"""A case on paper: what was asked, who decided what and when, and the end of its audit."""

import pytest

from engine.models import Instance
from engine.services.tasks.comments import comment_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import page_name
from tests.inbox.conftest import SignIn
from tests.workflows import only_task, started


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
