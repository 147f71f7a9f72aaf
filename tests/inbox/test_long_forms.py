"""A form with rows, a nested record, a condition, a file and a read-only value, sent as a browser without scripts does."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from engine.errors import Invalid
from engine.gallery import gallery
from engine.models import Instance, Task, TaskAttachment
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.hooks import element, errors
from tests.inbox.conftest import SignIn
from tests.workflows import activated

TRIP = {
    "f.purpose": "Trade fair",
    "f.trip.place": "Graz",
    "f.trip.from": "2026-11-03",
    "f.trip.to": "2026-11-04",
    "f.pay_to": "salary",
    "f.receipts": ["0", "1"],
    "f.receipts.0.day": "2026-11-03",
    "f.receipts.0.kind": "hotel",
    "f.receipts.0.amount": "120.50",
    "f.receipts.1.day": "",
}
CHECK = {
    "outcome": "grant",
    "f.granted": "100",
    "f.receipts": "0",
    "f.receipts.0.day": "2026-11-03",
    "f.receipts.0.kind": "hotel",
    "f.receipts.0.amount": "100",
}
START = "/inbox/start/trip-expenses/"


@pytest.fixture
def uri_client(cast: Cast, browser: SignIn) -> Client:
    """Activate the workflow and return Uri's browser."""
    activated(cast.actor("gwen"), gallery()["trip-expenses"])
    return browser("uri")


@pytest.fixture
def check(cast: Cast, uri_client: Client) -> Task:
    """Return the task that follows Uri's start, claimed by Ada."""
    uri_client.post(START, TRIP)
    task = Task.objects.get()
    return claim_task(actor=cast.actor("ada"), task_id=task.pk)


def send(client: Client, task: Task, fields: Mapping[str, Any], act: str = "complete") -> HttpResponse:
    return client.post(f"/inbox/tasks/{task.pk}/{act}/", fields)


def test_start_takes_the_rows_that_are_filled_in_and_no_more(uri_client: Client) -> None:
    assert uri_client.post(START, TRIP).status_code == 302
    started = Instance.objects.get()
    assert started.input["receipts"] == [{"day": "2026-11-03", "kind": "hotel", "amount": 120.5}]
    assert started.input["trip"] == {"place": "Graz", "from": "2026-11-03", "to": "2026-11-04", "own_car": False}
    assert started.state["total"] == 120.5


def test_adding_a_row_sends_nothing_and_keeps_everything_typed(uri_client: Client) -> None:
    answer = uri_client.post(START, {**TRIP, "f.receipts.1.amount": "no number", "rows": "add f.receipts"})
    html = answer.content.decode()
    assert (answer.status_code, Instance.objects.count()) == (200, 0)
    assert 'name="f.receipts.2.amount"' in html
    for kept in ('value="Graz"', 'value="120.50"', 'value="no number"'):
        assert kept in html.replace('value="120.5"', 'value="120.50"')
    assert "aria-invalid" not in html


def test_what_is_wrong_in_a_row_is_told_there_with_everything_typed(uri_client: Client) -> None:
    answer = uri_client.post(START, {**TRIP, "f.receipts.1.day": "2026-11-04", "f.receipts.1.amount": "-3"})
    html = answer.content.decode()
    assert (answer.status_code, Instance.objects.count()) == (400, 0)
    assert "Receipts 2: For" in html
    assert "Receipts 2: Amount" in html
    assert errors(html) == ["required", "exclusiveMinimum"]
    assert 'href="#id_f.receipts.1.amount"' in html
    assert 'value="-3"' in html


def test_condition_asks_for_more_and_says_what(uri_client: Client) -> None:
    html = uri_client.get(START).content.decode()
    conditions = re.findall(r"data-only-if>([^<]*)", html)
    assert any("With my own car" in said for said in conditions)
    assert any("Pay it" in said and "To a bank account" in said for said in conditions)
    answer = uri_client.post(START, {**TRIP, "f.trip.own_car": "on"})
    assert "The trip: Kilometres driven" in answer.content.decode()
    answer = uri_client.post(START, {**TRIP, "f.trip.kilometres": "400"})
    assert answer.status_code == 302
    assert "kilometres" not in Instance.objects.get().input["trip"]


def test_rows_and_read_only_values_of_a_task(check: Task, browser: SignIn) -> None:
    ada = browser("ada")
    html = ada.get(f"/inbox/tasks/{check.pk}/").content.decode()
    assert 'value="120.50"' in html
    assert 'name="f.asked"' not in html
    assert send(ada, check, {**CHECK, "f.asked": "1"}).status_code == 302
    check.refresh_from_db()
    assert (check.answer["asked"], check.answer["granted"]) == (120.5, 100)
    assert check.answer["receipts"][0]["amount"] == 100


def test_read_only_value_cannot_be_changed_over_any_door(check: Task, cast: Cast) -> None:
    receipts = [{"day": "2026-11-03", "kind": "hotel", "amount": 90}]
    values = {"asked": 1, "granted": 90, "receipts": receipts}
    done = complete_task(actor=cast.actor("ada"), task_id=check.pk, outcome="grant", values=values)
    assert done.task.answer["asked"] == 120.5


def test_file_of_a_field_is_added_and_named_in_the_answer(check: Task, browser: SignIn) -> None:
    proof = SimpleUploadedFile("receipts.pdf", b"%PDF-1.7 fine")
    assert send(browser("ada"), check, {**CHECK, "f.proof": proof}).status_code == 302
    check.refresh_from_db()
    assert check.answer["proof"] == "receipts.pdf"
    assert TaskAttachment.objects.get().name == "receipts.pdf"


def test_wrong_file_is_refused_by_name_at_its_field_and_everything_typed_stays(check: Task, browser: SignIn) -> None:
    wrong = SimpleUploadedFile("offer.exe", b"MZ")
    answer = send(browser("ada"), check, {**CHECK, "f.granted": "77", "f.proof": wrong})
    html = answer.content.decode()
    assert answer.status_code == 400
    assert errors(html) == ["type"]
    told = element("data-error", html)
    assert [part for part in ("offer.exe", "PDF", "10 MB") if part not in told] == []
    assert 'href="#id_f.proof"' in html
    assert 'value="77"' in html
    check.refresh_from_db()
    assert check.status == "claimed"


def test_answer_that_names_a_file_nobody_added_is_refused_over_any_door(check: Task, cast: Cast) -> None:
    receipts = [{"day": "2026-11-03", "kind": "hotel", "amount": 90}]
    values = {"granted": 90, "receipts": receipts, "proof": "none.pdf"}
    with pytest.raises(Invalid) as refusal:
        complete_task(actor=cast.actor("ada"), task_id=check.pk, outcome="grant", values=values)
    assert [(error.path, error.code) for error in refusal.value.errors] == [("values.proof", "file")]


def test_row_of_a_task_is_added_without_sending_and_script_is_shown_as_text(check: Task, browser: SignIn) -> None:
    evil = "<script>alert(1)</script>"
    answer = send(browser("ada"), check, {**CHECK, "f.receipts.0.note": evil, "rows": "add f.receipts"})
    html = answer.content.decode()
    assert answer.status_code == 200
    assert 'name="f.receipts.1.note"' in html
    assert evil not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    check.refresh_from_db()
    assert check.status == "claimed"
