"""However many look at the clocks, and wherever they stop: each slot is settled once."""

from datetime import timedelta

from benchmarks.faults.schedulers import PAUSED, QUICK
from engine.audit.chain import database_now
from engine.models import Schedule, ScheduleFire
from engine.services.schedules.lifecycle import create_schedule
from engine.services.schedules.runner import SLOTS_A_PASS, fire_due_slots
from tests.cast import Cast
from tests.workflows import activated


def test_each_slot_is_one_instance_or_one_recorded_skip(transactional: None, valkey: object) -> None:
    outcome = PAUSED.run(PAUSED.short)
    assert outcome.is_green, outcome


def test_after_a_long_absence_the_last_slot_alone_is_made_up(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), QUICK)
    schedule = create_schedule(actor=cast.actor("ada"), template="tick", cron="* * * * *", catch_up="last")
    first = database_now().replace(second=0, microsecond=0) - timedelta(minutes=SLOTS_A_PASS + 20)
    Schedule.objects.filter(pk=schedule.pk).update(next_at=first, look_at=first)
    assert [fire_due_slots(schedule_id=schedule.pk) for _ in range(2)] == [0, 1]
    started = ScheduleFire.objects.get(schedule_id=schedule.pk, outcome="started")
    assert started.slot == ScheduleFire.objects.order_by("-slot")[0].slot
