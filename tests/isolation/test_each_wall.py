"""The isolation matrix with each wall between tenants alone.

tests/isolation/test_matrix.py asks as the owner of the tables, whom row-level security shows the rows of every tenant: there the
filters of engine.access are alone. Here everybody asks as the application's role, with every filter by tenant taken out of the
code: row-level security is alone. What a level may do is not judged then (a filter by tenant is part of some of those rules);
that nothing of the other tenant's is shown, changed or told from an unknown id is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zlib import crc32

import pytest

from engine.models import Task
from tests.application import as_application
from tests.isolation.query_parameters import every_parameter, walk_query_parameters
from tests.isolation.routes import every_route
from tests.isolation.scene import Stage
from tests.isolation.table import Table
from tests.isolation.walk import Ask, Browser, Walked, walk
from tests.without_filters import without_filters
from workflowplatform.database import tenancy

ROUTES = tuple(every_route())
TABLE = Table.read()
Record = Callable[[str, object], None]


@contextmanager
def row_level_security_alone() -> Iterator[None]:
    with as_application(), without_filters():
        yield


def told(walked: Walked) -> str:
    """Write what deviates, each on a line."""
    return "\n".join(["", *map(str, walked.deviations[:60]), f"{len(walked.deviations)} deviations"])


@pytest.mark.security("each wall between tenants holds alone")
def test_the_matrix_asks_as_the_owner_who_sees_every_tenant(committed_stage: Stage) -> None:
    """So what keeps tenants apart there are the filters; as the application the same question finds nothing."""
    tasks = Task.objects.filter(
        pk__in=(rows.named["task_id"] for rows in (committed_stage.ours, committed_stage.theirs))
    )
    assert tenancy.outside is tenancy.NOBODY
    assert tasks.count() == 2
    with as_application(outside=tenancy.NOBODY):
        assert tasks.count() == 0
        with tenancy.acting_for(committed_stage.ours.tenant.pk):
            assert tasks.count() == 1


@pytest.mark.slow
@pytest.mark.security("each wall between tenants holds alone")
def test_every_request_is_kept_apart_by_row_level_security_alone(
    committed_stage: Stage, record_property: Record
) -> None:
    with row_level_security_alone():
        walked = walk(Browser, committed_stage, ROUTES, table=TABLE, levels=False)
    record_property("figure", f"row-level security alone: {walked.figure()}, {len(walked.deviations)} deviations")
    assert walked.deviations == [], told(walked)
    assert walked.counts["requests"] > 12_000


@pytest.mark.slow
@pytest.mark.security("each wall between tenants holds alone")
def test_query_parameters_tell_nothing_behind_row_level_security_alone(
    committed_stage: Stage, record_property: Record
) -> None:
    with row_level_security_alone():
        walked = walk_query_parameters(Browser, committed_stage, every_parameter())
    record_property(
        "figure", f"query parameters, row-level security alone: {walked.figure()}, {len(walked.deviations)} deviations"
    )
    assert walked.deviations == [], told(walked)


def few(ask: Ask) -> bool:
    return ask.method == "GET" and ask.who.name == "acme5" and crc32(ask.route.address.encode()) % 16 == 0


@pytest.mark.security("each wall between tenants holds alone")
def test_without_both_walls_the_matrix_is_red(committed_stage: Stage) -> None:
    """The same walk finds the other tenant once neither wall is there: so it looks."""
    with without_filters():
        walked = walk(Browser, committed_stage, ROUTES, table=TABLE, levels=False, chosen=few)
    assert {deviation.kind for deviation in walked.deviations} >= {
        "showed the other tenant",
        "told foreign from random",
    }
