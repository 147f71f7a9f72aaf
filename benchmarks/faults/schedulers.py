"""Let four schedulers look at the same clocks, stopping for a while in the middle of their work: each slot is settled once."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from benchmarks.faults.crew import crew
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import a_house, wait_until
from engine.audit.chain import database_now
from engine.dispatch.schedules import fire_schedules
from engine.models import Instance, Schedule, ScheduleFire
from engine.services.schedules.lifecycle import create_schedule
from engine.services.schedules.runner import due_schedules
from tests.cast import Cast

SCHEDULERS = 4
SLOTS = 600
SHORT_SLOTS = 30
MINUTE = timedelta(minutes=1)

QUICK = """
workflow: tick
title: Tick
steps:
  - {id: note, set: {ticked: true}}
"""
LONG = """
workflow: tock
title: Tock
steps:
  - {id: stay, wait: {for: P1D}}
"""

KINDS = (
    {"template": "tick", "catch_up": "all", "overlap": "allow"},
    {"template": "tick", "catch_up": "last", "overlap": "allow"},
    {"template": "tock", "catch_up": "all", "overlap": "skip"},
    {"template": "tick", "catch_up": "all", "overlap": "skip", "window": "PT10M"},
)
"""What schedules say about slots that were missed and runs that overlap."""


def schedule_together(schedules: int) -> Outcome:
    """Let so many schedules find all their slots missed, and four schedulers settle them."""
    slots = SLOTS if schedules >= PAUSED.long else SHORT_SLOTS
    with crew() as hands:
        cast = a_house(QUICK, LONG)
        made = [_late(cast, number, slots) for number in range(schedules)]
        working = [hands.fork(partial(_schedule, seed)) for seed in range(SCHEDULERS)]
        pauses = _pause_until_done(working)
        faults = [f"scheduler {pid} ended" for pid in hands.ended()]
        hands.kill(*hands.pids)
        return _judge(made, slots, pauses, faults)


def _late(cast: Cast, number: int, slots: int) -> Schedule:
    """Make a schedule for every minute, and pretend that its first slots were long ago."""
    schedule = create_schedule(actor=cast.actor("ada"), cron="* * * * *", **KINDS[number % len(KINDS)])
    first = database_now().replace(second=0, microsecond=0) - MINUTE * (slots - 1)
    Schedule.objects.filter(pk=schedule.pk).update(next_at=first, look_at=first)
    schedule.next_at = first
    return schedule


def _schedule(seed: int) -> None:
    """Run schedules until the process is ended from outside."""
    dice = random.Random(seed)  # noqa: S311  the same hesitation each time
    while True:
        fire_schedules()
        time.sleep(dice.random() * 0.02)


def _pause_until_done(working: list[int]) -> int:
    """Stop one scheduler after the other wherever it is, as a machine that swaps would; return how often."""
    pauses = 0

    def pause_one() -> bool:
        nonlocal pauses
        pid = working[pauses % len(working)]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        os.kill(pid, signal.SIGCONT)
        pauses += 1
        return not due_schedules()

    wait_until(pause_one, patience=3600)
    return pauses


def _judge(made: list[Schedule], slots: int, pauses: int, faults: list[str]) -> Outcome:
    for schedule in made:
        faults += [f"{schedule.pk}: {fault}" for fault in _faults_of(schedule, slots)]
    outcomes = Counter(ScheduleFire.objects.values_list("outcome", flat=True))
    figures = {
        "schedules": len(made), "slots": sum(outcomes.values()), "started": outcomes["started"],
        "skipped": outcomes["skipped"], "pauses": pauses, "faults": len(faults),
    }  # fmt: skip
    return Outcome(figures, tuple(faults))


def _faults_of(schedule: Schedule, slots: int) -> Iterator[str]:
    fires = list(ScheduleFire.objects.filter(schedule_id=schedule.pk).order_by("slot"))
    expected = [schedule.next_at + MINUTE * number for number in range(len(fires))]
    if len(fires) < slots or [fire.slot for fire in fires] != expected:
        yield f"{len(fires)} slots are settled, not every one of {slots}"
    started = [fire.instance_id for fire in fires if fire.outcome == "started"]
    if sorted(map(str, started)) != sorted(map(str, _instances_of(schedule))):
        yield f"{len(started)} slots started an instance, there are {len(_instances_of(schedule))}"
    if [fire for fire in fires if fire.outcome == "skipped" and not fire.reason] or "waiting" in _outcomes(fires):
        yield "a slot has neither an instance nor a reason"
    if len(started) not in _legal_starts(schedule, fires):
        yield f"{len(started)} instances started of {len(fires)} slots by the rule {schedule.catch_up}, {schedule.overlap}"


def _instances_of(schedule: Schedule) -> list[object]:
    return list(Instance.objects.filter(schedule_id=schedule.pk).values_list("pk", flat=True))


def _outcomes(fires: list[ScheduleFire]) -> set[str]:
    return {fire.outcome for fire in fires}


def _legal_starts(schedule: Schedule, fires: list[ScheduleFire]) -> range:
    """Return how many may start; a trial that lasts over a full minute has slots that were not missed."""
    on_time = sum(fire.at - fire.slot < MINUTE for fire in fires)
    if schedule.template.name == "tock":
        return range(1, 2)
    if schedule.window:
        return range(1, 12 + on_time)
    return range(1, 2 + on_time) if schedule.catch_up == "last" else range(len(fires), len(fires) + 1)


PAUSED = Trial("schedulers", "each slot is one instance or one recorded skip", 8, 100, schedule_together, "schedules")
TRIALS = (PAUSED,)
