"""Change a schedule that a person made, and run one by hand."""

from typing import Any
from uuid import UUID

from engine.db.transactions import in_one_transaction
from engine.errors import Conflict
from engine.models import Instance, Schedule
from engine.runtime.claims import version_to_start
from engine.services.instances.lifecycle import start_instance
from engine.services.schedules.lifecycle import (
    SETTINGS,
    checked_input,
    note,
    refuse_past,
    schedule_to_change,
    set_going,
)
from workflowplatform.accounts.actor import Actor


@in_one_transaction
def change_schedule(*, actor: Actor, schedule_id: UUID, **settings: Any) -> Schedule:
    """Change when and with what a schedule starts; what its template declares is changed there."""
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.declared:
        raise Conflict("This schedule is declared by its template. Change it there.", code="declared")
    if schedule.status not in ("active", "paused"):
        raise Conflict(f"This schedule is already {schedule.status}.", code="status", status=schedule.status)
    if settings.get("once_at") != schedule.once_at:
        refuse_past(settings.get("once_at"))
    for name in SETTINGS:
        if name in settings:
            setattr(schedule, name, settings[name])
    version = version_to_start(actor, schedule.template.name, way="scheduled").version
    schedule.input = checked_input(version, schedule.input)
    set_going(schedule)
    note(actor, schedule.template, "change_schedule", {"cron": schedule.cron, "schedule": str(schedule.pk)})
    return schedule


@in_one_transaction
def run_schedule(*, actor: Actor, schedule_id: UUID, reason: str = "") -> Instance:
    """Start now what a schedule would start, as its next run would; no slot is used up by it."""
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.status not in ("active", "paused"):
        raise Conflict(f"This schedule is already {schedule.status}.", code="status", status=schedule.status)
    if schedule.overlap != "allow" and Instance.objects.live().filter(schedule_id=schedule.pk).exists():
        raise Conflict("The previous run is still running, and this schedule does not allow overlaps.", code="overlap")
    name, given = schedule.template.name, schedule.input
    begun = start_instance(actor=actor, template=name, input=given, way="scheduled").instance
    Instance.objects.filter(pk=begun.pk).update(schedule_id=schedule.pk)
    facts = {"schedule": str(schedule.pk), "instance": str(begun.pk)}
    note(actor, schedule.template, "run_schedule", facts, reason)
    return begun
