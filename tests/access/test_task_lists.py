"""Lists read by walking offers show the same rows as the rule they replace, page by page in both directions."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from engine import access
from engine.access.task_filters import FILTERS, column_condition, columns_declared
from engine.db.keyset_pagination import URGENT, Cursor, Page
from engine.models import Task
from engine.services.tasks import lists as task_lists
from engine.services.tasks.lifecycle import claim_task
from engine.services.tasks.lists import MOST_COUNTED, TaskList, count_lists, list_named
from tests.cast import Cast
from tests.workflows import activated, hurried, only_task, started

TWICE = """
workflow: twice
starters: {min_level: 2}
input: {type: object, properties: {what: {type: string}, amount: {type: number}}}
reference: {key: "${'TW-' + start.what}"}
steps:
  - id: look
    task:
      title: "Look at ${start.what}"
      roles: [finance, management]
      users: [ada]
      columns: {amount: "${money(start.amount, 'EUR')}", what: "${start.what}"}
"""
PAGE = 4


@pytest.fixture
def tasks(cast: Cast) -> list[Task]:
    """Return tasks that are offered to Ada more than once, in every priority, with and without dates."""
    activated(cast.actor("gwen"), TWICE)
    some = [
        only_task(started(cast.actor("uri"), "twice", what=f"t{number}", amount=1000 * number)) for number in range(13)
    ]
    now = timezone.now()
    for number, task in enumerate(some):
        hurried(task, priority=number % 4, due_at=None if number % 3 == 0 else now + timedelta(days=number % 5 - 2))
    claim_task(actor=cast.actor("ada"), task_id=some[5].pk)
    claim_task(actor=cast.actor("ada"), task_id=some[6].pk)
    return some


def walked(asked: TaskList) -> list[Task]:
    """Read a list to its end, then back to its beginning, and see that both ways are the same."""
    pages = [asked.page(None, PAGE)]
    while pages[-1].next:
        pages.append(asked.page(pages[-1].next, PAGE))
    back: list[Page] = [pages[-1]]
    while back[-1].previous:
        back.append(asked.page(back[-1].previous, PAGE))
    assert [page.rows for page in reversed(back)] == [page.rows for page in pages]
    return [task for page in pages for task in page.rows]


@pytest.mark.parametrize("view", ["available", "overdue", "mine", "team"])
@pytest.mark.parametrize("name", ["ada", "adam", "uri", "sam"])
def test_a_walk_shows_what_the_rule_says(cast: Cast, tasks: list[Task], view: str, name: str) -> None:
    actor = cast.actor(name)
    asked = list_named(actor, view)
    assert walked(asked) == list(asked.view.rows(actor))


def test_narrowed_walks_show_what_fits(cast: Cast, tasks: list[Task]) -> None:
    ada = cast.actor("ada")
    conditions = [column_condition("column.amount.min", "4000"), FILTERS["priority"][1](["high", "critical"])]
    asked = list_named(ada, "available", conditions)
    assert walked(asked) == list(access.tasks_available(ada).filter(*conditions))
    assert [task.title for task in walked(asked)] == ["Look at t11", "Look at t7", "Look at t10"]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("column.what", "T1", ["t1", "t10", "t11", "t12"]),
        ("column.amount", "9,000", ["t9"]),
        ("column.amount.min", "11000", ["t11", "t12"]),
        ("column.amount.max", "1000.50", ["t0", "t1"]),
        ("column.nobody", "x", []),
        ("column.what.min", "12", ["t12"]),
    ],
)
def test_declared_columns_are_asked_for_by_words_and_numbers(
    cast: Cast, tasks: list[Task], name: str, text: str, found: list[str]
) -> None:
    rows = access.tasks_team(cast.actor("gwen")).filter(column_condition(name, text))
    assert [task.columns["what"] for task in rows.order_by("id")] == found


@pytest.mark.parametrize(
    ("name", "text"), [("column.", "x"), ("column.a.b", "x"), ("column.a.min", "x"), ("column.a.max", "NaN")]
)
def test_what_is_no_column_is_no_condition(name: str, text: str) -> None:
    with pytest.raises(ValueError):
        column_condition(name, text)


def test_columns_are_found_in_a_definition_wherever_its_tasks_stand(cast: Cast) -> None:
    version = activated(cast.actor("gwen"), TWICE)
    assert columns_declared(version.canonical) == ["amount", "what"]


def test_many_lists_are_counted_in_one_query(
    cast: Cast, tasks: list[Task], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ada = cast.actor("ada")
    lists = {name: list_named(ada, name) for name in ("mine", "available", "team", "overdue", "done", "snoozed")}
    with django_assert_num_queries(1):
        counts = count_lists(ada, lists)
    assert counts == {"mine": 2, "available": 11, "team": 13, "overdue": 6, "done": 0, "snoozed": 0}
    assert MOST_COUNTED == 100


@pytest.mark.parametrize("view", ["available", "overdue", "team"])
def test_a_list_that_nothing_can_fit_is_empty_and_counts_nothing(cast: Cast, tasks: list[Task], view: str) -> None:
    ada = cast.actor("ada")
    asked = list_named(ada, view, [Q(pk__in=())])
    assert asked.opening(PAGE) == (0, Page([], None, None))
    assert count_lists(ada, {"nothing": asked}) == {"nothing": 0}


def test_a_task_offered_in_several_ways_counts_once_towards_the_cap(
    cast: Cast, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = cast.actor("ada")
    monkeypatch.setattr(task_lists, "MOST_COUNTED", 7)
    asked = list_named(ada, "available")
    count, page = asked.opening(PAGE)
    assert (count, page.rows) == (8, list(access.tasks_available(ada)[:PAGE]))
    assert count_lists(ada, {"all": asked}) == {"all": 8}


def test_a_page_costs_two_queries_wherever_it_begins(
    cast: Cast, tasks: list[Task], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    asked = list_named(cast.actor("ada"), "available")
    cursor: Cursor | None = None
    for _page in range(3):
        with django_assert_num_queries(2):
            cursor = asked.page(cursor, PAGE).next
    assert asked.order is URGENT


def test_an_offer_follows_its_task(cast: Cast, tasks: list[Task]) -> None:
    ada, task = cast.actor("ada"), tasks[4]
    hurried(task, priority=3, due_at=timezone.now() - timedelta(days=30))
    assert list_named(ada, "available").page(None, 1).rows == [task]
