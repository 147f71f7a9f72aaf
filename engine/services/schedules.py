"""Start instances by the clock: create, pause and preview schedules, and fire their slots.

A slot is fired once whatever the number of workers: the schedule's row is locked while its due slots are settled, and each leaves
a row under (schedule, slot). Every slot ends as an instance or as a skip with its reason.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from engine import access
from engine.audit import Act, database_now, record
from engine.calendars import calendar_named
from engine.commit import run_hot
from engine.definitions import definition_of
from engine.errors import Conflict, Invalid, NotFound, WorkflowError
from engine.kernel.calendars import Calendar
from engine.kernel.cron import CronError, CronSchedule, Slot
from engine.kernel.forms import FieldError, check_values
from engine.kernel.periods import parse_period
from engine.kernel.signals import SignalType
from engine.models import Instance, Schedule, ScheduleFire, Template, TemplateVersion
from engine.outbox import announce_on_commit
from engine.routing import queue_signal
from engine.services.instances import start_instance
from engine.transactions import in_one_transaction
from workflowplatform.accounts.actor import Actor, actor_of, engine_actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import User

ON_TIME = timedelta(minutes=1)
"""How late a slot may be and still count as on time where missed ones are not made up."""
SLOTS_A_PASS = 200
MOST_PREVIEWED = 100
WAITING_LOOK = timedelta(seconds=1)

SETTINGS = ("cron", "time_zone", "dst", "calendar", "overlap", "catch_up", "window", "input", "once_at")


@in_one_transaction
def create_schedule(*, actor: Actor, template: str, **settings: Any) -> Schedule:
    """Let the clock start a template: by `cron`, or once at `once_at`. The actor owns it, and acts by it."""
    access.require_level(actor, TO_OPERATE, "schedule workflows")
    version = access.version_to_start(actor, template)
    schedule = Schedule(
        tenant_id=actor.tenant_id,
        template=version.template,
        owner_id=actor.person_id,
        owner_name=actor.name,
        **{name: value for name, value in settings.items() if name in SETTINGS and value is not None},
    )
    schedule.input = checked_input(version, schedule.input)
    set_going(schedule)
    note(actor, schedule.template, "schedule_workflow", {"cron": schedule.cron, "schedule": str(schedule.pk)})
    return schedule


def checked_input(version: TemplateVersion, given: Any) -> Any:
    """Refuse an input with which no slot could ever start; what the schema adds is added at each start anew."""
    _, errors = check_values(definition_of(version.pk).input_schema, given or {})
    if errors:
        inside = [FieldError(f"input.{error.path}".rstrip("."), error.code, error.message) for error in errors]
        raise Invalid("The input does not fit this workflow.", inside)
    return given


def set_going(schedule: Schedule) -> None:
    """Check and save a schedule, and let a worker know when its next slot comes."""
    now = database_now()
    _check(schedule)
    schedule.next_at = _first_slot(schedule, now)
    schedule.look_at = schedule.next_at if schedule.status == "active" else None
    schedule.save()
    announce_on_commit([schedule.look_at] if schedule.look_at else [], now)


def _check(schedule: Schedule) -> None:
    if bool(schedule.cron) == (schedule.once_at is not None):
        message = "Give either a cron expression or one moment."
        raise Invalid(message, [FieldError("cron", "required", message)])
    try:
        parse_period(schedule.window or "PT0S")
    except ValueError as error:
        message = "Write the window as an ISO duration of at most 200 years, such as PT1H."
        raise Invalid(message, [FieldError("window", "period", message)]) from error


def _first_slot(schedule: Schedule, now: datetime) -> datetime | None:
    try:
        return _next_slot(schedule, now)
    except CronError as error:
        raise Invalid(str(error), [FieldError("cron", error.code, str(error))]) from error


def clock_of(schedule: Schedule) -> CronSchedule:
    """Return the times of a schedule as the kernel counts them."""
    return CronSchedule.parse(schedule.cron, schedule.time_zone, schedule.dst, _calendar(schedule))


def _calendar(schedule: Schedule) -> Calendar | None:
    if not schedule.calendar:
        return None
    found = calendar_named(schedule.tenant_id, schedule.calendar)
    if found is None:
        raise CronError("calendar_unknown", f"There is no calendar named {schedule.calendar}.")
    return found


def _next_slot(schedule: Schedule, after: datetime) -> datetime | None:
    if schedule.cron:
        return clock_of(schedule).next_after(after).at
    return schedule.once_at if schedule.once_at and not _is_fired(schedule, schedule.once_at) else None


def _is_fired(schedule: Schedule, slot: datetime) -> bool:
    return ScheduleFire.objects.filter(schedule_id=schedule.pk, slot=slot).exists()


def note(actor: Actor, template: Template, action: str, new: Any) -> None:
    """Record an act in the chain of the template that is scheduled."""
    record(template, Act(action, new=new), actor=actor)


# Life


def find_schedule(*, actor: Actor, schedule_id: UUID) -> Schedule:
    """Return a schedule that the actor sees, or NotFound."""
    schedule = access.visible_schedules(actor).filter(pk=schedule_id).first()
    if schedule is None:
        raise NotFound
    return schedule


def schedule_to_change(actor: Actor, schedule_id: UUID) -> Schedule:
    """Return a schedule of the actor's tenant, locked, or NotFound."""
    schedule = find_schedule(actor=actor, schedule_id=schedule_id)
    access.require_level(actor, TO_OPERATE, "schedule workflows")
    return Schedule.objects.select_for_update(no_key=True).select_related("template").get(pk=schedule.pk)


@in_one_transaction
def pause_schedule(*, actor: Actor, schedule_id: UUID) -> Schedule:
    """Hold a schedule; its slots wait for the catch-up rule."""
    return _move(actor, schedule_id, "active", "paused", "pause_schedule")


@in_one_transaction
def resume_schedule(*, actor: Actor, schedule_id: UUID) -> Schedule:
    """Let a paused schedule go on; what was missed follows its catch-up rule."""
    return _move(actor, schedule_id, "paused", "active", "resume_schedule")


@in_one_transaction
def cancel_schedule(*, actor: Actor, schedule_id: UUID) -> Schedule:
    """End a schedule for good."""
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.status not in ("active", "paused"):
        raise Conflict(f"This schedule is {schedule.status} already.", code="status", status=schedule.status)
    _cancel(actor, schedule)
    return schedule


def _move(actor: Actor, schedule_id: UUID, old: str, new: str, action: str) -> Schedule:
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.status != old:
        raise Conflict(f"This schedule is {schedule.status}, not {old}.", code="status", status=schedule.status)
    schedule.status = new
    schedule.look_at = _next_look(schedule, database_now()) if new == "active" else None
    schedule.save(update_fields=["status", "look_at"])
    note(actor, schedule.template, action, {"schedule": str(schedule.pk)})
    announce_on_commit([schedule.look_at] if schedule.look_at else [], database_now())
    return schedule


def _cancel(actor: Actor, schedule: Schedule) -> None:
    schedule.status, schedule.look_at, schedule.next_at = "cancelled", None, None
    schedule.save(update_fields=["status", "look_at", "next_at"])
    waiting = ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting")
    waiting.update(outcome="skipped", reason="the schedule was cancelled")
    note(actor, schedule.template, "cancel_schedule", {"schedule": str(schedule.pk)})


def declare_schedule(*, actor: Actor, version: TemplateVersion) -> None:
    """Make the template's own schedule that of the version just activated, or end it where that has none."""
    declared = (version.canonical or {}).get("schedule")
    existing = Schedule.objects.live().filter(template_id=version.template_id, declared=True).first()
    if declared is None:
        if existing is not None:
            _cancel(actor, existing)
        return
    schedule = existing or Schedule(tenant_id=version.tenant_id, template=version.template, declared=True)
    schedule.owner_id, schedule.owner_name = actor.person_id, actor.name
    schedule.time_zone = declared.get("timezone", "UTC")
    for name in ("cron", "dst", "calendar", "overlap", "catch_up", "window", "input"):
        if declared.get(name) is not None:
            setattr(schedule, name, declared[name])
    set_going(schedule)
    note(actor, version.template, "schedule_workflow", {"cron": schedule.cron, "schedule": str(schedule.pk)})


def cancel_schedules_of(*, actor: Actor, version: TemplateVersion) -> None:
    """End every schedule of a template that leaves service."""
    for schedule in Schedule.objects.live().filter(template_id=version.template_id).select_related("template"):
        _cancel(actor, schedule)


def hold_schedules_of(version: TemplateVersion, *, held: bool) -> None:
    """Hold the schedules of a paused template, or let them go on."""
    for schedule in Schedule.objects.filter(template_id=version.template_id, status="active"):
        schedule.look_at = None if held else _next_look(schedule, database_now())
        schedule.save(update_fields=["look_at"])


def preview_schedule(*, actor: Actor, schedule_id: UUID, n: int = 10) -> list[Slot]:
    """Return the next runs with their reasons; none where its calendar, changed since, leaves no day."""
    schedule = find_schedule(actor=actor, schedule_id=schedule_id)
    if not schedule.cron:
        return [Slot(schedule.next_at, schedule.next_at)] if schedule.next_at else []
    try:
        return clock_of(schedule).next_n(database_now(), max(1, min(n, MOST_PREVIEWED)))
    except CronError:
        return []


# Firing


DUE_SCHEDULES = """
SELECT id FROM wf_schedules WHERE status = 'active' AND look_at <= clock_timestamp() ORDER BY look_at LIMIT 50
"""


def due_schedules() -> list[UUID]:
    """Return the schedules that a worker should look at now, most urgent first."""
    return [row[0] for row in run_hot(DUE_SCHEDULES, [])]


@in_one_transaction
def fire_due_slots(*, schedule_id: UUID) -> int:
    """Settle every slot that is due; return how many instances that started. Whoever comes second finds nothing to do."""
    locked = Schedule.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).select_related("template")
    now = database_now()
    schedule = locked.filter(pk=schedule_id, status="active", look_at__lte=now).first()
    if schedule is None:
        return 0
    slots = _due_slots(schedule, now)
    chosen = set(_chosen(schedule, slots, now))
    started = sum(_settle(schedule, slot, slot in chosen, now) for slot in slots)
    started += _start_waiting(schedule, now)
    _look_again(schedule, slots, now)
    return started


def _due_slots(schedule: Schedule, now: datetime) -> list[datetime]:
    slots: list[datetime] = []
    slot = schedule.next_at
    while slot is not None and slot <= now and len(slots) < SLOTS_A_PASS:
        slots.append(slot)
        slot = _slot_behind(schedule, slot)
    return slots


def _slot_behind(schedule: Schedule, slot: datetime) -> datetime | None:
    """Return the next slot, or None where there is none or its clock has come to nothing: `_look_again` sees to that."""
    try:
        return clock_of(schedule).next_after(slot).at if schedule.cron else None
    except CronError:
        return None


def _chosen(schedule: Schedule, slots: list[datetime], now: datetime) -> list[datetime]:
    """Say which due slots run, by the catch-up rule and the window."""
    oldest = parse_period(schedule.window).before(now) if schedule.window else None
    if schedule.catch_up == "none":
        oldest = max(now - ON_TIME, oldest) if oldest else now - ON_TIME
    fit = [slot for slot in slots if oldest is None or slot >= oldest]
    if schedule.catch_up == "all":
        return fit
    return [] if _is_more_due(schedule, slots, now) else fit[-1:]


def _is_more_due(schedule: Schedule, slots: list[datetime], now: datetime) -> bool:
    """Tell whether so many were missed that the last of them comes only in a later pass."""
    if len(slots) < SLOTS_A_PASS:
        return False
    behind = _slot_behind(schedule, slots[-1])
    return behind is not None and behind <= now


def _settle(schedule: Schedule, slot: datetime, chosen: bool, now: datetime) -> int:
    """Give one slot its row: skipped, waiting, or started."""
    if _is_fired(schedule, slot):
        return 0
    if not chosen:
        return _skip(schedule, slot, now, "missed: no worker ran in time")
    if schedule.overlap == "allow" or not _is_busy(schedule):
        return _start(schedule, slot, now)
    return OVERLAPPING[schedule.overlap](schedule, slot, now)


def _is_busy(schedule: Schedule) -> bool:
    return Instance.objects.live().filter(schedule_id=schedule.pk).exists()


def _fire(schedule: Schedule, slot: datetime, now: datetime, outcome: str, **more: Any) -> None:
    row = {"tenant_id": schedule.tenant_id, "outcome": outcome, "at": now, **more}
    ScheduleFire.objects.update_or_create(schedule_id=schedule.pk, slot=slot, defaults=row)


def _skip(schedule: Schedule, slot: datetime, now: datetime, reason: str) -> int:
    _fire(schedule, slot, now, "skipped", reason=reason)
    return 0


def _skip_busy(schedule: Schedule, slot: datetime, now: datetime) -> int:
    return _skip(schedule, slot, now, "the run before still goes on")


def _wait(schedule: Schedule, slot: datetime, now: datetime) -> int:
    _fire(schedule, slot, now, "waiting")
    return 0


def _wait_alone(schedule: Schedule, slot: datetime, now: datetime) -> int:
    if ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting").exists():
        return _skip(schedule, slot, now, "another run waits already")
    return _wait(schedule, slot, now)


def _replace_others(schedule: Schedule, slot: datetime, now: datetime) -> int:
    for instance_id in Instance.objects.live().filter(schedule_id=schedule.pk).values_list("pk", flat=True):
        reason = {"reason": "a newer run of its schedule replaces it"}
        queue_signal(schedule.tenant_id, instance_id, SignalType.PARENT_ENDED, now, payload=reason)
    return _start(schedule, slot, now)


OVERLAPPING = {
    "skip": _skip_busy,
    "queue_one": _wait_alone,
    "queue_all": _wait,
    "cancel_other": _replace_others,
}
"""What a slot does while an earlier run still goes on."""


def _start(schedule: Schedule, slot: datetime, now: datetime) -> int:
    """Start the instance of a slot on the owner's behalf; if that is refused, the slot is skipped with the reason."""
    owner = User.objects.filter(username=schedule.owner_name, is_active=True).first()
    if owner is None:
        return _skip(schedule, slot, now, f"its owner {schedule.owner_name} is no longer active")
    try:
        with transaction.atomic():
            begun = start_instance(actor=actor_of(owner), template=schedule.template.name, input=schedule.input or {})
    except WorkflowError as refusal:
        return _skip(schedule, slot, now, refusal.message)
    Instance.objects.filter(pk=begun.instance.pk).update(schedule_id=schedule.pk)
    act = Act("trigger_scheduled", new={"schedule": str(schedule.pk), "slot": slot.isoformat()})
    record(begun.instance, act, actor=actor_of(owner))
    _fire(schedule, slot, now, "started", instance_id=begun.instance.pk)
    return 1


def _start_waiting(schedule: Schedule, now: datetime) -> int:
    waiting = ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting").order_by("slot").first()
    if waiting is None or _is_busy(schedule):
        return 0
    return _start(schedule, waiting.slot, now)


def _pause_clockless(schedule: Schedule, error: CronError) -> None:
    """Pause a schedule whose next slot nobody can tell any more, as when its calendar went; whoever mends that resumes it."""
    schedule.status, schedule.look_at = "paused", None
    schedule.save(update_fields=["status", "look_at"])
    act = Act("pause_schedule", cause=str(error), new={"schedule": str(schedule.pk)})
    record(schedule.template, act, actor=engine_actor(schedule.tenant_id))


def _look_again(schedule: Schedule, slots: list[datetime], now: datetime) -> None:
    try:
        schedule.next_at = _next_slot(schedule, slots[-1]) if slots else schedule.next_at
    except CronError as error:
        _pause_clockless(schedule, error)
        return
    schedule.look_at = _next_look(schedule, now)
    if schedule.look_at is None:
        schedule.status = "done"
    schedule.save(update_fields=["next_at", "look_at", "status"])


def _next_look(schedule: Schedule, now: datetime) -> datetime | None:
    """Say when a worker looks next: at the next slot, and soon where an earlier one still waits for its turn."""
    waiting = ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting").exists()
    soon = now + WAITING_LOOK if waiting else None
    return min((at for at in (schedule.next_at, soon) if at is not None), default=None)
