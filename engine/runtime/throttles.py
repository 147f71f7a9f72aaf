"""Limit how many steps run at once under a key: `throttle`, over all instances of a tenant.

A row says that a step run asked for a slot, and when it got one. A slice writes and deletes the rows of its own instance with
all its others, as its snapshot says (engine.kernel.machine.throttle_slots), so that no slot leaks, whatever ends the step or the
worker. A slice that asked for a slot or left one takes the key's lock when its rows are written, last of all locks (a start holds
its limits' by then), counts the running steps, and gives the free slot to the oldest one waiting: a mark in the row and a signal
to the instance, whose next slice finds the mark. No instance is claimed here.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from engine.audit.chain import database_now
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import announce_on_commit
from engine.kernel.signals import SignalType
from engine.models import Place
from engine.runtime.projection import HELD_STATUSES, Stage
from engine.runtime.signal_routing import queue_signal

Key = tuple[UUID, str]

RUNNING = """
SELECT count(*) FROM wf_places p JOIN wf_instances i ON i.id = p.instance_id
WHERE p.tenant_id = %(tenant)s AND p.key = %(key)s AND p.let_in_at IS NOT NULL AND i.status <> ALL(%(still)s)
"""
LINE = """
SELECT p.instance_id, p.run, p.most FROM wf_places p JOIN wf_instances i ON i.id = p.instance_id
WHERE p.tenant_id = %(tenant)s AND p.key = %(key)s AND p.let_in_at IS NULL AND i.status <> ALL(%(still)s)
ORDER BY p.asked_at, p.instance_id, p.run LIMIT %(many)s FOR UPDATE OF p SKIP LOCKED
"""
"""A locked row is about to be deleted, and the transaction that deletes it looks at the queue too."""
LET_IN = "UPDATE wf_places SET let_in_at = %s WHERE instance_id = %s AND run = %s"
LOOKED_AT = 50


def runs_let_in(instance_id: UUID) -> frozenset[int]:
    """Return the runs of an instance that have a slot."""
    let_in = Place.objects.filter(instance_id=instance_id, let_in_at__isnull=False)
    return frozenset(let_in.values_list("run", flat=True))


def let_in_next(stages: Sequence[Stage]) -> int:
    """Admit the steps that have room now that these slices are written; return how many. They asked for slots, or left them."""
    keys = {(stage.loaded.tenant_id, key) for stage in stages for key in _concerned(stage)}
    return _let_in(keys, stages[0].now) if keys else 0


def _concerned(stage: Stage) -> set[str]:
    """Return the keys of places that a slice waits for or leaves; all its keys if it stops or resumes."""
    before, after = stage.places_before, stage.places_after
    if stage.is_held != (stage.loaded.status in HELD_STATUSES):
        return {place.key for places in (before, after) for place in places.values()}
    left = {place.key for run, place in before.items() if run not in after}
    return left | {place.key for place in after.values() if place.waits}


def look_after(tenant_id: UUID, instance_id: UUID) -> None:
    """Admit waiting instances after an instance was suspended or resumed outside a slice."""
    own = Place.objects.filter(instance_id=instance_id)
    now = database_now()
    if _let_in({(tenant_id, key) for key in own.values_list("key", flat=True)}, now):
        announce_on_commit([now], now)


def _let_in(keys: Iterable[Key], now: datetime) -> int:
    """Admit the steps that have room under each key, under its lock and in one order; return how many."""
    return sum(_let_in_under(key, now) for key in sorted(keys))


def _let_in_under(key: Key, now: datetime) -> int:
    names: dict[str, Any] = {"tenant": key[0], "key": key[1], "still": sorted(HELD_STATUSES), "many": LOOKED_AT}
    take_locks(lock_name(key[0], "throttle", key[1]))
    with connection.cursor() as cursor:
        cursor.execute(RUNNING, names)
        running, let_in = cursor.fetchone()[0], 0
        while True:
            cursor.execute(LINE, names)
            line = cursor.fetchall()
            for instance_id, run, most in line:
                if running + let_in >= most:
                    return let_in
                cursor.execute(LET_IN, [now, instance_id, run])
                queue_signal(key[0], instance_id, SignalType.INTERNAL_CONTINUE, now)
                let_in += 1
            if len(line) < LOOKED_AT:
                return let_in
