"""The lists: who sees which rows, in which order, at which cost."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine.models import Task
from engine.presentation.narrative.relative_times import due_words
from engine.services.people.accounts import create_person
from engine.services.tasks.lifecycle import claim_task, complete_task
from tasks_inbox.presenters.lists import PAGE
from tests.cast import Cast
from tests.hooks import element, value
from tests.inbox.conftest import OWN, SignIn
from tests.services.test_deputies import away
from tests.workflows import activated, hurried, only_task, started


def titles(client: Client, address: str) -> list[str]:
    html = client.get(address).content.decode()
    return re.findall(r'class="wf-row__title"[^>]*>([^<]*)<', html)


def some_tasks(cast: Cast, count: int) -> list[Task]:
    uri = cast.actor("uri")
    return [only_task(started(uri, "review", what=f"trip {number}", amount=number + 1)) for number in range(count)]


def test_available_shows_what_one_may_claim_and_mine_what_one_claimed(cast: Cast, review: str, browser: SignIn) -> None:
    first, second = some_tasks(cast, 2)
    claim_task(actor=cast.actor("ada"), task_id=first.pk)
    ada = browser("ada")
    assert titles(ada, "/inbox/") == [first.title]
    assert titles(ada, "/inbox/?view=available") == [second.title]


def test_team_shows_everything_open_from_level_four_on(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 2)
    assert len(titles(browser("adam"), "/inbox/?view=team")) == 2
    uri = browser("uri").get("/inbox/?view=team").content.decode()
    assert "view=team" not in uri
    assert value("empty", uri) == "mine"


def test_done_shows_what_one_completed(cast: Cast, review: str, browser: SignIn) -> None:
    task = some_tasks(cast, 1)[0]
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert titles(browser("ada"), "/inbox/?view=done") == [task.title]
    assert titles(browser("adam"), "/inbox/?view=done") == []


def test_overdue_shows_only_what_is_late(cast: Cast, review: str, browser: SignIn) -> None:
    late, _calm = some_tasks(cast, 2)
    hurried(late, due_at=timezone.now() - timezone.timedelta(hours=2))
    ada = browser("ada")
    assert titles(ada, "/inbox/?view=overdue") == [late.title]
    assert due_words(late.due_at, timezone.now()).words in ada.get("/inbox/?view=overdue").content.decode()


def test_search_finds_title_and_reference(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 3)
    ada = browser("ada")
    assert titles(ada, "/inbox/?view=available&q=TRIP+1") == ["Review trip 1"]
    assert titles(ada, "/inbox/?view=available&q=EXP-trip+2") == ["Review trip 2"]
    assert value("empty", ada.get("/inbox/?view=available&q=nowhere")) == "search"


def test_search_that_finds_nothing_under_filters_can_be_taken_away_like_them(
    cast: Cast, review: str, browser: SignIn
) -> None:
    some_tasks(cast, 1)
    html = browser("ada").get("/inbox/?view=available&role=finance&q=nowhere").content.decode()
    away = re.search(r'href="(\?[^"]*)" data-act="remove_search"', html)
    assert away
    assert titles(browser("ada"), f"/inbox/{away[1].replace('&amp;', '&')}") == ["Review trip 0"]


def test_empty_available_does_not_speak_of_these(cast: Cast, browser: SignIn) -> None:
    html = browser("ada").get("/inbox/?view=available").content.decode()
    assert value("empty", html) == "available"
    assert re.sub(r"<[^>]*>", "", element("data-list-sentence", html)).strip() == ""


def test_filter_by_workflow(cast: Cast, review: str, browser: SignIn) -> None:
    some_tasks(cast, 1)
    activated(cast.actor("gwen"), OWN)
    started(cast.actor("ada"), "own")
    adam = browser("adam")
    assert titles(adam, "/inbox/?view=team&template=own") == ["Fill it in"]


@pytest.mark.parametrize("broken", ["x", "1~2~3", "~~", "9~2026-01-01~not-an-id"])
def test_broken_marks_in_the_address_begin_at_the_start(cast: Cast, review: str, browser: SignIn, broken: str) -> None:
    task = some_tasks(cast, 1)[0]
    assert titles(browser("ada"), f"/inbox/?view=available&after={broken}") == [task.title]


def test_pages_walk_through_every_task_once_in_order(cast: Cast, review: str, browser: SignIn) -> None:
    tasks = some_tasks(cast, PAGE + 3)
    now = timezone.now()
    for number, task in enumerate(tasks):
        due_at = None if number % 3 == 0 else now + timezone.timedelta(days=number % 4)
        hurried(task, priority=number % 4, due_at=due_at)
    ada = browser("ada")
    first = ada.get("/inbox/?view=available")
    mark = re.search(r"after=([^\"&]+)", first.content.decode())
    assert mark
    walked = titles(ada, "/inbox/?view=available") + titles(ada, f"/inbox/?view=available&after={mark[1]}")
    expected = Task.objects.filter(pk__in=[task.pk for task in tasks]).urgent_first().values_list("title", flat=True)
    assert walked == list(expected)


def test_list_costs_the_same_for_one_row_and_for_many(
    cast: Cast, review: str, browser: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada = browser("ada")
    some_tasks(cast, 1)
    for count in (0, 6):
        some_tasks(cast, count)
        with django_assert_num_queries(14):
            ada.get("/inbox/?view=available")


def test_empty_mine_says_what_was_done_and_what_else_is_open(cast: Cast, review: str, browser: SignIn) -> None:
    done, _open = some_tasks(cast, 2)
    complete_task(actor=cast.actor("ada"), task_id=done.pk, outcome="approve", values={"note": "ok"})
    following = only_task(done.instance)
    complete_task(actor=cast.actor("ada"), task_id=following.pk)
    html = browser("ada").get("/inbox/").content.decode()
    assert value("empty", html) == "mine"
    assert (value("done-today", html), value("available", html)) == ("2", "1")


def test_strangers_are_sent_to_sign_in(cast: Cast, review: str) -> None:
    task = some_tasks(cast, 1)[0]
    for address in ("/inbox/", "/inbox/start/", f"/inbox/tasks/{task.pk}/", f"/inbox/instances/{task.instance_id}/"):
        answer = Client().get(address)
        assert answer.status_code == 302
        assert answer["Location"] == f"/accounts/login/?next={address}"


def test_list_costs_the_same_however_many_are_away_and_however_much_is_theirs(
    cast: Cast, django_assert_max_num_queries: Any
) -> None:
    """A deputy's lists: one absent person or three, one task or many of each."""
    gwen = cast.actor("gwen")
    names = ("nora", "olaf", "pia")
    for name in ("mira", *names):
        create_person(actor=None, tenant=cast.acme, name=name, level=3, roles=("finance",), email=f"{name}@a.example")
    activated(gwen, FOR_EACH)
    mira, costs = Client(), []
    mira.force_login(cast.acme.people.get(username="mira"))
    for absent in names:
        away(gwen, absent, "mira")
        for count in (1, 4):
            for name in names * count:
                started(gwen, "for-each", who=name)
            for view in ("mine", "available", "team"):
                with django_assert_max_num_queries(60) as asked:
                    assert mira.get(f"/inbox/?view={view}").status_code == 200
                costs.append((view, len(asked)))
    assert len(set(costs)) == 3, costs


FOR_EACH = """
workflow: for-each
title: For each
input: {type: object, properties: {who: {type: string}}}
steps:
  - parallel:
      branches:
        own: [{id: own, task: {title: Own, assignee: "${start.who}", min_level: 2}}]
        offer: [{id: offer, task: {title: Offer, users: ["${start.who}"], min_level: 2}}]
"""
