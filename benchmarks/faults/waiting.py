"""Start instances and wait for their end, as a trial does, outliving servers that are away."""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from engine.models import DeadLetter, Instance, Signal
from tests.cast import Cast, create_cast
from tests.workflows import activated, started

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds until something counts as stuck; nothing is judged by being slow."""

STEADY = """
workflow: steady
title: Steady
input: {type: object, properties: {n: {type: integer}}}
steps:
  - {id: pause, wait: {for: PT0.05S}}
  - {id: note, set: {n: "${start.n + 1}"}}
  - {id: rest, wait: {for: PT0.05S}}
  - {id: last, set: {done: true}}
"""
"""Two timers: everything after the start is done by a worker, by two signals."""


def a_house(*sources: str) -> Cast:
    """Create the cast and activate these templates, in any database and at any time."""
    cast = create_cast()
    for source in sources or (STEADY,):
        activated(cast.actor("gwen"), source)
    return cast


def start_steady(cast: Cast, number: int) -> list[UUID]:
    """Start so many."""
    ada = cast.actor("ada")
    return [started(ada, "steady", n=n).pk for n in range(number)]


def outlasting(act: Callable[[], T]) -> T:
    """Do it, again and again while the database is away."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except (OperationalError, InterfaceError):
            connection.close()
            if time.monotonic() > give_up:
                raise
            time.sleep(0.02)


def wait_until(is_so: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Look until it is so; tell whether it ever was."""
    give_up = time.monotonic() + patience
    while not outlasting(is_so):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def wait_for_ends(patience: float = PATIENCE) -> bool:
    """Wait until no instance is under way any more."""
    return wait_until(lambda: not Instance.objects.live().exists(), patience)


MISCOUNTED = """
SELECT i.id, r.applied, s.runs, i.state::text FROM wf_instances i
JOIN wf_templates t ON t.id = i.template_id AND t.name = 'steady'
CROSS JOIN LATERAL (SELECT count(*) AS applied FROM wf_signal_receipts
                    WHERE instance_id = i.id AND disposition = 'applied') r
CROSS JOIN LATERAL (SELECT count(*) AS runs FROM wf_steps WHERE instance_id = i.id) s
WHERE (r.applied, s.runs) <> (2, 4)
   OR i.state <> jsonb_build_object('n', (i.input->>'n')::int + 1, 'done', true)
"""


def steady_faults(instance_ids: Iterable[UUID]) -> tuple[str, ...]:
    """Describe each steady instance that is lost, doubled or stuck."""
    ended = set(Instance.objects.filter(status="completed").values_list("pk", flat=True))
    faults = [f"{lost} was answered and is not there or not at its end" for lost in set(instance_ids) - ended]
    with connection.cursor() as cursor:
        cursor.execute(MISCOUNTED)
        faults += [f"{one}: {applied} signals applied, {runs} steps run, {state}"
                   for one, applied, runs, state in cursor.fetchall()]  # fmt: skip
    if left := Signal.objects.filter(instance__template__name="steady").count():
        faults.append(f"{left} signals are left")
    if dead := DeadLetter.objects.count():
        faults.append(f"{dead} dead letters")
    return tuple(faults)
