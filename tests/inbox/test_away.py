"""The away page shows what an absence brings about before it is entered, and writes nothing until it is saved."""

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from engine.services.people.accounts import create_person
from engine.services.people.tenants_and_roles import mark_role
from tests.cast import Cast
from tests.hooks import notices
from tests.inbox.test_handing_over import browser
from tests.services.test_absence_outlook import NAMED, PAIR
from tests.services.test_deputies import OWN_REQUEST, PERSONAL, away
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import Absence, Role, User

PATH = "/inbox/away/"


@pytest.fixture
def lea(cast: Cast) -> str:
    create_person(actor=None, tenant=cast.acme, name="lea", level=3, roles=("finance", "support"), email="l@a.example")
    return "lea"


@pytest.fixture
def ada(cast: Cast) -> Client:
    return browser("ada")


def asked(**words: Any) -> dict[str, Any]:
    monday = date(2990, 1, 1)
    return {"from": str(monday), "until": str(monday + timedelta(days=11)), "covers": "all", "check": "1", **words}


def found(answer: Any, hook: str) -> list[str]:
    return re.findall(rf'{hook}="([^"]*)"', answer.content.decode())


def errors(answer: Any) -> list[tuple[str, ...]]:
    return re.findall(r'data-error data-code="([^"]*)" data-field="([^"]*)"', answer.content.decode())


def test_check_warns_offers_a_deputy_and_writes_nothing(cast: Cast, ada: Client, lea: str) -> None:
    activated(cast.actor("gwen"), NAMED)
    alone = ada.post(PATH, asked(deputy=""))
    assert (alone.status_code, notices(alone)) == (200, ["nobody_left"])
    assert found(alone, "data-gap") == ["look"]
    assert found(alone, 'name="instead" value') == [lea]
    assert 'data-act="save_absence"' in alone.content.decode()
    cured = ada.post(PATH, asked(deputy="", instead=lea))
    assert (notices(cured), found(cured, "data-deputy")) == ([], [lea])
    assert not Absence.objects.exists()


def test_calendar_is_a_table_of_working_days(cast: Cast, ada: Client, lea: str) -> None:
    activated(cast.actor("gwen"), PAIR)
    answer = ada.post(PATH, asked(deputy=lea))
    page = answer.content.decode()
    days = page.count('<th scope="col"')
    assert 7 <= days <= 10
    assert page.count('data-state="away"') == days
    assert page.count('data-state="here"') == page.count('data-state="short"') == days
    assert found(answer, "<tr data-person") == ["ada", lea]


def test_absence_of_the_deputy_and_four_eyes_are_shown(cast: Cast, ada: Client, lea: str) -> None:
    activated(cast.actor("gwen"), OWN_REQUEST)
    task = only_task(started(cast.actor(lea), "own-request"))
    away(cast.actor("gwen"), lea, None, days=(1, 3))
    today = timezone.localdate()
    span = {"from": str(today), "until": str(today + timedelta(days=7))}
    answer = ada.post(PATH, asked(deputy=lea, **span))
    assert notices(answer) == ["deputy_away", "nobody_left"]
    assert found(answer, 'data-barred="[^"]*" data-code') == ["four_eyes"]
    assert str(task.pk) in answer.content.decode()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"until": "2989-01-01"}, ("order", "until")),
        ({"deputy": "adam"}, ("role", "deputy")),
        ({"covers": "some"}, ("required", "roles")),
        ({"requests": "some"}, ("required", "templates")),
        ({"open": "assign"}, ("required", "deputy")),
    ],
)
def test_what_is_wrong_is_said_at_its_field_before_and_after_saving(
    cast: Cast, ada: Client, lea: str, words: dict[str, str], error: tuple[str, str]
) -> None:
    activated(cast.actor("gwen"), NAMED)
    checked = ada.post(PATH, asked(**words))
    assert (checked.status_code, errors(checked)) == (200, [error])
    saved = ada.post(PATH, {key: value for key, value in asked(**words).items() if key != "check"})
    assert (saved.status_code, errors(saved), notices(saved)) == (400, [error], [error[0]])
    assert not Absence.objects.exists()


def test_overlap_leads_to_the_other_absence(cast: Cast, ada: Client, lea: str) -> None:
    other = away(cast.actor("ada"), "ada", lea, days=(2, 5))
    today = timezone.localdate()
    span = {"from": str(today + timedelta(days=4)), "until": str(today + timedelta(days=9))}
    answer = ada.post(PATH, asked(**span))
    assert errors(answer) == [("overlap", "from")]
    assert re.search(rf'href="{PATH}{other.pk}/"\s+data-act="change_clash"', answer.content.decode())


def test_days_are_shown_while_only_the_deputy_is_wrong(cast: Cast, ada: Client) -> None:
    answer = ada.post(PATH, asked(deputy="adam"))
    assert errors(answer) == [("role", "deputy")]
    assert found(answer, "<tr data-person") == ["ada"]


def test_days_that_are_not_complete_are_no_mistake(cast: Cast, ada: Client) -> None:
    answer = ada.post(PATH, asked(until=""))
    assert (answer.status_code, errors(answer), notices(answer)) == (200, [], [])


def test_only_some_roles_and_requests_are_chosen(cast: Cast, ada: Client, lea: str) -> None:
    activated(cast.actor("gwen"), NAMED)
    sent = asked(deputy=lea, covers="some", role=["finance"], requests="some", template=["named"])
    del sent["check"]
    assert ada.post(PATH, sent).status_code == 302
    made = Absence.objects.get()
    assert (made.roles, made.templates) == (["finance"], ["named"])
    changed = ada.get(f"{PATH}{made.pk}/").content.decode()
    assert 'value="named" checked' in changed
    assert ada.post(f"{PATH}{made.pk}/", {**sent, "covers": "all", "requests": "all"}).status_code == 302
    made.refresh_from_db()
    assert (made.roles, made.templates) == ([], [])


def test_confidential_roles_are_not_ticked(cast: Cast, ada: Client) -> None:
    assert 'name="covers" value="all" checked' in ada.get(PATH).content.decode()
    mark_role(actor=cast.actor("gwen"), role=Role.objects.get(tenant=cast.acme, name="support"), confidential=True)
    page = ada.get(PATH).content.decode()
    assert 'name="covers" value="some" checked' in page
    assert 'name="role" value="finance" checked' in page
    assert 'name="role" value="support">' in page
    assert "data-confidential" in page


def test_open_tasks_are_assigned_for_good(cast: Cast, ada: Client, lea: str) -> None:
    activated(cast.actor("gwen"), PERSONAL)
    task = only_task(started(cast.actor("gwen"), "personal"))
    sent = asked(deputy=lea, open="assign")
    del sent["check"]
    assert ada.post(PATH, sent).status_code == 302
    task.refresh_from_db()
    assert task.assignee == User.objects.get(username=lea)


def test_another_persons_days_take_their_roles(cast: Cast, lea: str) -> None:
    answer: HttpResponse = browser("gwen").get(PATH, {"person": lea, "from": "2990-01-01"})
    page = answer.content.decode()
    assert 'name="role" value="finance"' in page
    assert 'value="2990-01-01"' in page
    assert 'data-state="away"' not in page
