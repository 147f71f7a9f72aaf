"""Fire the slots of schedules, each once whatever the number of workers.

The schedule's row is locked while its due slots are settled, and each leaves a row under (schedule, slot): an instance, a skip
with its reason, or a turn to wait for. One pass is one transaction of a bounded size, so that a schedule that slept for days
neither holds its row for long nor keeps the signals of others waiting; after it, the schedule goes to the end of the line.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

from engine.audit.chain import Act, Chain, append, database_now, record
from engine.db.transactions import in_one_transaction
from engine.errors import WorkflowError
from engine.kernel.signals import SignalType
from engine.kernel.timing.cron import CronError
from engine.kernel.timing.periods import parse_period
from engine.models import Instance, JournalRow, Schedule, ScheduleFire
from engine.runtime.commit import run_hot
from engine.runtime.environment import Allowance
from engine.runtime.signal_routing import queue_signal
from engine.services.instances.lifecycle import start_instance
from engine.services.schedules.lifecycle import clock_of, next_look, next_slot
from workflowplatform.accounts.actor import Actor, actor_of, engine_actor
from workflowplatform.accounts.models import User

ON_TIME = timedelta(minutes=1)
"""How late a slot may be and still count as on time where missed ones are not made up."""
SLOTS_A_PASS = 200
STARTS_A_PASS = 20

DUE_SCHEDULES = """
SELECT id FROM (
  SELECT id, look_at, row_number() OVER (PARTITION BY tenant_id ORDER BY look_at) AS turn FROM wf_schedules
  WHERE status = 'active' AND look_at <= (SELECT clock_timestamp())) due
ORDER BY turn, look_at LIMIT 50
"""


def due_schedules() -> list[UUID]:
    """Return the schedules that a worker should look at now, tenants in turn, those that wait longest first."""
    return [row[0] for row in run_hot(DUE_SCHEDULES, [])]


@in_one_transaction
def fire_due_slots(*, schedule_id: UUID) -> int:
    """Settle slots that are due; return how many instances that started. A second worker finds nothing to do."""
    locked = Schedule.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
    now = database_now()
    due = locked.select_related("template", "tenant").filter(pk=schedule_id, status="active", look_at__lte=now)
    schedule = due.first()
    if schedule is None:
        return 0
    firing = Firing(schedule, now)
    firing.settle_due()
    firing.start_waiting()
    firing.write()
    _look_again(firing)
    return firing.started


@dataclass(slots=True)
class Due:
    """The slots of one pass, and which of them run."""

    slots: list[datetime]
    chosen: list[datetime]


def _due(schedule: Schedule, now: datetime) -> Due:
    """Read the clock, one slot further than a pass goes: only the last of all missed slots may be made up."""
    found = _slots_until(schedule, now)
    slots, has_more = found[:SLOTS_A_PASS], len(found) > SLOTS_A_PASS
    return Due(slots, _chosen(schedule, slots, now, has_more=has_more))


def _slots_until(schedule: Schedule, now: datetime) -> list[datetime]:
    """List due slots. A clock that has come to nothing ends the list: `_look_again` sees to that."""
    slots: list[datetime] = []
    slot = schedule.next_at
    try:
        clock = clock_of(schedule) if schedule.cron else None
        while slot is not None and slot <= now and len(slots) <= SLOTS_A_PASS:
            slots.append(slot)
            slot = clock.next_after(slot).at if clock else None
    except CronError:
        return slots or ([slot] if slot is not None and slot <= now else [])
    return slots


def _chosen(schedule: Schedule, slots: list[datetime], now: datetime, *, has_more: bool) -> list[datetime]:
    """Return which due slots run, by the catch-up rule and the window."""
    oldest = parse_period(schedule.window).before(now) if schedule.window else None
    if schedule.catch_up == "none":
        oldest = max(now - ON_TIME, oldest) if oldest else now - ON_TIME
    fit = [slot for slot in slots if oldest is None or slot >= oldest]
    if schedule.catch_up == "all":
        return fit
    return [] if has_more else fit[-1:]


@dataclass
class Firing:
    """One pass over one schedule, whose row is locked: what it settled is written at its end."""

    schedule: Schedule
    now: datetime
    started: int = 0
    settled: list[datetime] = field(default_factory=list)
    fires: list[ScheduleFire] = field(default_factory=list)
    acts: list[JournalRow] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)
    """How long one pass may continue to start instances."""

    def settle_due(self) -> None:
        """Settle slot after slot until nothing is due or enough was started for once."""
        due = _due(self.schedule, self.now)
        chosen, fired = set(due.chosen), self._fired(due.slots)
        for slot in due.slots:
            if self.started >= STARTS_A_PASS or (self.started and not self.allowance.is_left):
                return
            self.settled.append(slot)
            if slot not in fired:
                self.fires.append(self._settle(slot) if slot in chosen else self.skip(slot, MISSED))

    def start_waiting(self) -> None:
        """Start the slot that waits longest, once nothing is in its way."""
        if self.busy or self.fires_waiting:
            return
        waiting = ScheduleFire.objects.filter(schedule_id=self.schedule.pk, outcome="waiting").order_by("slot").first()
        if waiting is not None:
            fire = self.start(waiting.slot)
            row = {"outcome": fire.outcome, "reason": fire.reason, "instance_id": fire.instance_id, "at": fire.at}
            ScheduleFire.objects.filter(pk=waiting.pk).update(**row)

    def write(self) -> None:
        """Write what became of each slot, and the acts of those that started."""
        ScheduleFire.objects.bulk_create(self.fires)
        JournalRow.objects.bulk_create(self.acts)

    @cached_property
    def busy(self) -> bool:
        """Return whether a run of this schedule is in progress; a start of this pass that does not end at once changes it."""
        return Instance.objects.live().filter(schedule_id=self.schedule.pk).exists()

    @cached_property
    def owner(self) -> Actor | None:
        """Return who acts: the owner as they are now, in the schedule's tenant, or nobody."""
        owner_id = self.schedule.owner_id
        person = User.objects.filter(pk=owner_id, is_active=True).first() if owner_id else None
        try:
            return actor_of(person).within(self.schedule.tenant) if person else None
        except PermissionError:  # a supergod who no longer is one
            return None

    @property
    def fires_waiting(self) -> bool:
        """Return whether a slot of this very pass waits for its turn."""
        return any(fire.outcome == "waiting" for fire in self.fires)

    def _fired(self, slots: list[datetime]) -> set[datetime]:
        fires = ScheduleFire.objects.filter(schedule_id=self.schedule.pk, slot__in=slots)
        return set(fires.values_list("slot", flat=True))

    def _settle(self, slot: datetime) -> ScheduleFire:
        if self.schedule.overlap == "allow" or not self.busy:
            return self.start(slot)
        return OVERLAPPING[self.schedule.overlap](self, slot)

    def fire(self, slot: datetime, outcome: str, *, reason: str = "", instance_id: UUID | None = None) -> ScheduleFire:
        """Record what became of a slot."""
        return ScheduleFire(
            schedule=self.schedule,
            slot=slot,
            tenant_id=self.schedule.tenant_id,
            outcome=outcome,
            reason=reason,
            instance_id=instance_id,
            at=self.now,
        )

    def skip(self, slot: datetime, reason: str) -> ScheduleFire:
        """Return why a slot has no instance."""
        return self.fire(slot, "skipped", reason=reason)

    def start(self, slot: datetime) -> ScheduleFire:
        """Start the instance of a slot on the owner's behalf; if that is refused, the slot is skipped with the reason."""
        owner = self.owner
        if owner is None:
            return self.skip(slot, OWNER_LEFT.format(owner=self.schedule.owner_name))
        try:
            name, given = self.schedule.template.name, self.schedule.input or {}
            begun = start_instance(actor=owner, template=name, input=given, way="scheduled")
        except WorkflowError as refusal:
            return self.skip(slot, refusal.message)
        self.started += 1
        self.busy = self.busy or not begun.instance.is_over
        self._note_start(begun.instance, slot, owner)
        return self.fire(slot, "started", instance_id=begun.instance.pk)

    def _note_start(self, instance: Instance, slot: datetime, owner: Actor) -> None:
        """Bind an instance of this transaction to the schedule, in its row and in its history."""
        act = Act("trigger_scheduled", new={"schedule": str(self.schedule.pk), "slot": slot.isoformat()})
        chain = Chain("instance", instance.pk, instance.tenant_id, instance.audit_seq, instance.audit_hash)
        rows, after = append(chain, [act], actor=owner, at=instance.started_at)
        self.acts += [JournalRow(**row) for row in rows]
        bound = {"schedule_id": self.schedule.pk, "audit_seq": after.seq, "audit_hash": after.hash}
        Instance.objects.filter(pk=instance.pk).update(**bound)


MISSED = "missed: no worker ran in time"
OWNER_LEFT = "its owner {owner} is no longer active here"


def _skip_busy(firing: Firing, slot: datetime) -> ScheduleFire:
    return firing.skip(slot, "the previous run is still running")


def _wait(firing: Firing, slot: datetime) -> ScheduleFire:
    return firing.fire(slot, "waiting")


def _wait_alone(firing: Firing, slot: datetime) -> ScheduleFire:
    waiting = ScheduleFire.objects.filter(schedule_id=firing.schedule.pk, outcome="waiting")
    if firing.fires_waiting or waiting.exists():
        return firing.skip(slot, "another run is already waiting")
    return _wait(firing, slot)


def _replace_others(firing: Firing, slot: datetime) -> ScheduleFire:
    schedule = firing.schedule
    for instance_id in Instance.objects.live().filter(schedule_id=schedule.pk).values_list("pk", flat=True):
        reason = {"reason": "replaced by a newer run of its schedule"}
        queue_signal(schedule.tenant_id, instance_id, SignalType.PARENT_ENDED, firing.now, payload=reason)
    return firing.start(slot)


OVERLAPPING: dict[str, Callable[[Firing, datetime], ScheduleFire]] = {
    "skip": _skip_busy,
    "queue_one": _wait_alone,
    "queue_all": _wait,
    "cancel_other": _replace_others,
}
"""What a slot does while an earlier run is still in progress."""


def _look_again(firing: Firing) -> None:
    schedule, settled = firing.schedule, firing.settled
    try:
        schedule.next_at = next_slot(schedule, settled[-1]) if settled else schedule.next_at
    except CronError as error:
        _pause_clockless(schedule, error)
        return
    schedule.look_at = next_look(schedule, firing.now)
    if schedule.look_at is None:
        schedule.status = "done"
    schedule.save(update_fields=["next_at", "look_at", "status"])


def _pause_clockless(schedule: Schedule, error: CronError) -> None:
    """Pause a schedule whose next slot is unknown, as when its calendar is gone; resume it once that is fixed."""
    schedule.status, schedule.look_at = "paused", None
    schedule.save(update_fields=["status", "look_at"])
    act = Act("pause_schedule", cause=str(error), new={"schedule": str(schedule.pk)})
    record(schedule.template, act, actor=engine_actor(schedule.tenant_id))
