"""Everything that is wrong with an answer or a start is said at once; what rejects asks only for what it needs."""

import pytest

from engine.errors import Invalid
from engine.models import Instance, Task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import errors
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

LOAN = """
workflow: loan
title: Loan
starters: {min_level: 2}
input:
  type: object
  required: [sum, purpose]
  properties:
    sum: {type: number, title: Sum, x-unit: €, maximum: 50000}
    purpose: {type: string, title: Purpose}
steps:
  - id: decide
    task:
      title: Decide
      roles: [finance]
      comment: always
      outcomes: {grant: {title: Grant}, refuse: {title: Refuse, reject: true}}
      checklist: [The papers are read]
      form:
        type: object
        required: [granted, account]
        properties:
          granted: {type: number, title: Granted, x-unit: €, maximum: 1000}
          account: {type: string, title: Account}
          rate: {type: number, title: Rate, maximum: 12}
          second:
            type: object
            title: Second payment
            required: [amount, day]
            properties:
              amount: {type: number, title: Amount, x-unit: €}
              day: {type: string, format: date, title: Day}
"""


@pytest.fixture
def task(cast: Cast) -> Task:
    activated(cast.actor("gwen"), LOAN)
    found = only_task(started(cast.actor("uri"), "loan", sum=5, purpose="bicycle"))
    claim_task(actor=cast.actor("ada"), task_id=found.pk)
    return found


def test_what_cannot_be_read_is_missing_or_breaks_a_rule_is_told_at_once(task: Task, browser: SignIn) -> None:
    sent = {"checklist": "1", "outcome": "grant", "f.granted": "1.2.3", "f.rate": "13"}
    answer = browser("ada").post(f"/inbox/tasks/{task.pk}/complete/", sent)
    assert answer.status_code == 400
    assert sorted(errors(answer)) == ["comment_required", "maximum", "number", "required", "unticked"]
    assert answer.content.decode().count('data-wrong="4"') == 1


def test_a_start_is_told_everything_at_once_too(cast: Cast, browser: SignIn) -> None:
    activated(cast.actor("gwen"), LOAN)
    answer = browser("uri").post("/inbox/start/loan/", {"f.sum": "1.2.3"})
    assert sorted(errors(answer)) == ["number", "required"]
    assert not Instance.objects.exists()


def test_a_section_begun_with_something_unreadable_is_asked_for_the_rest(task: Task, browser: SignIn) -> None:
    sent = {"outcome": "grant", "comment": "x", "f.granted": "5", "f.account": "A", "f.second.amount": "1.2.3"}
    answer = browser("ada").post(f"/inbox/tasks/{task.pk}/complete/", sent)
    html = answer.content.decode()
    assert 'id="id_f.second.amount_error"' in html
    assert 'id="id_f.second.day_error"' in html
    assert 'value="clear f.second"' in html


def test_a_section_can_be_cleared(task: Task, browser: SignIn) -> None:
    address = f"/inbox/tasks/{task.pk}/complete/"
    sent = {"rows": "clear f.second", "f.granted": "5", "f.second.amount": "1.2.3"}
    html = browser("ada").post(address, sent).content.decode()
    assert 'name="f.granted" value="5.00"' in html
    assert "1.2.3" not in html


@pytest.mark.parametrize("granted", ["", "1.2.3", "9999"])
def test_a_rejection_asks_only_for_its_comment(task: Task, browser: SignIn, granted: str) -> None:
    client, address = browser("ada"), f"/inbox/tasks/{task.pk}/complete/"
    sent = {"checklist": "1", "outcome": "refuse", "f.granted": granted, "f.rate": "3"}
    assert errors(client.post(address, sent)) == ["comment_required"]
    assert client.post(address, sent | {"comment": "too much"}).status_code == 302
    task.refresh_from_db()
    assert (task.status, task.outcome, task.answer) == ("completed", "refuse", {"rate": 3})


def test_a_service_says_everything_at_once(cast: Cast, task: Task) -> None:
    with pytest.raises(Invalid) as refusal:
        complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="grant", values={"granted": 2000})
    assert refusal.value.code == "comment_required"
    found = {error.path for error in refusal.value.errors}
    assert {"comment", "values.granted", "values.account"} < found
    assert any(path.startswith("checklist.") for path in found)


def test_what_cannot_be_kept_is_refused_in_a_rejection_as_well(cast: Cast, task: Task) -> None:
    with pytest.raises(Invalid):
        complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="refuse", values={"note": "\0"}, comment="no")
