"""Let workers believe that it is an hour ago, or five days from now: only the database's clock decides."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import time_machine
from django.db import connection

from benchmarks.faults.crew import crew, work
from benchmarks.faults.redis_away import latest
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import STEADY, a_house, start_steady, steady_faults, wait_until
from engine.audit.chain import database_now
from engine.models import Instance, ScheduleFire
from engine.services.schedules.lifecycle import create_schedule
from tests.workflows import started

SKEWS = (timedelta(hours=-1), timedelta(days=5))
SOON, FAR = timedelta(seconds=5), timedelta(days=2)
SLACK = timedelta(seconds=2)
"""What an id may be off: a clock that is nearly right is followed as it is."""

PATIENT = """
workflow: patient
title: Patient
steps:
  - {id: stay, wait: {for: P2D}}
"""
PARENT = """
workflow: parent
title: Parent
steps:
  - {id: pause, wait: {for: PT0.05S}}
  - {id: child, workflow: {name: steady, input: {n: 1}}}
"""

EARLY = """
SELECT count(*) FROM wf_steps WHERE kind = 'wait' AND status = 'success' AND ended_at < started_at + interval '0.05 s'
"""

MOMENTS = {
    "wf_signal_receipts": ("at",),
    "wf_audit": ("at",),
    "wf_instances": ("started_at", "updated_at", "ended_at"),
    "wf_runtime_states": ("created_at", "updated_at", "completed_at"),
    "wf_schedule_fires": ("at",),
}
"""Everything that workers write a moment into."""

STRAY = "SELECT count(*) FROM {table} WHERE {column} NOT BETWEEN %(began)s AND %(ended)s"
STRAY_IDS = "SELECT count(*) FROM wf_instances WHERE id NOT BETWEEN %(first)s AND %(last)s"


def work_by_another_clock(skew: timedelta) -> None:
    """Be a worker whose machine is wrong about the time."""
    with time_machine.travel(datetime.now(UTC) + skew, tick=True):
        work()


def skew_workers(instances: int) -> Outcome:
    """Let only workers with wrong clocks run everything."""
    with crew() as hands:
        began, cast = database_now(), a_house(STEADY, PATIENT, PARENT)
        ada = cast.actor("ada")
        started(ada, "patient")
        create_schedule(actor=ada, template="steady", once_at=began + FAR)
        for skew in SKEWS:
            hands.fork(partial(work_by_another_clock, skew))
        ids = [*start_steady(cast, instances), started(ada, "parent").pk]
        create_schedule(actor=ada, template="steady", once_at=database_now() + SOON, input={"n": 5})
        ended = wait_until(_is_done)
        faults = [] if ended else ["not everything ended"]
        faults += [f"worker {pid} ended" for pid in hands.ended()]
        faults += [*steady_faults(ids), *_too_early(), *_strays(began, database_now())]
        return Outcome({"instances": len(ids), "latest s": latest(), "faults": len(faults)}, tuple(faults))


def _is_done() -> bool:
    """Return whether the schedule has started its instance, and only instances that wait for a far day are left."""
    fired = ScheduleFire.objects.filter(outcome="started").exists()
    return fired and not Instance.objects.live().exclude(template__name="patient").exists()


def _too_early() -> Iterator[str]:
    """Name what happened before its time: two days ahead for a worker that lives in five."""
    if Instance.objects.get(template__name="patient").is_over:
        yield "a timer of two days has fired"
    if ScheduleFire.objects.count() != 1:
        yield "the slot in two days was settled"
    if count := _count(EARLY):
        yield f"{count} timers were early"


def _strays(began: datetime, ended: datetime) -> Iterator[str]:
    """Name what was written with a moment of another clock, in columns and in ids."""
    for table, columns in MOMENTS.items():
        for column in columns:
            if count := _count(STRAY.format(table=table, column=column), began=began, ended=ended):
                yield f"{count} rows of {table} have a stray {column}"
    first, last = (UUID(int=int(at.timestamp() * 1000) << 80) for at in (began - SLACK, ended + SLACK))
    if count := _count(STRAY_IDS, first=first, last=last):
        yield f"{count} instances are out of order by their ids"


def _count(sql: str, **values: object) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.fetchone()[0])


SKEWED = Trial("clocks", "workers an hour behind and five days ahead change nothing", 10, 2_000, skew_workers)
TRIALS = (SKEWED,)
