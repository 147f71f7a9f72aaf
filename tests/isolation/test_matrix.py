"""The isolation matrix: every route × method × everybody × {own, foreign, random}, against one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any
from zlib import crc32

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from engine.db.query_shapes import forget_shapes
from engine.models import Instance, Task
from tests.isolation.asking import names_rows, values_of
from tests.isolation.checksums import fingerprints, rows_written, tenant_tables
from tests.isolation.query_parameters import every_parameter, walk_query_parameters
from tests.isolation.routes import METHODS, Route, every_route
from tests.isolation.scene import Stage, Who
from tests.isolation.table import Table
from tests.isolation.walk import FOREIGN, OWN, RANDOM, Ask, Browser, Walked, undone, walk

ROUTES = tuple(every_route())
TABLE = Table.read()
Record = Callable[[str, object], None]


def without_a_line(routes: tuple[Route, ...]) -> set[tuple[str, str]]:
    """Name what the table does not know."""
    return {(method, route.address) for route in routes for method in route.methods} - set(TABLE.rows)


def told(walked: Walked) -> str:
    """Write what deviates, each on a line."""
    return "\n".join(["", *map(str, walked.deviations[:40]), f"{len(walked.deviations)} deviations"])


@pytest.mark.security("every route answers by one table")
def test_every_route_has_a_line_and_every_line_a_route() -> None:
    assert without_a_line(ROUTES) == set()
    assert set(TABLE.rows) - {(method, route.address) for route in ROUTES for method in route.methods} == set()
    assert len(ROUTES) > 300


def careless(request: HttpRequest, task_id: Any) -> HttpResponse:
    """Answer as a view does that forgot to ask whose a row is."""
    return HttpResponse(Task.objects.filter(pk=task_id).values_list("title", flat=True).first() or "", status=200)


@pytest.mark.security("every route answers by one table")
def test_a_route_without_a_line_is_red(stage: Stage, settings: Any) -> None:
    added = tuple(every_route([path("inbox/peek/<uuid:task_id>/", careless)]))
    assert without_a_line(added) == {("GET", "inbox/peek/<task_id>/"), ("POST", "inbox/peek/<task_id>/")}
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [path("inbox/peek/<uuid:task_id>/", careless)]})
    walked = walk(Browser, stage, added, table=TABLE, chosen=lambda ask: ask.who.name == "acme4")
    kinds = {deviation.kind for deviation in walked.deviations}
    assert kinds == {"answered otherwise", "told foreign from random"}


def one_of_each(ask: Ask) -> bool:
    """Choose for the short form: level 5 with foreign and random rows everywhere, one person with own rows per route."""
    turn = crc32(ask.route.address.encode())
    if ask.cell != OWN:
        return ask.who.name == ("globex5" if turn % 8 == 0 else "acme5")
    return ask.method == ask.route.methods[turn % len(ask.route.methods)] and ask.who.name == PEOPLE[turn % len(PEOPLE)]


PEOPLE = ("anonymous", *(f"acme{level}" for level in range(1, 7)), "service", "scope read", "scope operate", "globex4")


@pytest.mark.security("every route answers by one table")
def test_one_request_of_each_kind_is_answered_as_the_table_says(stage: Stage, record_property: Record) -> None:
    walked = walk(Browser, stage, ROUTES, table=TABLE, chosen=one_of_each)
    record_property("figure", f"isolation, short: {walked.figure()}, {len(walked.deviations)} deviations")
    assert walked.deviations == [], told(walked)
    assert {address for _, address in walked.seen} == {route.address for route in ROUTES}


@pytest.mark.slow
@pytest.mark.security("every route answers by one table")
def test_every_request_is_answered_as_the_table_says(stage: Stage, record_property: Record) -> None:
    walked = walk(Browser, stage, ROUTES, table=TABLE)
    record_property("figure", f"isolation: {walked.figure()}, {len(walked.deviations)} deviations")
    assert walked.deviations == [], told(walked)
    assert walked.counts["requests"] > 12_000


@pytest.mark.security("admin side routes tell nothing")
@pytest.mark.parametrize("every", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_query_parameters_tell_nothing_of_the_other_tenant(stage: Stage, record_property: Record, every: int) -> None:
    people = {"people": ("acme5",)} if every > 1 else {}
    walked = walk_query_parameters(Browser, stage, every_parameter()[::every], **people)  # type: ignore[arg-type]
    record_property("figure", f"query parameters: {walked.figure()}, {len(walked.deviations)} deviations")
    assert walked.deviations == [], told(walked)


ASKING_OTHERWISE = ("anonymous", "acme1", "acme5", "globex5", "service")
"""The people who ask by methods that a route does not know: one of each kind. Level 6 may see both tenants."""


@pytest.mark.slow
@pytest.mark.security("every route answers by one table")
def test_methods_that_a_route_does_not_know_are_refused_alike(stage: Stage, record_property: Record) -> None:
    """A page asks who comes before it looks at the method; HEAD reads like GET, and OPTIONS says what there is."""
    others = [replace(route, methods=route.others) for route in ROUTES if route.address.startswith(("api", "metrics"))]
    pages = [
        replace(route, methods=METHODS[2:]) for route in ROUTES if not route.address.startswith(("api", "metrics"))
    ]
    walked = walk(
        Browser,
        stage,
        [*others, *pages],
        table=TABLE,
        levels=False,
        chosen=lambda ask: ask.who.name in ASKING_OTHERWISE,
    )
    record_property("figure", f"other methods: {walked.figure()}, {len(walked.deviations)} deviations")
    assert walked.deviations == [], told(walked)
    wrote = {key: seen for key, answers in walked.seen.items() for seen in answers.values() if seen.wrote}
    assert {key: str(seen) for key, seen in wrote.items() if key[0] in ("HEAD", "OPTIONS", "PATCH")} == {}
    assert {name for answers in walked.seen.values() for name, _ in answers} == set(ASKING_OTHERWISE)


OPENED: tuple[tuple[str, Any], ...] = (
    ("engine.access.visible_instances", Instance),
    ("engine.access.instances.visible_instances", Instance),
    ("engine.access.visible_tasks", Task),
    ("engine.access.tasks.visible_tasks", Task),
)


@pytest.fixture
def statements_built_anew() -> Iterator[None]:
    """Keep no list's statement of the rules that held before this test, nor of those that it breaks."""
    forget_shapes()
    yield
    forget_shapes()


@pytest.mark.security("every route answers by one table")
@pytest.mark.usefixtures("statements_built_anew")
def test_the_matrix_is_red_without_the_wall(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove one filter of access: requests for the other tenant's rows are now answered."""
    for name, model in OPENED:
        monkeypatch.setattr(name, lambda actor, model=model: model.objects.all())
    wanted = (
        "api/v1/instances/<instance_id>/",
        "inbox/instances/<instance_id>/",
        "api/v1/tasks/<task_id>/",
        "api/v1/instances/",
    )
    routes = [route for route in ROUTES if route.address in wanted]
    walked = walk(
        Browser, stage, routes, table=TABLE, levels=False, chosen=lambda ask: ask.who.name in ("acme2", "acme5")
    )
    found = {(deviation.kind, deviation.ask.split()[1]) for deviation in walked.deviations}
    assert {("told foreign from random", address) for address in wanted[:3]} <= found
    assert ("showed the other tenant", "api/v1/instances/") in found


@pytest.mark.security("every route answers by one table")
def test_the_matrix_notices_a_row_of_the_other_tenant_that_changes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(who: Who) -> Any:
        ask = Browser(who)

        def asks(*request: Any) -> Any:
            Task.objects.filter(pk=stage.theirs.named["task_id"]).update(title="changed")
            return ask(*request)

        return asks

    routes = [route for route in ROUTES if route.address == "api/v1/tasks/"]
    walked = walk(write, stage, routes, table=TABLE, levels=False, chosen=lambda ask: ask.who.name == "acme5")
    assert [deviation.kind for deviation in walked.deviations] == ["changed the other tenant's rows"]
    assert walked.deviations[0].words == "wf_tasks"


def test_both_tenants_have_rows_wherever_a_tenant_can_have_some(stage: Stage) -> None:
    """Nothing is kept apart by chance: what a checksum compares is there."""
    empty = {table for table in tenant_tables() if not fingerprints(stage.theirs)[table][0]}
    assert empty <= {
        "wf_accepted_events", "wf_audit_anchors", "wf_audit_plain_ends", "wf_audit_redactions", "wf_erasures",
        "wf_calls", "wf_delivery_attempts", "wf_diagrams", "wf_effects", "wf_events",
        "wf_held_references", "wf_idempotency_keys", "wf_kept_signals", "wf_places", "wf_rates", "wf_retention_runs",
        "wf_schedule_fires", "wf_signal_receipts", "wf_turns", "wf_step_runs",
        "wf_notification_cursors",
    }  # fmt: skip
    counted = rows_written()
    Task.objects.filter(pk=stage.ours.named["task_id"]).update(title="x")
    assert rows_written() == counted + 1


TIMED = (
    "api/v1/instances/<instance_id>/", "api/v1/tasks/<task_id>/", "api/v1/webhooks/<webhook_id>/", "api/v1/people/<name>/",
    "inbox/tasks/<task_id>/", "admin/engine/instance/<object_id>/change/", "admin/accounts/user/<object_id>/change/",
)  # fmt: skip
ROUNDS, TRIES, RATIO, FLOOR = 4, 11, 2.0, 0.004
"""A read of a row that is there costs a quarter more than one that is not; a page more would be many times that."""


@pytest.mark.security("every route answers by one table")
def test_foreign_rows_take_about_as_long_as_random_ones(stage: Stage, record_property: Record) -> None:
    asker = Browser(next(who for who in stage.people if who.name == "acme5"))
    worst = 0.0
    for route in (route for route in ROUTES if route.address in TIMED):
        assert names_rows(route, "GET")
        places = {cell: values_of(rows, route, "GET") for cell, rows in ((FOREIGN, stage.theirs), (RANDOM, None))}
        for _ in range(ROUNDS):  # what others do on the machine hits one round, a route that tells hits all
            taken: dict[str, list[float]] = {cell: [] for cell in places}
            for _ in range(TRIES):
                for cell, values in places.items():
                    begun = time.perf_counter()
                    asker("GET", route.filled(values), None, False)
                    taken[cell].append(time.perf_counter() - begun)
            foreign, random = (median(taken[cell]) for cell in (FOREIGN, RANDOM))
            if is_alike := abs(foreign - random) < max(FLOOR, (RATIO - 1) * min(foreign, random)):
                break
        assert is_alike, (route.address, foreign, random)
        worst = max(worst, foreign / random, random / foreign)
    record_property("figure", f"foreign and random rows: medians differ by a factor of {worst:.2f} at most")


ODD = (
    "page=x",
    "page=0",
    "p=x",
    "after=x",
    "show=x",
    "format=x",
    "view=x",
    "q=%00",
    "s=a&page=99",
    "queue=x",
    "desc=x",
    "next=%00",
)


@pytest.mark.slow
@pytest.mark.security("every route answers by one table")
def test_odd_words_in_an_address_break_no_page(stage: Stage, record_property: Record) -> None:
    """Level 6 comes in everywhere, so whatever breaks, breaks for them."""
    asker = Browser(next(who for who in stage.people if who.name == "acme6"))
    broke, asked = [], 0
    for route in (route for route in ROUTES if "GET" in route.methods):
        address = route.filled(values_of(stage.ours, route, "GET"))
        for odd in ODD:
            with undone():
                answer = asker("GET", f"{address}?{odd}", None, False)
            asked += 1
            if answer.status >= 500 and answer.status not in (501, 503):
                broke.append((route.address, odd, answer.status))
    record_property("figure", f"odd addresses: {asked:,} requests, {len(broke)} broke")
    assert broke == []
