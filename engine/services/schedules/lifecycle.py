"""Start instances by the clock: create, pause, cancel and preview schedules. `engine.services.schedules.runner` fires their
slots.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from engine import access
from engine.audit.chain import Act, database_now, record
from engine.db.transactions import announce_on_commit, in_one_transaction
from engine.errors import Conflict, Invalid, NotFound
from engine.kernel.forms import FieldError, check_values
from engine.kernel.timing.calendars import Calendar, CalendarError
from engine.kernel.timing.cron import CronError, CronSchedule, Slot
from engine.kernel.timing.periods import parse_period
from engine.kernel.transitions import VersionStatus
from engine.models import Schedule, ScheduleFire, Template, TemplateVersion
from engine.runtime.calendars import calendar_named
from engine.runtime.claims import version_to_start
from engine.runtime.definition_cache import definition_of
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE

MOST_PREVIEWED = 100
JUST_PASSED = timedelta(minutes=1)
MOST_LOOKED_AT, MOST_NAMED = 500, 4
"""How far a preview looks for what a calendar leaves out before a run, and how many such days it names."""
WAITING_LOOK = timedelta(seconds=1)

WRONG = {"zone_unknown": "timezone", "calendar_unknown": "calendar", "calendar_invalid": "calendar"}
"""Which field is wrong; else the cron expression."""
SETTINGS = ("cron", "time_zone", "dst", "calendar", "overlap", "catch_up", "window", "input", "once_at")


@in_one_transaction
def create_schedule(*, actor: Actor, template: str, **settings: Any) -> Schedule:
    """Schedule the start of a template: by `cron`, or once at `once_at`. The actor owns it, and acts by it."""
    access.require_level(actor, TO_OPERATE, "schedule workflows")
    version = version_to_start(actor, template, way="scheduled").version
    schedule = Schedule(
        tenant_id=actor.tenant_id,
        template=version.template,
        owner_id=actor.person_id,
        owner_name=actor.name,
        **{name: value for name, value in settings.items() if name in SETTINGS and value is not None},
    )
    schedule.input = checked_input(version, schedule.input)
    refuse_past(schedule.once_at)
    set_going(schedule)
    note(actor, schedule.template, "schedule_workflow", {"cron": schedule.cron, "schedule": str(schedule.pk)})
    return schedule


def refuse_past(once_at: datetime | None) -> None:
    """Refuse a moment that is over: it is a mistake, or a start is wanted and no schedule.

    One that has only just passed runs at once: requests take their time, and clocks differ.
    """
    if once_at is not None and once_at < database_now() - JUST_PASSED:
        message = "This time is in the past. Choose a later one, or start an instance without a schedule."
        raise Invalid(message, [FieldError("once_at", "past", message)])


def checked_input(version: TemplateVersion, given: Any) -> Any:
    """Refuse an input with which no slot could ever start; what the schema adds is added at each start anew."""
    _, errors = check_values(definition_of(version.pk).input_schema, given or {})
    if errors:
        inside = [FieldError(f"input.{error.path}".rstrip("."), error.code, error.message) for error in errors]
        raise Invalid("The input is not valid for this workflow.", inside)
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
        message = "Give either a cron expression or one time."
        raise Invalid(message, [FieldError("cron", "required", message)])
    try:
        parse_period(schedule.window or "PT0S")
    except ValueError as error:
        message = "Enter the window as an ISO duration of at most 200 years, such as PT1H."
        raise Invalid(message, [FieldError("window", "period", message)]) from error


def _first_slot(schedule: Schedule, now: datetime) -> datetime | None:
    try:
        return next_slot(schedule, now)
    except CronError as error:
        raise Invalid(str(error), [FieldError(WRONG.get(error.code, "cron"), error.code, str(error))]) from error


def clock_of(schedule: Schedule) -> CronSchedule:
    """Return the times of a schedule as the kernel counts them."""
    return CronSchedule.parse(schedule.cron, schedule.time_zone, schedule.dst, _calendar(schedule))


def _calendar(schedule: Schedule) -> Calendar | None:
    if not schedule.calendar:
        return None
    try:
        found = calendar_named(schedule.tenant_id, schedule.calendar)
    except CalendarError as error:
        raise CronError("calendar_invalid", f"The calendar {schedule.calendar} cannot be read: {error}.") from error
    if found is None:
        raise CronError("calendar_unknown", f"There is no calendar named {schedule.calendar}.")
    return found


def next_slot(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the first slot after a moment; None where a schedule for one moment has had it."""
    if schedule.cron:
        return clock_of(schedule).next_after(after).at
    return (
        schedule.once_at
        if schedule.once_at and not ScheduleFire.objects.filter(schedule_id=schedule.pk, slot=schedule.once_at).exists()
        else None
    )


def clock_problem(schedule: Schedule) -> str:
    """Return why the next run of a schedule is unknown; nothing where it is known."""
    try:
        next_slot(schedule, database_now())
    except CronError as error:
        return str(error)
    return ""


def note(actor: Actor, template: Template, action: str, new: Any, reason: str = "") -> None:
    """Record an act in the chain of the template that is scheduled."""
    record(template, Act(action, cause=reason, new=new), actor=actor)


# Life


def list_schedules(*, actor: Actor) -> QuerySet[Schedule]:
    """Return the tenant's schedules, for those who operate."""
    access.require_level(actor, TO_OPERATE, "see schedules")
    return access.visible_schedules(actor)


def find_schedule(*, actor: Actor, schedule_id: UUID) -> Schedule:
    """Return a schedule of the actor's tenant, or NotFound."""
    schedule = list_schedules(actor=actor).filter(pk=schedule_id).first()
    if schedule is None:
        raise NotFound
    return schedule


def schedule_to_change(actor: Actor, schedule_id: UUID) -> Schedule:
    """Return a schedule of the actor's tenant, locked, or NotFound."""
    access.require_level(actor, TO_OPERATE, "schedule workflows")
    schedule = find_schedule(actor=actor, schedule_id=schedule_id)
    return Schedule.objects.select_for_update(no_key=True).select_related("template").get(pk=schedule.pk)


@in_one_transaction
def pause_schedule(*, actor: Actor, schedule_id: UUID, reason: str = "") -> Schedule:
    """Hold a schedule; its slots wait for the catch-up rule."""
    return _move(actor, schedule_id, "active", "paused", "pause_schedule", reason)


@in_one_transaction
def resume_schedule(*, actor: Actor, schedule_id: UUID, reason: str = "") -> Schedule:
    """Resume a paused schedule; what was missed follows its catch-up rule."""
    return _move(actor, schedule_id, "paused", "active", "resume_schedule", reason)


@in_one_transaction
def cancel_schedule(*, actor: Actor, schedule_id: UUID, reason: str = "") -> Schedule:
    """End a schedule for good."""
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.status not in ("active", "paused"):
        raise Conflict(f"This schedule is already {schedule.status}.", code="status", status=schedule.status)
    _cancel(actor, schedule, reason)
    return schedule


def _move(actor: Actor, schedule_id: UUID, old: str, new: str, action: str, reason: str) -> Schedule:
    schedule = schedule_to_change(actor, schedule_id)
    if schedule.status != old:
        raise Conflict(f"This schedule is {schedule.status}, not {old}.", code="status", status=schedule.status)
    schedule.status = new
    schedule.look_at = next_look(schedule, database_now()) if new == "active" and not _is_held(schedule) else None
    schedule.save(update_fields=["status", "look_at"])
    note(actor, schedule.template, action, {"schedule": str(schedule.pk)}, reason)
    announce_on_commit([schedule.look_at] if schedule.look_at else [], database_now())
    return schedule


def _cancel(actor: Actor, schedule: Schedule, reason: str = "") -> None:
    schedule.status, schedule.look_at, schedule.next_at = "cancelled", None, None
    schedule.save(update_fields=["status", "look_at", "next_at"])
    waiting = ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting")
    waiting.update(outcome="skipped", reason="the schedule was cancelled")
    note(actor, schedule.template, "cancel_schedule", {"schedule": str(schedule.pk)}, reason)


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
    """End every schedule of a template that leaves service, or that only an event starts from now on."""
    for schedule in Schedule.objects.live().filter(template_id=version.template_id).select_related("template"):
        _cancel(actor, schedule)


def hold_schedules_of(version: TemplateVersion, *, held: bool) -> None:
    """Pause the schedules of a paused template, or resume them."""
    for schedule in Schedule.objects.filter(template_id=version.template_id, status="active"):
        schedule.look_at = None if held else next_look(schedule, database_now())
        schedule.save(update_fields=["look_at"])


def preview_schedule(*, actor: Actor, schedule_id: UUID, n: int = 10) -> list[Slot]:
    """Return the next runs with their reasons; none where its calendar, changed since, leaves no day."""
    schedule = find_schedule(actor=actor, schedule_id=schedule_id)
    if not schedule.cron:
        return [Slot(schedule.next_at, schedule.next_at)] if schedule.next_at else []
    try:
        now = database_now()
        return list(_reasoned(schedule, clock_of(schedule).next_n(now, max(1, min(n, MOST_PREVIEWED))), now))
    except CronError:
        return []


def _reasoned(schedule: Schedule, slots: list[Slot], now: datetime) -> Iterator[Slot]:
    """Add to each run which days before it the calendar leaves out."""
    calendar = _calendar(schedule)
    plain = CronSchedule.parse(schedule.cron, schedule.time_zone, schedule.dst)
    for before, slot in zip([now, *(one.at for one in slots)], slots, strict=False):
        left_out = _left_out(plain, calendar, before, slot) if calendar is not None else ""
        yield replace(slot, reason="; ".join(filter(None, (slot.reason, left_out))))


def _left_out(plain: CronSchedule, calendar: Calendar, before: datetime, slot: Slot) -> str:
    between = islice(takewhile(lambda one: one.at < slot.at, plain.slots_after(before)), MOST_LOOKED_AT)
    days = [day for day in dict.fromkeys(one.local.date() for one in between) if not calendar.is_business_day(day)]
    named = [f"{day:%a} {day.day} {day:%b}{' (holiday)' * calendar.is_holiday(day)}" for day in days[:MOST_NAMED]]
    more = f" and {len(days) - MOST_NAMED} more days" if len(days) > MOST_NAMED else ""
    return f"not on {', '.join(named)}{more}" if named else ""


def _is_held(schedule: Schedule) -> bool:
    """Return whether the template is paused: its schedules continue when it does."""
    return TemplateVersion.objects.filter(template_id=schedule.template_id, status=VersionStatus.PAUSED).exists()


def next_look(schedule: Schedule, now: datetime) -> datetime | None:
    """Return when a worker looks next: at the next slot, and soon where an earlier one still waits for its turn.

    One that is still behind looks now, not at the moment of its slot: it goes to the end of the line.
    """
    waiting = ScheduleFire.objects.filter(schedule_id=schedule.pk, outcome="waiting").exists()
    soon = now + WAITING_LOOK if waiting else None
    ahead = min((at for at in (schedule.next_at, soon) if at is not None), default=None)
    return max(ahead, now) if ahead else None
