"""What an author writes is read in the reader's way on every surface: amounts, dates and people, in titles and other texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import translation

from engine.audit.chain import database_now
from engine.dispatch.notifications import send_notifications
from engine.models import Task
from engine.presentation.forms.numbers import amounts_said
from engine.services.notifications import sending
from engine.services.notifications.notify import News, notify_people
from engine.services.tasks.lifecycle import complete_task
from engine.services.tasks.mail_links import link_token
from tests.cast import Cast
from tests.hooks import text_of
from tests.inbox.conftest import SignIn
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import User
from workflowplatform.i18n.dates import date_format

BUY = """
workflow: buy
title: Buy
starters: {min_level: 2}
input:
  type: object
  required: [item, sum, by]
  properties:
    item: {type: string, title: Item}
    sum: {type: number, title: Sum, x-unit: €}
    by: {type: string, format: date, title: Wanted by}
case_title: "${start.item} for ${person(instance.started_by)}, ${money(start.sum, 'EUR')}"
reference: {key: "${'BUY-' + start.item}"}
steps:
  - id: approve
    task:
      title: "Approve ${money(start.sum, 'EUR')} by ${date(start.by)}"
      description: "${person(instance.started_by)} asks for ${money(start.sum, 'CHF')} until ${date(start.by)}."
      instructions: "At most ${money(20000, 'EUR')}, says ${person('adam')}."
      assignee: ada
      columns: {sum: "${money(start.sum, 'USD')}"}
      payload: {left: "${money(9876.5, 'EUR')}", sum: "${start.sum}", by: "${start.by}"}
      form:
        type: object
        properties: {granted: {type: number, title: Granted, x-unit: €, default: 1234.5}}
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
      comment: optional
  - id: order
    task: {title: Order it, roles: [support]}
"""
SUM = {"en": "17,283.00", "de": "17.283,00"}
LEFT = {"en": "9,876.50", "de": "9.876,50"}
MOST = {"en": "20,000.00", "de": "20.000,00"}
GRANTED = {"en": "1,234.50", "de": "1.234,50"}
AMOUNTS = (SUM, LEFT, MOST, GRANTED)
TYPED = {"en": "2,500.50", "de": "2.500,50"}
OTHER = {"en": "de", "de": "en"}
DAYS = {"en": "4 Dec 2026", "de": "4. Dez 2026"}

pytestmark = pytest.mark.parametrize("language", ["en", "de"])


@pytest.fixture
def task(cast: Cast) -> Task:
    User.objects.filter(username="uri").update(full_name="Uri Okafor")
    User.objects.filter(username="adam").update(full_name="Adam Novak")
    activated(cast.actor("gwen"), BUY)
    return only_task(started(cast.actor("uri"), "buy", item="Laptops", sum=17283, by="2026-12-04"))


def reading(client: Client, language: str) -> Client:
    client.cookies["django_language"] = language
    return client


def wrong_in(text: str, language: str) -> list[str]:
    """List the amounts that are written in the other language, and the marks that nobody should see."""
    return [one for one in (*(amount[OTHER[language]] for amount in AMOUNTS), "\u2063") if one in text]


ADDRESSES: dict[str, Callable[[Task], str]] = {
    "list": lambda _task: "/inbox/?view=mine",
    "task": lambda task: f"/inbox/tasks/{task.pk}/",
    "case": lambda task: f"/inbox/instances/{task.instance_id}/",
    "print": lambda task: f"/inbox/instances/{task.instance_id}/print/",
    "search": lambda _task: "/inbox/search/?q=Laptops",
}


@pytest.mark.parametrize("page", list(ADDRESSES))
def test_pages_write_amounts_as_their_reader_does(language: str, page: str, task: Task, browser: SignIn) -> None:
    text = text_of(reading(browser("ada"), language).get(ADDRESSES[page](task)))
    assert SUM[language] in text
    assert wrong_in(text.split("<main")[-1], language) == []


def test_a_task_says_all_of_its_texts_to_its_reader(language: str, task: Task, browser: SignIn) -> None:
    text = text_of(reading(browser("ada"), language).get(f"/inbox/tasks/{task.pk}/"))
    for words in (SUM[language], LEFT[language], MOST[language], GRANTED[language]):
        assert words in text
    assert "Uri Okafor" in text
    assert "Adam Novak" in text
    assert text.count(DAYS[language]) >= 2


def test_a_request_of_ones_own_is_written_that_way_too(language: str, cast: Cast, task: Task, browser: SignIn) -> None:
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"granted": 1234.5})
    client = reading(browser("uri"), language)
    for address in ("/inbox/started/", f"/inbox/instances/{task.instance_id}/"):
        text = text_of(client.get(address))
        assert SUM[language] in text
        assert wrong_in(text.split("<main")[-1], language) == []


def test_a_case_is_found_by_its_title(language: str, task: Task, browser: SignIn) -> None:
    client = reading(browser("uri"), language)
    assert str(task.instance_id) in text_of(client.get("/inbox/started/?q=laptops+buy"))
    assert str(task.instance_id) not in text_of(client.get("/inbox/started/?q=printers"))
    operator = reading(browser("ada"), language)
    assert str(task.instance_id) in text_of(operator.get("/admin/engine/instance/?q=laptops"))
    assert str(task.instance_id) not in text_of(operator.get("/admin/engine/instance/?q=printers"))


def test_the_page_of_a_mail_link_reads_and_writes_the_readers_numbers(language: str, cast: Cast, task: Task) -> None:
    User.objects.filter(username="ada").update(language=language)
    client, address = Client(), f"/inbox/answer/{link_token(person=cast.ada, task=task)}/"
    text = text_of(client.get(address))
    assert GRANTED[language] in text
    assert MOST[language] in text
    assert wrong_in(text, language) == []
    form = text.split('name="form" value="')[1].split('"')[0]
    client.post(address, {"form": form, "f.granted": TYPED[language], "outcome": "approve"})
    task.refresh_from_db()
    assert task.answer == {"granted": 2500.5}


def test_a_mail_writes_amounts_dates_and_names_for_its_reader(
    language: str, cast: Cast, task: Task, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.filter(username="ada").update(language=language)
    monkeypatch.setattr(sending, "SETTLING", sending.SETTLING * 0)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    news = News("assigned", "assigned:1", task.pk, task.instance_id, "gwen")
    notify_people([(news, cast.ada.pk)], database_now())
    send_notifications()
    (sent,) = [one for one in mail.outbox if one.to == ["ada@acme.example"]]
    for text in (str(sent.body), str(sent.alternatives[0][0])):
        assert SUM[language] in text
        assert LEFT[language] in text
        assert wrong_in(text, language) == []
    assert "Laptops for Uri Okafor" in sent.subject


WRITTEN = {
    "en": ["4 Dec 2026", "Fri 4 Dec", "Friday 4 December 2026, 09:05", "4", "09:05"],
    "de": ["4. Dez 2026", "Fr, 4. Dez", "Freitag, 4. Dezember 2026, 09:05", "4.", "09:05"],
}


def test_days_are_written_as_the_language_does(language: str) -> None:
    at, forms = datetime(2026, 12, 4, 9, 5, tzinfo=UTC), ("j M Y", "D j M", "l j F Y, H:i", "j", "H:i")
    with translation.override(language):
        assert [date_format(at, form) for form in forms] == WRITTEN[language]


def test_only_what_money_writes_is_an_amount(language: str) -> None:
    kept = ["v1.00", "1,264.5", "EUR 3", "€1264.50", "€1,26.50", "10.12.2026", "€1.264,50", "$1,000.00x"]
    with translation.override(language):
        for text in kept:
            assert amounts_said(text) == text
        said = {"en": "-€1,264.50, 12.00 CHF.", "de": "-1.264,50\u00a0€, 12,00 CHF."}
        assert amounts_said("-€1,264.50, 12.00 CHF.") == said[language]
