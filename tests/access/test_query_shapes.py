"""A list's SQL is built once for a shape: whatever values come after, the rows are those of a query built for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import Q
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from engine.access.task_filters import FILTERS, Asked
from engine.db import query_shapes
from engine.db.query_shapes import Build, Given, forget_shapes, read_rows
from engine.errors import NotFound
from engine.models import Task
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.tasks.lists import VIEWS, TaskList, count_lists, list_named
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, hurried, only_task, started
from workflowplatform.accounts.models import User


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Begin without a shape, and leave none that another test could find."""
    forget_shapes()
    yield
    forget_shapes()


@pytest.fixture
def tasks(cast: Cast) -> list[Task]:
    """Return tasks in both tenants, some claimed, some done, in every priority."""
    found = []
    for author, starter in (("gwen", "uri"), ("sam", "sam")):
        activated(cast.actor(author), APPROVAL)
        found += [only_task(started(cast.actor(starter), "approval", amount=number)) for number in range(1, 8)]
    for number, task in enumerate(found):
        hurried(
            task, priority=number % 4, due_at=timezone.now() + timedelta(days=number % 5 - 2) if number % 3 else None
        )
    for who, first in (("ada", 0), ("stan", 7)):
        for task in found[first : first + 2]:
            claim_task(actor=cast.actor(who), task_id=task.pk)
        complete_task(actor=cast.actor(who), task_id=found[first].pk, outcome="approve", values={"note": "ok"})
    return found


class Built:
    """How many queries the ORM built."""

    count = 0


@pytest.fixture
def built() -> Iterator[Built]:
    """Count them."""
    counted, build = Built(), SQLCompiler.as_sql

    def counting(self: Any, *args: Any, **kwargs: Any) -> Any:
        counted.count += 1
        return build(self, *args, **kwargs)

    with patch.object(SQLCompiler, "as_sql", counting):
        yield counted


def plainly(asked: TaskList) -> list[Task]:
    """Read a list as a query built for it alone."""
    return list(asked.rows().order_by(*(column.order() for column in asked.order)))


PEOPLE = ("gwen", "sam", "ada", "adam", "stan", "uri")


@pytest.mark.parametrize("view", VIEWS)
def test_people_of_one_shape_each_see_their_own(cast: Cast, tasks: list[Task], view: str) -> None:
    for name in (*PEOPLE, *PEOPLE):
        asked = list_named(cast.actor(name), view)
        assert asked.page(None, 50).rows == plainly(asked), name


VALUES: dict[str, tuple[str, str]] = {
    "template": ("approval", "nothing"),
    "reference": ("APP-3", "APP-4"),
    "reference_prefix": ("app-3", "a%"),
    "step": ("review", "nothing"),
    "type": ("x", "y"),
    "route": ("x", "y"),
    "status": ("open", "claimed,open"),
    "role": ("finance", "hr,finance"),
    "assignee": ("ada", "stan"),
    "priority": ("low", "high,critical"),
    "due": ("late", "none,late"),
    "person": ("ada", "st"),
    "starter": ("uri", "sam"),
    "age": ("day", "week"),
    "due_before": ("2001-01-01T00:00:00Z", "2100-01-01T00:00:00Z"),
    "due_after": ("2100-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
    "search": ("app-3", "view 4"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_finds_by_its_value_whatever_was_asked_before(cast: Cast, tasks: list[Task], name: str) -> None:
    read, condition = FILTERS[name]
    texts = (str(tasks[1].instance_id), str(tasks[2].instance_id)) if name == "instance" else VALUES[name]
    actor = cast.actor("ada")
    for view, text in product(("team", "available", "done"), (*texts, texts[0])):
        asked = list_named(actor, view, [Asked(name, read(text), condition)])
        assert asked.page(None, 50).rows == plainly(asked), (view, text)
        assert count_lists(actor, {"all": asked}) == {"all": len(plainly(asked))}


def test_a_pattern_takes_its_signs_for_what_they_are(cast: Cast, tasks: list[Task]) -> None:
    read, condition = FILTERS["reference_prefix"]
    ada = cast.actor("ada")
    found = [
        list_named(ada, "team", [Asked("reference_prefix", read(text), condition)]) for text in ("APP", "A%", "A_P")
    ]
    assert [bool(each.page(None, 50).rows) for each in found] == [True, False, False]


def test_the_next_page_begins_where_this_reader_was(cast: Cast, tasks: list[Task]) -> None:
    for name in ("gwen", "sam", "ada", "stan"):
        asked = list_named(cast.actor(name), "team")
        first = asked.page(None, 2)
        second = asked.page(first.next, 2)
        assert [*first.rows, *second.rows] == plainly(asked)[:4], name


def test_the_second_reader_of_a_shape_builds_no_query(cast: Cast, tasks: list[Task], built: Built) -> None:
    for actor in (cast.actor("gwen"), cast.actor("sam")):
        built.count = 0
        for view in VIEWS:
            list_named(actor, view, [Asked("template", "approval", FILTERS["template"][1])]).page(None, 5)
    assert built.count == 0


def test_a_query_with_a_moment_or_an_id_of_one_request_is_not_kept(cast: Cast, tasks: list[Task]) -> None:
    def read(*conditions: Q) -> list[Any]:
        def prepare(given: Given) -> Build:
            return lambda: Task.objects.filter(*conditions).values_list("pk")

        return read_rows("one name", prepare)

    assert read(Q(pk=tasks[0].pk)) == [(tasks[0].pk,)]
    assert read(Q(pk=tasks[1].pk)) == [(tasks[1].pk,)]
    assert read(Q(created_at__lt=datetime(2001, 1, 1, tzinfo=UTC))) == []
    assert len(read(Q(created_at__lt=datetime(2100, 1, 1, tzinfo=UTC)))) == len(tasks)
    assert set(query_shapes._kept.values()) == {None}


def test_a_condition_that_is_no_filter_is_built_for_its_request(cast: Cast, tasks: list[Task]) -> None:
    ada = cast.actor("ada")
    for task in tasks[1:4]:
        assert list_named(ada, "team", [Q(pk=task.pk)]).page(None, 5).rows == [task]


def test_the_number_of_shapes_is_bounded(cast: Cast, tasks: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_shapes, "MOST_SHAPES", 5)
    asked = list_named(cast.actor("ada"), "team")
    for limit in range(1, 20):
        assert len(asked.page(None, limit).rows) == min(limit, 6)
    assert len(query_shapes._kept) <= 5


def test_whether_a_clerk_sees_a_task_is_built_once_for_all_their_claims(cast: Cast, built: Built) -> None:
    activated(cast.actor("gwen"), APPROVAL.replace("roles: [finance]", "roles: [finance]\n      min_level: 2"))
    User.objects.filter(username="ada").update(level=2)
    first, second, last = (only_task(started(cast.actor("uri"), "approval", amount=number)) for number in (1, 2, 3))
    clerk, other = cast.actor("ada"), cast.actor("uri")
    before = built.count
    claim_task(actor=clerk, task_id=first.pk)
    once = built.count
    claim_task(actor=clerk, task_id=second.pk)
    assert before < once == built.count
    with pytest.raises(NotFound):
        claim_task(actor=other, task_id=last.pk)
