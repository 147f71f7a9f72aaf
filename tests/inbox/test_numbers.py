"""Numbers in the reader's language: what pages print can be typed, and what is not written that way is refused, never guessed."""

import re

import pytest
from django import forms
from django.test import Client
from django.utils import translation

from engine.kernel.forms import check_values
from engine.models import Task
from engine.presentation.forms import numbers
from engine.presentation.forms.error_messages import said_of
from engine.presentation.forms.fields import initial_of
from engine.presentation.forms.schema import layout_of
from engine.services.tasks.lifecycle import claim_task
from engine.storage.attachments import spell_size
from tests.cast import Cast
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started

READ = {
    "en": {
        "1250": 1250, "1,234": 1234, "1,234.50": 1234.5, "1234.5": 1234.5, ".5": 0.5, "-3": -3, "1 234.50": 1234.5,
        "12,345,678.9": 12345678.9, "1'234.50": 1234.5, "5.": 5.0,
    },
    "de": {
        "1250": 1250, "1.234": 1234, "1.234,50": 1234.5, "1234,5": 1234.5, ",5": 0.5, "-3": -3, "1 234,50": 1234.5,
        "12.345.678,9": 12345678.9,
    },
}  # fmt: skip
REFUSED = {
    "en": [
        "1250,50",
        "12,5",
        "1.234,50",
        "1,23",
        "1.2.3",
        "1,2345",
        "",
        "abc",
        "1,234,56",
        "1,234 567",
        "--1",
        "1e5",
        "NaN",
        "٣",
    ],
    "de": ["1250.50", "12.5", "1,234.50", "17.283.00", "1,2,3", "1.2345", "", "abc", "1.23"],
}


@pytest.mark.parametrize(("language", "text"), [(language, text) for language in READ for text in READ[language]])
def test_what_the_language_writes_is_read(language: str, text: str) -> None:
    with translation.override(language):
        found = numbers.read_number(text)
    assert (found, type(found)) == (READ[language][text], type(READ[language][text]))


@pytest.mark.parametrize(("language", "text"), [(language, text) for language in REFUSED for text in REFUSED[language]])
def test_what_it_does_not_write_is_refused_with_an_example(language: str, text: str) -> None:
    example = {"en": "1,250.50", "de": "1.250,50"}[language]
    with translation.override(language), pytest.raises(forms.ValidationError) as refusal:
        numbers.read_number(text)
    assert example in str(refusal.value)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("value", [0, 1, 12.5, 1234, 1234.5, 0.004, 18240.04, 1234567.89, -3.25])
def test_what_pages_print_and_fields_show_can_be_typed_again(language: str, value: float) -> None:
    amount = layout_of({"type": "object", "properties": {"a": {"type": "number", "x-unit": "€"}}})[0]
    plain = layout_of({"type": "object", "properties": {"a": {"type": "number"}}})[0]
    with translation.override(language):
        assert numbers.read_number(numbers.measure_text(value)) == value
        assert numbers.read_number(initial_of(plain, value)) == value
        assert numbers.read_amount(initial_of(amount, value)) == value


MEANT = {
    ("en", "1250,50"): "1,250.50",
    ("en", "1.234,50"): "1,234.50",
    ("de", "17.283.00"): "17.283,00",
    ("de", "1,234.50"): "1.234,50",
    ("de", "12.5"): "12,50",
    ("de", "1'234.5"): "1.234,50",
}


@pytest.mark.parametrize(("language", "text"), list(MEANT))
def test_what_another_language_writes_is_refused_with_what_it_would_be_here(language: str, text: str) -> None:
    with translation.override(language), pytest.raises(forms.ValidationError) as refusal:
        numbers.read_amount(text)
    assert refusal.value.code == "ambiguous"
    assert refusal.value.params == {"instead": MEANT[language, text]}
    with translation.override(language):
        assert numbers.read_amount(MEANT[language, text]) == numbers.read_number(MEANT[language, text])


@pytest.mark.parametrize(("language", "text", "meant"), [("en", "1.234", "1,234.00"), ("de", "1,234", "1.234,00")])
def test_an_amount_with_three_decimals_is_never_guessed(language: str, text: str, meant: str) -> None:
    with translation.override(language):
        assert numbers.read_number(text) == 1.234
        with pytest.raises(forms.ValidationError) as refusal:
            numbers.read_amount(text)
    assert refusal.value.params == {"instead": meant}


def test_a_whole_number_in_another_languages_signs_names_what_was_meant() -> None:
    with translation.override("de"), pytest.raises(forms.ValidationError) as refusal:
        numbers.read_whole("12,345,678")
    assert refusal.value.params == {"instead": "12.345.678"}


def test_limits_and_sizes_are_told_in_the_readers_language() -> None:
    _values, (error,) = check_values({"type": "object", "properties": {"a": {"maximum": 12500.5}}}, {"a": 20000})
    with translation.override("de"):
        assert "12.500,5" in said_of(error)
        assert spell_size(3_251_000) == "3,1 MB"


def test_an_amount_stands_with_its_unit_as_the_language_writes_it() -> None:
    with translation.override("en"):
        assert numbers.measure_text(-18240, "€") == "-€18,240.00"
    with translation.override("de"):
        assert numbers.measure_text(-18240, "€") == "-18.240,00\u00a0€"


PAY = """
workflow: pay
title: Pay
input: {type: object, properties: {sum: {type: number, x-unit: €}}}
steps:
  - id: approve
    task:
      title: Approve
      payload: {sum: "${start.sum}"}
      form:
        type: object
        required: [paid]
        properties:
          paid: {type: number, title: Paid, x-unit: €}
          second:
            type: object
            title: Second payment
            required: [amount]
            properties: {amount: {type: number, title: Amount}, day: {type: string, format: date}}
"""


@pytest.fixture
def task(cast: Cast) -> Task:
    activated(cast.actor("gwen"), PAY)
    return only_task(started(cast.actor("gwen"), "pay", sum=1234.5))


def in_german(browser: SignIn) -> Client:
    client = browser("ada")
    client.cookies["django_language"] = "de"
    return client


def test_a_german_who_types_1_234_pays_1234(task: Task, browser: SignIn) -> None:
    client = in_german(browser)
    assert "1.234,50" in client.get(f"/inbox/tasks/{task.pk}/").content.decode()
    refused = client.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "done", "f.paid": "12.50"})
    assert "1.250,50" in refused.content.decode()
    client.post(f"/inbox/tasks/{task.pk}/complete/", {"outcome": "done", "f.paid": "1.234"})
    task.refresh_from_db()
    assert task.answer == {"paid": 1234}


def test_a_section_that_may_be_left_out_says_so(cast: Cast, task: Task, browser: SignIn) -> None:
    claim_task(actor=cast.actor("ada"), task_id=task.pk)
    page = browser("ada").get(f"/inbox/tasks/{task.pk}/").content.decode()
    section = page.split("data-optional-section")[1].split("</legend>")[0]
    assert "wf-optional" in section


def test_a_section_that_was_begun_is_asked_for_the_rest(task: Task, browser: SignIn) -> None:
    client = browser("ada")
    sent = {"outcome": "done", "f.paid": "5", "f.second.day": "2026-11-30"}
    refused = client.post(f"/inbox/tasks/{task.pk}/complete/", sent)
    assert 'aria-invalid="true"' in refused.content.decode()
    task.refresh_from_db()
    assert task.status == "open"


def test_the_one_number_that_was_meant_is_one_press_away(task: Task, browser: SignIn) -> None:
    client, address = in_german(browser), f"/inbox/tasks/{task.pk}/complete/"
    refused = client.post(address, {"outcome": "done", "f.paid": "17.283.00"}).content.decode()
    assert 'value="use 17.283,00 f.paid"' in refused
    used = client.post(address, {"rows": "use 17.283,00 f.paid", "f.paid": "17.283.00"}).content.decode()
    assert re.search(r'name="f.paid" value="17.283,00"', used)
    task.refresh_from_db()
    assert task.status == "open"
