"""Two workers and two operators at once: every row is done once, and the slower operator is told so row by row."""

from functools import partial

from engine.dispatch.drain import drain
from engine.models import Audit, BulkRow, Instance
from engine.services.instances.bulk_operations import begin_bulk_act
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import APPROVAL, activated, started


def test_two_operators_and_three_workers_do_each_row_once(committed_cast: Cast) -> None:
    gwen, ada, adam = (committed_cast.actor(name) for name in ("gwen", "ada", "adam"))
    activated(gwen, APPROVAL)
    ids = [started(gwen, "approval", amount=number).pk for number in range(1, 25)]
    acts = at_once(
        [partial(begin_bulk_act, actor=who, action="cancel", subject_ids=ids, reason=who.name) for who in (ada, adam)]
    )
    at_once([drain] * 3)
    drain()
    assert set(Instance.objects.values_list("status", flat=True)) == {"cancelled"}
    assert Audit.objects.filter(action="cancel_workflow").count() == len(ids)
    rows = BulkRow.objects.filter(bulk_act__in=acts)
    assert rows.filter(status="done").count() == len(ids)
    refusals = rows.filter(status="refused")
    assert refusals.count() == len(ids)
    assert all("is cancelled" in row.message for row in refusals)
