"""Fire what the clock says. A schedule that cannot be fired is put off and told about; it never stops its neighbours."""

from datetime import timedelta
from uuid import UUID

import structlog

from engine.audit import database_now
from engine.models import Schedule
from engine.services.schedules import due_schedules, fire_due_slots
from engine.transactions import is_connection_lost

log = structlog.get_logger(__name__)

PUT_OFF = timedelta(minutes=1)


def fire_schedules() -> int:
    """Settle every due slot of every due schedule; return how many instances that started."""
    return sum(_fire(schedule_id) for schedule_id in due_schedules())


def _fire(schedule_id: UUID) -> int:
    try:
        return fire_due_slots(schedule_id=schedule_id)
    except Exception:
        if is_connection_lost():
            raise
        log.exception("a schedule could not be fired, looking again in a minute", schedule=str(schedule_id))
        Schedule.objects.filter(pk=schedule_id).update(look_at=database_now() + PUT_OFF)
        return 0
