"""Acts over many rows: begun once, done by workers, a result for each row; two at once, killed, sent twice, other tenants."""

import os
import signal
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from engine.dispatch.drain import drain
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, BulkAct, BulkRow, DeadLetter, Instance
from engine.services.instances import bulk_operations
from engine.services.instances import repair as operations
from engine.services.instances.bulk_operations import (
    KINDS,
    begin_bulk_act,
    do_next_row,
    preview_bulk_act,
    progress_of,
    stop_bulk_act,
)
from engine.services.people import accounts as people
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.actor import Actor

BREAKS = """
workflow: breaks
title: Breaks
input: {type: object, properties: {over: {type: integer}}}
steps:
  - id: halve
    set: {half: "${100 / start.over}"}
  - id: after
    set: {done: true}
"""


def broken(gwen: Actor, count: int) -> list[UUID]:
    """Let some instances become incidents for one and the same cause."""
    activated(gwen, BREAKS)
    return [started(gwen, "breaks", over=0).pk for _ in range(count)]


def waiting(gwen: Actor, count: int) -> list[UUID]:
    """Let some instances wait for finance."""
    activated(gwen, APPROVAL)
    return [started(gwen, "approval", amount=number).pk for number in range(1, count + 1)]


def results(act: BulkAct) -> list[tuple[str, str]]:
    return list(act.rows.order_by("place").values_list("status", "message"))


def statuses(ids: list[UUID]) -> list[str]:
    return [Instance.objects.get(pk=pk).status for pk in ids]


def wrong(refusal: Invalid) -> list[tuple[str, str]]:
    """Return which fields are wrong, each with its code."""
    return [(error.path, error.code) for error in refusal.errors]


def test_a_drain_does_every_row_and_ends_the_act(gwen: Actor, ada: Actor) -> None:
    ids = broken(gwen, 12)
    act = begin_bulk_act(actor=ada, action="skip", subject_ids=ids, reason="known fault")
    assert statuses(ids) == ["incident"] * 12
    assert drain().rows == 12
    act.refresh_from_db()
    assert act.is_over
    assert statuses(ids) == ["completed"] * 12
    assert progress_of(act) == bulk_operations.Progress(12, 12, 0, 0)
    assert {row.cause for row in Audit.objects.filter(action="skip_step", subject_id__in=ids)} == {"known fault"}
    assert {row.actor_name for row in Audit.objects.filter(action="skip_step", subject_id__in=ids)} == {"ada"}


def test_skipping_many_gives_each_the_output(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 1) + broken(gwen, 1)
    act = begin_bulk_act(actor=ada, action="skip", subject_ids=ids, reason="x", arguments={"output": {"half": 2}})
    drain()
    assert [status for status, _ in results(act)] == ["refused", "done"]


def test_what_a_row_refuses_is_that_rows_result_and_stops_no_other(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 3)
    operations.suspend_instance(actor=gwen, instance_id=ids[1])
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids)
    drain()
    assert [status for status, _ in results(act)] == ["done", "refused", "done"]
    with pytest.raises(Conflict) as refusal:
        operations.suspend_instance(actor=ada, instance_id=ids[1])
    assert results(act)[1][1] == refusal.value.message


def test_beginning_twice_by_one_form_is_beginning_once(gwen: Actor, ada: Actor) -> None:
    ids, key = waiting(gwen, 2), uuid4()
    first = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids, key=key)
    assert begin_bulk_act(actor=ada, action="suspend", subject_ids=ids, key=key) == first
    assert BulkAct.objects.count() == 1
    with pytest.raises(Conflict):
        begin_bulk_act(actor=gwen, action="suspend", subject_ids=ids, key=key)


def test_another_tenants_key_and_rows_are_as_if_they_were_not_there(gwen: Actor, ada: Actor, sam: Actor) -> None:
    ids, key = waiting(gwen, 2), uuid4()
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids, key=key)
    for unseen in (ids, [uuid4()]):
        with pytest.raises(Invalid) as refusal:
            begin_bulk_act(actor=sam, action="cancel", subject_ids=unseen, reason="x")
        assert wrong(refusal.value) == [("rows", "required")]
        assert preview_bulk_act(actor=sam, action="cancel", subject_ids=unseen).total == 0
    for nobodys in (act.pk, uuid4()):
        with pytest.raises(NotFound):
            stop_bulk_act(actor=sam, act_id=nobodys)


def test_below_level_four_nobody_begins_one(gwen: Actor, cast: Cast) -> None:
    ids = waiting(gwen, 1)
    people.change_level(actor=None, person=cast.adam, level=3)
    with pytest.raises(Refused) as refusal:
        begin_bulk_act(actor=cast.actor("adam"), action="suspend", subject_ids=ids)
    assert refusal.value.facts["needed"] == 4


def test_rows_are_done_with_the_level_that_their_beginner_has_then(gwen: Actor, cast: Cast) -> None:
    ids = waiting(gwen, 2)
    act = begin_bulk_act(actor=cast.actor("adam"), action="suspend", subject_ids=ids)
    people.change_level(actor=None, person=cast.adam, level=3)
    do_next_row(act_id=act.pk)
    people.deactivate_person(actor=None, person=cast.adam)
    do_next_row(act_id=act.pk)
    assert statuses(ids) == ["running", "running"]
    assert [status for status, _ in results(act)] == ["refused", "refused"]
    assert "Adam" not in results(act)[0][1]
    assert "Adam" in results(act)[1][1]


def test_level_six_acts_in_the_tenant_that_it_chose(gwen: Actor, zoe: Actor, cast: Cast) -> None:
    ids = waiting(gwen, 1)
    begin_bulk_act(actor=zoe.within(cast.acme), action="cancel", subject_ids=ids, reason="asked to")
    drain()
    assert statuses(ids) == ["cancelled"]
    ended = Audit.objects.get(subject_id=ids[0], action="cancel_workflow")
    assert (ended.actor_name, ended.actor_level) == ("zoe", 6)


def test_a_reason_is_asked_for_where_work_is_lost(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 1)
    too_many = [UUID(int=n) for n in range(10_001)]
    asked: list[tuple[dict[str, Any], tuple[str, str]]] = [
        ({"action": "cancel", "subject_ids": ids, "reason": "  "}, ("reason", "required")),
        ({"action": "cancel", "subject_ids": ids, "reason": "x" * 501}, ("reason", "length")),
        ({"action": "delete", "subject_ids": ids}, ("action", "unknown")),
        ({"action": "suspend", "subject_ids": too_many}, ("rows", "length")),
    ]
    for given, error in asked:
        with pytest.raises(Invalid) as refusal:
            begin_bulk_act(actor=ada, **given)
        assert wrong(refusal.value) == [error]


def test_a_preview_says_what_will_be_refused_and_what_else_goes(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 3)
    operations.suspend_instance(actor=gwen, instance_id=ids[0])
    seen = preview_bulk_act(actor=ada, action="resume", subject_ids=[*ids, uuid4()])
    assert (seen.total, seen.fit, seen.unfit) == (3, 1, 2)
    assert seen.by_status == (("running", 2), ("suspended", 1))
    assert preview_bulk_act(actor=ada, action="cancel", subject_ids=ids).open_tasks == 3


def test_stopping_leaves_the_rest_undone(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 3)
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids)
    do_next_row(act_id=act.pk)
    assert stop_bulk_act(actor=gwen, act_id=act.pk).is_over
    drain()
    assert statuses(ids) == ["suspended", "running", "running"]
    assert [status for status, _ in results(act)] == ["done", "stopped", "stopped"]
    with pytest.raises(Conflict) as refusal:
        stop_bulk_act(actor=gwen, act_id=act.pk)
    assert refusal.value.code == "status"


def test_an_unforeseen_fault_in_one_row_is_told_and_stops_no_other(
    gwen: Actor, ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = waiting(gwen, 2)
    suspend = operations.suspend_instance

    def faulty(**given: object) -> Instance:
        if given["instance_id"] == ids[0]:
            raise KeyError("nobody foresaw this")
        return suspend(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(operations, "suspend_instance", faulty)
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids)
    drain()
    first, second = results(act)
    assert first == ("refused", bulk_operations.UNFORESEEN)
    assert second[0] == "done"


def test_a_settled_row_is_never_settled_again(gwen: Actor, ada: Actor) -> None:
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=waiting(gwen, 1))
    drain()
    with pytest.raises(IntegrityError, match="settled already"), transaction.atomic():
        BulkRow.objects.filter(bulk_act=act).update(status="refused")


def test_dead_letters_are_discarded_together(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 2)
    letters = [
        DeadLetter.objects.create(
            tenant_id=gwen.tenant_id,
            instance_id=pk,
            envelope={"id": str(uuid4()), "type": "TimerDue", "waiting_token": 1},
            reason="unreadable",
            node="n",
            at=Instance.objects.get(pk=pk).started_at,
        ).pk
        for pk in ids
    ]
    act = begin_bulk_act(actor=ada, action="discard", subject_ids=letters, reason="known")
    drain()
    assert [status for status, _ in results(act)] == ["done", "done"]
    assert not DeadLetter.objects.exists()


def test_every_act_says_how_it_is_done() -> None:
    assert all(kind.done and (kind.of_letters or kind.statuses) for kind in KINDS.values())


def test_a_worker_killed_within_a_row_leaves_it_to_the_next_and_nothing_is_done_twice(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    ids = waiting(gwen, 3)
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=ids)
    connection.close()
    child = os.fork()
    if child == 0:  # a worker that does one row, and dies with the second done and not committed
        try:
            do_next_row(act_id=act.pk)
            bulk_operations.database_now = lambda: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment,return-value]
            do_next_row(act_id=act.pk)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert sorted(status for status, _ in results(act)) == ["done", "waiting", "waiting"]
    drain()
    assert statuses(ids) == ["suspended"] * 3
    assert [status for status, _ in results(act)] == ["done"] * 3
    assert Audit.objects.filter(action="suspend_workflow", subject_id__in=ids).count() == 3


def test_answering_meanwhile_is_a_refusal_of_that_row(gwen: Actor, ada: Actor) -> None:
    ids = waiting(gwen, 2)
    act = begin_bulk_act(actor=ada, action="cancel", subject_ids=ids, reason="x")
    complete_task(
        actor=ada, task_id=only_task(Instance.objects.get(pk=ids[0])).pk, outcome="approve", values={"note": "ok"}
    )
    drain()
    assert statuses(ids) == ["completed", "cancelled"]
    assert [status for status, _ in results(act)] == ["refused", "done"]
