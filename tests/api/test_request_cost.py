"""What a request costs the web process, counted in calls of functions: a time would depend on the machine."""

from __future__ import annotations

import cProfile
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test import override_settings

from benchmarks.web import Web
from engine.services.people.tokens import create_token
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, started

MOST_FIXED = 1_850
"""Calls of a request through everything in front of the views, to a view that does nothing."""
MOST_A_ROW = {"tasks/": 345, "tasks/?view=available": 365, "instances/": 490, "instances/?fields=id,status": 30}
"""Calls for each further row of a list; one of an instance includes its wait and its task."""


def calls_of(act: Callable[[], object]) -> int:
    """Count the calls of one request, the fifth: the first ones build what is kept."""
    for _ in range(4):
        act()
    profile = cProfile.Profile()
    profile.enable()
    act()
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.fixture
def web(committed_cast: Cast) -> Web:
    """Ask as Ada, who sees everything of Acme's."""
    activated(committed_cast.actor("gwen"), APPROVAL)
    return Web(create_token(actor=None, person=committed_cast.ada, name="tests")[1])


def test_what_every_request_costs(web: Web, record_property: Callable[[str, object], None]) -> None:
    with override_settings(ROOT_URLCONF="benchmarks.web"):
        calls = calls_of(lambda: web("GET", "nothing/"))
    record_property("figure", f"{calls} calls")
    assert calls <= MOST_FIXED


@pytest.mark.parametrize("path", MOST_A_ROW)
def test_what_each_row_of_a_list_costs(
    web: Web, committed_cast: Cast, path: str, record_property: Callable[[str, object], None]
) -> None:
    found = []
    for _ in range(2):
        for number in range(10):
            started(committed_cast.actor("uri"), "approval", amount=number + 1)
        found.append(calls_of(lambda: web("GET", path)))
    calls = (found[1] - found[0]) / 10
    record_property("figure", f"{path}: {calls:.0f} calls a row")
    assert calls <= MOST_A_ROW[path]


@pytest.mark.parametrize("path", ["tasks/", "tasks/?view=available", "tasks/?view=done", "instances/"])
def test_a_list_asked_for_again_builds_no_query(web: Web, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started_queries = []
    web("GET", path)
    build = SQLCompiler.as_sql
    monkeypatch.setattr(
        SQLCompiler, "as_sql", lambda self, *rest, **named: started_queries.append(self) or build(self, *rest, **named)
    )
    web("GET", path)
    assert started_queries == []
    assert connection.queries_log is not None
