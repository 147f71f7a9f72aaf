"""No hot statement reads a table from end to end, however large it is and whatever the planner knows or knew of it."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection, transaction

from benchmarks.workflows import W1
from engine.dispatch.drain import drain
from engine.models import Instance, Task
from engine.runtime.claims import token_with
from engine.services.instances.lifecycle import start_instance
from engine.services.instances.repair import resume_instance, suspend_instance
from engine.services.instances.signals import send_keyed_signal
from engine.services.people.tokens import create_token
from engine.services.schedules.runner import due_schedules
from engine.services.tasks.comments import comment_task
from engine.services.tasks.drafts import save_task_draft
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.application import as_application
from tests.cast import Cast
from tests.coordinator import growth
from tests.coordinator.plan_watch import Watched, keep_plans, watched
from tests.short_way import short_way_only
from tests.workflows import activated, fall_due, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import User
from workflowplatform.database import tenancy
from workflowplatform.database.tenancy import acting_for
from workflowplatform.ids import uuid7

pytestmark = short_way_only

NAMED = """
workflow: named
title: For people by their names
steps:
  - id: all
    parallel:
      branches:
        a: [{id: first, task: {title: First, assignee: ada}}]
        b: [{id: second, task: {title: Second, roles: [finance, hr], users: [ada, uri]}, timeout: P1D, on_timeout: []}]
"""
SIGNED = """
workflow: signed
title: Signed by several
steps:
  - {id: sign, task: {title: Sign, users: [ada, adam], outcomes: [sign, refuse], complete_when: done == 2}}
"""
TIMER = """
workflow: timer
title: Timer
steps: [{id: pause, wait: {for: PT1H}}, {id: after, set: {done: true}}]
"""
CALL = """
workflow: call
title: Call
steps: [{id: ask, call: {python: {function: echo, args: {word: hi}}}}, {id: after, set: {done: true}}]
"""
LISTENING = """
workflow: listening
title: Listening
input: {type: object, properties: {order: {type: string}}}
steps: [{id: paid, signal: {name: paid, key: "${start.order}"}}, {id: after, set: {done: true}}]
"""
ROOM = """
workflow: room
title: Room
steps: [{id: talk, task: {title: Talk}, throttle: {key: room, limit: 1}}]
"""


@pytest.fixture
def staged(committed_cast: Cast, rows: int) -> Iterator[Cast]:
    """Provide two tenants in which everything has happened once, with plans kept and autovacuum out of the way."""
    with growth.past_months(36 if rows > LARGE else 2):
        yield from _staged(committed_cast)


def _staged(committed_cast: Cast) -> Iterator[Cast]:
    for source in (W1, NAMED, SIGNED, TIMER, CALL, LISTENING, ROOM):
        activated(committed_cast.actor("gwen"), source)
    growth.rest()
    _act(committed_cast)
    yield committed_cast
    connection.close()
    growth.empty()


def _act(cast: Cast) -> None:
    """Do everything that people wait for and that workers do all day."""
    with acting_for(cast.acme.pk):
        ada, adam = cast.actor("ada"), cast.actor("adam")
        _decide(ada)
        _answer_together(ada, adam)
        waiting = _start_waiting(ada)
        _hold_and_free(ada, waiting)
    for instance in waiting:
        fall_due(instance)
    drain()
    with transaction.atomic():
        due_schedules()


def _decide(ada: Actor) -> None:
    token_with(create_token(actor=ada, person=User.objects.get(username="ada"), name="mine")[0].digest)
    task_id = start_instance(actor=ada, template="w1", input={"amount": 1200}).tasks[0].pk
    claim_task(actor=ada, task_id=task_id)
    save_task_draft(actor=ada, task_id=task_id, values={"note": "so far"})
    comment_task(actor=ada, task_id=task_id, text="Looks good.")
    complete_task(actor=ada, task_id=task_id, outcome="approve", values={"note": "ok"})
    left = start_instance(actor=ada, template="w1", input={"amount": 9}).tasks[0].pk
    claim_task(actor=ada, task_id=left)
    save_task_draft(actor=ada, task_id=left, values={"note": "so far"})


def _answer_together(ada: Actor, adam: Actor) -> None:
    for task in Task.objects.open().filter(instance=started(ada, "named")).order_by("step"):
        complete_task(actor=ada, task_id=task.pk)
    task = only_task(started(ada, "signed"))
    for actor in (ada, adam):
        complete_task(actor=actor, task_id=task.pk, outcome="sign")


def _start_waiting(ada: Actor) -> list[Instance]:
    """Start instances that a worker continues, several of each kind, and one more of each that only waits."""
    order = str(uuid7())
    found = [started(ada, name) for name in ("timer", "timer", "call", "call", "room", "room")]
    found += [started(ada, "listening", order=order) for _ in range(2)]
    send_keyed_signal(actor=ada, name="paid", key=order, everybody=True)
    send_keyed_signal(actor=ada, name="paid", key=f"{order}, later", ttl="P1D")
    started(ada, "listening", order=f"{order}, later")
    send_keyed_signal(actor=ada, name="paid", key=f"{order}, never", ttl="P1D")
    started(ada, "timer")
    return found


def _hold_and_free(ada: Actor, instances: list[Instance]) -> None:
    for instance in instances[:2]:
        suspend_instance(actor=ada, instance_id=instance.pk)
        resume_instance(actor=ada, instance_id=instance.pk)


def _watch(cast: Cast) -> Watched:
    with watched() as found:
        _act(cast)
    return found


KNOWN: dict[str, Callable[[], None]] = {
    "stale": lambda: None,
    "missing": growth.forget_statistics,
    "fresh": growth.analyze,
}
"""What the planner may know of the tables after they have grown, in this order."""
PLANNED_ANEW = {"wf_memberships", "wf_people", "wf_task_drafts", "wf_places", "wf_kept_signals"}
"""Tables that Django's own statements read: planned each time, so that their plans are as good as the statistics."""

FEW = 1_000
LARGE = 5_000
"""From here on a plan for one execution is judged as well: a whole read costs more than lookups."""


@pytest.mark.parametrize("rows", [50, 5_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_no_hot_statement_reads_a_whole_table(staged: Cast, rows: int) -> None:
    growth.analyze()
    connection.close()
    keep_plans()
    assert _watch(staged).whole_reads(kept_only=True) == []
    small = _rows_read(staged)
    growth.grow(rows)
    planned_small = _watch(staged)
    assert len(planned_small.statements()) > 20
    assert planned_small.whole_reads(kept_only=rows < LARGE) == []
    assert _more_read(small, _rows_read(staged)).keys() <= PLANNED_ANEW
    for known, learn in KNOWN.items():
        learn()
        connection.close()
        keep_plans()
        assert (known, _watch(staged).whole_reads(kept_only=rows < LARGE)) == (known, [])
    assert _more_read(small, _rows_read(staged)) == {}


@pytest.mark.parametrize("rows", [50, 5_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_nor_does_it_for_the_application_behind_its_wall(staged: Cast, rows: int) -> None:
    growth.analyze()
    with as_application(outside=tenancy.NOBODY):
        keep_plans()
        assert _watch(staged).whole_reads(kept_only=True) == []
        growth.grow(rows)
        assert _watch(staged).whole_reads(kept_only=rows < LARGE) == []
        for known, learn in KNOWN.items():
            learn()
            connection.close()
            keep_plans()
            assert (known, _watch(staged).whole_reads(kept_only=rows < LARGE)) == (known, [])


def _more_read(small: dict[str, int], grown: dict[str, int]) -> dict[str, int]:
    """Return of which tables clearly more rows are read now that they have grown; the acts themselves leave a few."""
    return {table: count for table, count in grown.items() if count > 1.5 * small[table] + FEW}


def _rows_read(cast: Cast) -> dict[str, int]:
    """Count the rows that everything reads of each grown table: hot statements, the ORM's, triggers and foreign keys."""
    before = _counters()
    _act(cast)
    after = _counters()
    return {table: after[table] - before[table] for table in growth.GROWN}


READ = """
SELECT coalesce(pg_partition_root(relid), relid)::regclass::text, sum(seq_tup_read + idx_tup_fetch)
FROM pg_stat_user_tables WHERE idx_scan IS NOT NULL GROUP BY 1
"""


def _counters() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(READ)
        return {table: int(count) for table, count in cursor.fetchall()}
