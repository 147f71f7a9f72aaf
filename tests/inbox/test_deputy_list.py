"""What a deputy's lists say: for whom, until when, whose rows, and which of them are locked."""

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from engine.models import Task
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import complete_task
from tasks_inbox.presenters.lists import PAGE
from tests.cast import Cast
from tests.hooks import element, value, values
from tests.services.test_deputies import OWN_REQUEST, PERSONAL, away
from tests.workflows import activated, started

HERS = PERSONAL.replace("workflow: personal", "workflow: hers").replace("assignee: ada", "assignee: mira")
FOR_ADA = "/inbox/?view=mine&for=ada"


@pytest.fixture
def mira(cast: Cast) -> Client:
    """Give the browser of an admin with a task of her own, who stands in for Ada, who has one too."""
    person = create_person(
        actor=None, tenant=cast.acme, name="mira", level=4, roles=("finance", "support"), email="m@a.example"
    )
    for source in (PERSONAL, HERS, OWN_REQUEST):
        activated(cast.actor("gwen"), source)
    started(cast.actor("uri"), "personal")
    started(cast.actor("uri"), "hers")
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def away_ada(cast: Cast, mira: Client) -> None:
    away(cast.actor("ada"), "ada", "mira", note="Payment runs on Tuesdays.")


@pytest.mark.usefixtures("away_ada")
def test_lists_say_for_whom_one_stands_in_and_lead_to_what_that_means(mira: Client) -> None:
    for view in ("mine", "available"):
        banner = element('data-standing-in="ada"', mira.get(f"/inbox/?view={view}"))
        assert "Payment runs on Tuesdays." in banner
        assert 'href="/inbox/away/#for-ada" data-act="mandate"' in banner
    assert value("mandate", mira.get("/inbox/away/")) == "ada"


def test_people_who_stand_in_for_nobody_read_nothing_of_it(mira: Client) -> None:
    html = mira.get("/inbox/?view=mine").content.decode()
    assert "data-standing-in" not in html
    assert "data-whose" not in html
    assert "data-mandate" not in mira.get("/inbox/away/").content.decode()


@pytest.mark.usefixtures("away_ada")
def test_chips_narrow_the_list_to_ones_own_or_to_the_absent_persons(mira: Client) -> None:
    page = mira.get("/inbox/?view=mine")
    assert values("whose", page) == ["", "mira", "ada"]
    assert values("number", page) == ["2", "1", "1"]
    assert values("for", mira.get("/inbox/?view=mine&for=mira")) == []
    assert values("for", mira.get(FOR_ADA)) == ["ada"]
    assert 'name="for" value="ada"' in mira.get(FOR_ADA).content.decode()


@pytest.mark.usefixtures("away_ada")
def test_the_absent_persons_rows_are_paged(cast: Cast, mira: Client) -> None:
    for _each in range(PAGE):
        started(cast.actor("uri"), "personal")
    first = mira.get(FOR_ADA).content.decode()
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first)
    assert "for=ada" in following
    second = mira.get("/inbox/" + following.replace("&amp;", "&")).content.decode()
    assert (len(values("task", first)), len(values("task", second))) == (PAGE, 1)
    assert set(values("for", second)) == {"ada"}


@pytest.mark.usefixtures("away_ada")
def test_a_row_that_four_eyes_keep_from_the_deputy_says_why_and_who_can(cast: Cast, mira: Client) -> None:
    started(cast.actor("mira"), "own-request")
    page = mira.get(FOR_ADA).content.decode()
    assert page.count("data-locked") == 1
    said = element("data-locked", page)
    assert cast.adam.display_name in said
    assert "Mira" not in said
    assert not re.search(r"\bAda\b", said)


def test_a_row_that_the_absent_person_asked_for_is_locked_for_the_deputy(cast: Cast, mira: Client) -> None:
    started(cast.actor("ada"), "own-request")
    away(cast.actor("ada"), "ada", "mira")
    said = element("data-locked", mira.get(FOR_ADA))
    assert "Ada" in said
    assert cast.adam.display_name in said


@pytest.mark.usefixtures("away_ada")
def test_nothing_open_for_the_absent_person_is_said(cast: Cast, mira: Client) -> None:
    complete_task(actor=cast.actor("mira"), task_id=Task.objects.open().get(assignee=cast.ada).pk)
    assert value("empty", mira.get(FOR_ADA)) == "for"
    assert value("empty", mira.get("/inbox/?view=overdue&for=ada")) == "filters"


@pytest.mark.usefixtures("away_ada")
def test_a_deputys_list_costs_the_same_for_one_locked_row_and_for_many(
    cast: Cast, mira: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    started(cast.actor("mira"), "own-request")
    mira.get(FOR_ADA)
    with django_assert_max_num_queries(100) as few:
        mira.get(FOR_ADA)
    for _each in range(5):
        started(cast.actor("mira"), "own-request")
    with django_assert_max_num_queries(100) as many:
        page = mira.get(FOR_ADA)
    assert page.content.decode().count("data-locked") == 6
    assert len(many) == len(few)
