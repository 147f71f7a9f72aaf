"""Fire due schedules. A schedule that cannot be fired is postponed and reported; it never stops the others."""

import time
from datetime import timedelta
from uuid import UUID

import structlog

from engine.audit.chain import database_now
from engine.db.transactions import is_connection_lost
from engine.models import Schedule
from engine.services.schedules.runner import due_schedules, fire_due_slots

log = structlog.get_logger(__name__)

PUT_OFF = timedelta(minutes=1)
LONGEST_SECONDS = 1.0
"""How long a worker fires before it looks after signals: nobody waits for schedules that have days to make up."""


EVERY = 1.0
"""Seconds between looks at the clock while a drain has other things to do."""


class ScheduleRunner:
    """One drain's share in firing schedules."""

    def __init__(self) -> None:
        self._next_look = 0.0

    def take_turn(self) -> int:
        """Fire what is due, if it is time; return how many instances that started."""
        if time.monotonic() < self._next_look:
            return 0
        started = fire_schedules()
        self._next_look = time.monotonic() + EVERY
        return started


def fire_schedules() -> int:
    """Settle due slots, schedule after schedule, for a while; return how many instances that started."""
    started, stop_at = 0, time.monotonic() + LONGEST_SECONDS
    for schedule_id in due_schedules():
        started += _fire(schedule_id)
        if time.monotonic() > stop_at:
            break
    return started


def _fire(schedule_id: UUID) -> int:
    try:
        return fire_due_slots(schedule_id=schedule_id)
    except Exception:
        if is_connection_lost():
            raise
        log.exception("a schedule could not be fired, looking again in a minute", schedule=str(schedule_id))
        Schedule.objects.filter(pk=schedule_id).update(look_at=database_now() + PUT_OFF)
        return 0
