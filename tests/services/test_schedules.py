"""Schedules: each slot once, overlaps, catch-up, and who acts."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.errors import Invalid, NotFound, Refused, WorkflowError
from engine.models import Audit, Instance, Schedule, ScheduleFire, StepRun, TemplateVersion
from engine.services.instances.lifecycle import cancel_instance, start_instance
from engine.services.people.accounts import change_level, deactivate_person
from engine.services.schedules import changes as schedule_changes
from engine.services.schedules import lifecycle as schedules
from engine.services.schedules import runner as schedule_runner
from engine.services.schedules.runner import OWNER_LEFT, fire_due_slots
from engine.services.templates.versions import archive_version, pause_version, resume_version
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.workflows import APPROVAL, TIMER, activated, started
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Tenant, User
from workflowplatform.ids import uuid7

NIGHTLY = """
workflow: nightly
title: Nightly
trigger: scheduled
schedule: {cron: "0 2 * * *", timezone: Europe/Berlin}
steps:
  - id: work
    task: {title: Work}
"""


@pytest.fixture
def clock(committed_cast: Cast) -> Schedule:
    """Give Ada's schedule: every hour a task."""
    activated(committed_cast.actor("gwen"), NIGHTLY.replace("trigger: scheduled\n", "").replace("schedule:", "# "))
    return schedules.create_schedule(actor=committed_cast.actor("ada"), template="nightly", cron=hourly())


def hourly() -> str:
    """Return a schedule of once an hour, in the minute that has begun: no slot comes while a test looks, as slow as it may be."""
    return f"{database_now().minute} * * * *"


def slots_ago(schedule: Schedule, number: int) -> datetime:
    """Return the slot so many before the last one of an hourly schedule."""
    now = database_now()
    last = now.replace(minute=int(schedule.cron.split()[0]), second=0, microsecond=0)
    return last - timedelta(hours=number + (last > now))


def let_pass(schedule: Schedule, slots: int, **changes: Any) -> int:
    """Pretend that the schedule was last looked at so many slots ago, and fire."""
    next_at = slots_ago(schedule, slots - 1)
    Schedule.objects.filter(pk=schedule.pk).update(next_at=next_at, look_at=next_at, **changes)
    return fire_due_slots(schedule_id=schedule.pk)


def outcomes(schedule: Schedule) -> list[str]:
    return list(ScheduleFire.objects.filter(schedule_id=schedule.pk).order_by("slot").values_list("outcome", flat=True))


def test_a_due_slot_starts_one_instance_on_the_owners_behalf(clock: Schedule) -> None:
    assert let_pass(clock, 1) == 1
    instance = Instance.objects.get()
    assert (instance.schedule_id, instance.started_by_name) == (clock.pk, "ada")
    assert Audit.objects.filter(subject_id=instance.pk, action="trigger_scheduled", actor_name="ada").exists()
    assert fire_due_slots(schedule_id=clock.pk) == 0


def test_missed_slots_follow_the_catch_up_rule(clock: Schedule) -> None:
    assert let_pass(clock, 5, overlap="allow", catch_up="last") == 1
    assert outcomes(clock) == ["skipped"] * 4 + ["started"]
    assert let_pass(clock, 9, overlap="allow", catch_up="all") == 4
    assert let_pass(clock, 9, overlap="allow", catch_up="none") == 0


def test_overlaps_are_skipped_queued_or_replaced(committed_cast: Cast, clock: Schedule) -> None:
    ada = committed_cast.actor("ada")
    let_pass(clock, 1)
    assert let_pass(clock, 2, catch_up="all", overlap="skip") == 0
    running = Instance.objects.get()
    assert let_pass(clock, 4, catch_up="all", overlap="queue_one") == 0
    assert outcomes(clock).count("waiting") == 1
    cancel_instance(actor=ada, instance_id=running.pk, reason="room")
    Schedule.objects.filter(pk=clock.pk).update(look_at=database_now())
    assert fire_due_slots(schedule_id=clock.pk) == 1
    assert let_pass(clock, 8, catch_up="last", overlap="cancel_other") == 0  # every slot up to now is settled already


def test_a_newer_run_replaces_the_older(committed_cast: Cast, clock: Schedule) -> None:
    assert let_pass(clock, 2, catch_up="all", overlap="cancel_other") == 2
    drain()
    assert list(Instance.objects.order_by("id").values_list("status", flat=True)) == ["cancelled", "running"]


def test_a_run_replaced_while_it_waits_for_its_turn_never_begins(committed_cast: Cast, clock: Schedule) -> None:
    Tenant.objects.filter(pk=committed_cast.acme.pk).update(concurrent_limit=1)
    activated(committed_cast.actor("gwen"), TIMER.replace("PT0.2S", "PT1H"))
    started(committed_cast.actor("ada"), "timer")
    let_pass(clock, 2, catch_up="all", overlap="cancel_other")
    drain()
    first, second = Instance.objects.filter(schedule_id=clock.pk).order_by("id")
    assert (first.status, second.status) == ("cancelled", "queued")
    assert not StepRun.objects.filter(instance=first).exists()


def test_many_schedulers_fire_each_slot_once(clock: Schedule) -> None:
    next_at = slots_ago(clock, 19)
    Schedule.objects.filter(pk=clock.pk).update(next_at=next_at, look_at=next_at, catch_up="all", overlap="allow")
    started = at_once([lambda: fire_due_slots(schedule_id=clock.pk)] * 4)
    assert sum(started) == 20
    assert Instance.objects.count() == 20


def test_a_pause_in_the_middle_of_firing_holds_what_is_left(committed_cast: Cast, clock: Schedule) -> None:
    gwen = committed_cast.actor("gwen")
    next_at = slots_ago(clock, 59)
    Schedule.objects.filter(pk=clock.pk).update(next_at=next_at, look_at=next_at, catch_up="all", overlap="allow")
    fire = partial(fire_due_slots, schedule_id=clock.pk)
    answers = at_once([fire, fire, partial(pause_version, actor=gwen, name="nightly", number=1), fire, fire])
    assert not [answer for answer in answers if isinstance(answer, Exception)]
    clock.refresh_from_db()
    assert (clock.status, clock.look_at) == ("active", None)
    settled = ScheduleFire.objects.filter(schedule_id=clock.pk).count()
    assert fire() == 0
    resume_version(actor=gwen, name="nightly", number=1)
    while schedule_runner.due_schedules():
        fire()
    slots = [next_at + timedelta(hours=number) for number in range(60)]
    fires = {row.slot: row for row in ScheduleFire.objects.filter(schedule_id=clock.pk)}
    assert [slot for slot in slots if slot not in fires] == []
    assert settled <= len(fires)
    assert not [row for row in fires.values() if row.outcome == "skipped" and not row.reason]


def test_an_owner_who_may_no_longer_start_skips_with_the_reason(committed_cast: Cast, clock: Schedule) -> None:
    change_level(actor=committed_cast.actor("gwen"), person=committed_cast.ada, level=2)
    let_pass(clock, 1)
    fire = ScheduleFire.objects.get(schedule_id=clock.pk)
    with pytest.raises(WorkflowError) as refusal:
        start_instance(actor=actor_of(User.objects.get(username="ada")), template="nightly", input={}, way="scheduled")
    assert (fire.outcome, fire.reason) == ("skipped", refusal.value.message)
    ScheduleFire.objects.all().delete()
    deactivate_person(actor=committed_cast.actor("gwen"), person=committed_cast.ada)
    let_pass(clock, 1)
    fire = ScheduleFire.objects.get(schedule_id=clock.pk)
    assert (fire.outcome, fire.reason) == ("skipped", OWNER_LEFT.format(owner="ada"))


def test_a_namesake_in_another_tenant_never_acts_for_an_owner_who_went(committed_cast: Cast, clock: Schedule) -> None:
    cast = committed_cast
    activated(cast.actor("sam"), NIGHTLY)
    Schedule.objects.filter(pk=clock.pk).update(owner_id=uuid7(), owner_name="sam")
    assert let_pass(clock, 1) == 0
    assert not Instance.objects.exists()
    fire = ScheduleFire.objects.get(schedule_id=clock.pk)
    assert (fire.outcome, fire.reason) == ("skipped", OWNER_LEFT.format(owner="sam"))


def test_a_supergods_schedule_starts_where_it_was_made(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), APPROVAL)
    zoe = cast.actor("zoe").within(cast.acme)
    schedule = schedules.create_schedule(actor=zoe, template="approval", cron=hourly(), input={"amount": 7})
    assert let_pass(schedule, 1) == 1
    assert Instance.objects.get().tenant_id == cast.acme.pk
    User.objects.filter(pk=cast.zoe.pk).update(level=5)
    ScheduleFire.objects.all().delete()
    assert let_pass(schedule, 1) == 0


def test_a_schedule_that_slept_for_days_makes_up_a_few_at_a_time_behind_all_others(
    committed_cast: Cast, clock: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule_runner, "STARTS_A_PASS", 2)
    other = schedules.create_schedule(actor=committed_cast.actor("ada"), template="nightly", cron=hourly())
    Schedule.objects.filter(pk=other.pk).update(look_at=database_now())
    assert let_pass(clock, 5, catch_up="all", overlap="allow") == 2
    assert schedule_runner.due_schedules() == [other.pk, clock.pk]
    assert [fire_due_slots(schedule_id=clock.pk) for _ in range(2)] == [2, 1]
    assert outcomes(clock) == ["started"] * 5


def test_one_tenants_late_schedules_let_the_others_have_their_turn(committed_cast: Cast, clock: Schedule) -> None:
    cast = committed_cast
    activated(cast.actor("sam"), TIMER)
    second = schedules.create_schedule(actor=cast.actor("ada"), template="nightly", cron=hourly())
    theirs = schedules.create_schedule(actor=cast.actor("sam"), template="timer", cron=hourly())
    for late, schedule in enumerate((theirs, second, clock)):
        Schedule.objects.filter(pk=schedule.pk).update(look_at=database_now() - timedelta(hours=late))
    assert schedule_runner.due_schedules() == [clock.pk, theirs.pk, second.pk]


def test_a_schedule_resumed_under_a_paused_template_waits_for_that(committed_cast: Cast, clock: Schedule) -> None:
    ada, gwen = committed_cast.actor("ada"), committed_cast.actor("gwen")
    pause_version(actor=gwen, name="nightly", number=1)
    schedules.pause_schedule(actor=ada, schedule_id=clock.pk)
    assert schedules.resume_schedule(actor=ada, schedule_id=clock.pk).look_at is None
    resume_version(actor=gwen, name="nightly", number=1)
    clock.refresh_from_db()
    assert clock.look_at == clock.next_at


def test_a_declared_schedule_lives_and_ends_with_its_template(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    version = activated(gwen, NIGHTLY)
    schedule = Schedule.objects.get()
    assert (schedule.declared, schedule.status, schedule.time_zone) == (True, "active", "Europe/Berlin")
    assert schedule.next_at.astimezone(UTC).hour in (0, 1)
    pause_version(actor=gwen, name="nightly", number=version.number)
    schedule.refresh_from_db()
    assert schedule.look_at is None
    resume_version(actor=gwen, name="nightly", number=version.number)
    schedule.refresh_from_db()
    assert schedule.look_at == schedule.next_at
    activated(gwen, NIGHTLY.replace("0 2", "30 4"))
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.status) == ("30 4 * * *", "active")
    archive_version(actor=gwen, name="nightly", number=2)
    schedule.refresh_from_db()
    assert schedule.status == "cancelled"
    assert Audit.objects.filter(subject_id=version.template_id, action="cancel_schedule").exists()


def test_a_version_put_in_force_over_a_paused_one_takes_its_schedules_up(committed_cast: Cast, clock: Schedule) -> None:
    gwen = committed_cast.actor("gwen")
    pause_version(actor=gwen, name="nightly", number=1)
    activated(gwen, TemplateVersion.objects.get(number=1).source)
    clock.refresh_from_db()
    assert clock.look_at == clock.next_at


def test_a_slot_that_waits_keeps_its_turn_through_a_pause(committed_cast: Cast, clock: Schedule) -> None:
    ada = committed_cast.actor("ada")
    let_pass(clock, 1)
    slot = database_now() - timedelta(seconds=30)
    Schedule.objects.filter(pk=clock.pk).update(cron="", once_at=slot, next_at=slot, look_at=slot, overlap="queue_one")
    assert fire_due_slots(schedule_id=clock.pk) == 0
    schedules.pause_schedule(actor=ada, schedule_id=clock.pk)
    resumed = schedules.resume_schedule(actor=ada, schedule_id=clock.pk)
    assert resumed.look_at is not None


def test_a_version_without_the_schedule_ends_it(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, NIGHTLY)
    activated(gwen, NIGHTLY.replace("trigger: scheduled\n", "").replace("schedule:", "# "))
    assert Schedule.objects.get().status == "cancelled"


def test_a_one_shot_runs_once_and_is_done(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), TIMER)
    schedule = schedules.create_schedule(actor=cast.actor("ada"), template="timer", once_at=database_now())
    while Schedule.objects.filter(pk=schedule.pk, status="active").exists():
        drain()
    assert (outcomes(schedule), Instance.objects.count()) == (["started"], 1)


def test_a_moment_that_is_over_is_refused_but_does_not_stop_other_changes(gwen: Actor, ada: Actor) -> None:
    activated(gwen, TIMER)
    over = database_now() - schedules.JUST_PASSED
    with pytest.raises(Invalid) as refusal:
        schedules.create_schedule(actor=ada, template="timer", once_at=over)
    assert [(error.path, error.code) for error in refusal.value.errors] == [("once_at", "past")]
    kept = schedules.create_schedule(actor=ada, template="timer", once_at=over + timedelta(hours=1))
    with pytest.raises(Invalid):
        schedule_changes.change_schedule(actor=ada, schedule_id=kept.pk, once_at=over)
    Schedule.objects.filter(pk=kept.pk).update(once_at=over, status="paused")
    changed = schedule_changes.change_schedule(actor=ada, schedule_id=kept.pk, once_at=over, overlap="allow")
    assert (changed.once_at, changed.overlap) == (over, "allow")


def test_preview_says_when_and_why(committed_cast: Cast, clock: Schedule) -> None:
    slots = schedules.preview_schedule(actor=committed_cast.actor("ada"), schedule_id=clock.pk, n=3)
    assert len(slots) == 3
    assert slots[1].at - slots[0].at == timedelta(hours=1)


def test_refusals(committed_cast: Cast, clock: Schedule) -> None:
    cast = committed_cast
    with pytest.raises(Refused):
        schedules.create_schedule(actor=cast.actor("uri"), template="nightly", cron="* * * * *")
    with pytest.raises(Invalid):
        schedules.create_schedule(actor=cast.actor("ada"), template="nightly", cron="61 * * * *")
    with pytest.raises(Invalid):
        schedules.create_schedule(
            actor=cast.actor("ada"), template="nightly", cron="* * * * *", once_at=datetime.now(UTC)
        )
    with pytest.raises(NotFound):
        schedules.pause_schedule(actor=cast.actor("sam"), schedule_id=clock.pk)
    paused = schedules.pause_schedule(actor=cast.actor("ada"), schedule_id=clock.pk)
    assert (paused.status, paused.look_at) == ("paused", None)


def test_a_schedule_whose_calendar_went_is_paused_and_told(clock: Schedule) -> None:
    assert let_pass(clock, 3, calendar="gone", catch_up="all", overlap="allow") == 1
    clock.refresh_from_db()
    assert (clock.status, clock.look_at) == ("paused", None)
    told = Audit.objects.get(subject_id=clock.template_id, action="pause_schedule")
    assert (told.actor_name, "gone" in told.cause) == ("engine", True)


def test_a_schedule_is_not_made_with_an_input_that_could_never_start(committed_cast: Cast) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    ada = committed_cast.actor("ada")
    with pytest.raises(Invalid) as refused:
        schedules.create_schedule(actor=ada, template="approval", cron="0 9 * * *", input={"amount": "much"})
    assert [error.path for error in refused.value.errors] == ["input.amount"]
    with pytest.raises(Invalid):
        schedules.create_schedule(actor=ada, template="approval", cron="0 9 * * *")
    assert not Schedule.objects.exists()
    schedules.create_schedule(actor=ada, template="approval", cron="0 9 * * *", input={"amount": 7})


def test_a_schedule_that_cannot_be_fired_never_stops_its_neighbours(committed_cast: Cast, clock: Schedule) -> None:
    other = schedules.create_schedule(actor=committed_cast.actor("ada"), template="nightly", cron=clock.cron)
    now = slots_ago(clock, 0)
    Schedule.objects.filter(pk=clock.pk).update(window="nonsense", next_at=now, look_at=now)
    Schedule.objects.filter(pk=other.pk).update(next_at=now, look_at=now)
    drain()
    assert Instance.objects.get().schedule_id == other.pk
    clock.refresh_from_db()
    assert clock.look_at is not None
    assert clock.look_at > database_now()
