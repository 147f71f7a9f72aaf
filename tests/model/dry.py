"""Liveness: when nobody acts any more, the outside is well and time passes, everything that can continue does."""

from datetime import datetime

from engine.models import Instance, Schedule, ScheduleFire
from engine.services.schedules.lifecycle import pause_schedule
from engine.services.schedules.runner import due_schedules
from tests.model.invariants import check
from tests.model.model import ADMITTED, OVER, slots
from tests.model.outside import Mood, set_mood
from tests.model.templates import TEMPLATES
from tests.model.world import World

MOST_MOMENTS = 300
MOST_PASSES = 100
"""How often a worker may look at schedules that were asleep for hours: one pass starts a few instances of each."""


def run_dry(world: World) -> None:
    """Settle what is due, pause schedules, which would never end, then go from due moment to due moment."""
    set_mood(Mood.WELL)
    world.work()
    for _ in range(MOST_PASSES):
        if not due_schedules():
            break
        world.work()
    _every_slot_is_settled(world)
    for schedule in world.schedules():
        if schedule.status == "active":
            pause_schedule(actor=world.actor("gwen"), schedule_id=schedule.pk)
    for _ in range(MOST_MOMENTS):
        world.work()
        ahead = world.due_ahead()
        if not ahead:
            break
        world.pass_to(ahead[0])
    else:
        raise AssertionError(f"after {MOST_MOMENTS} moments these are still ahead: {world.due_ahead()}")
    world.hidden.clear()
    check(world)
    _nothing_stands_still(world)
    _all_that_can_run_has_run(world)


def _every_slot_is_settled(world: World) -> None:
    """Each slot up to now of a schedule in service has its row: an instance, a turn to wait for, or a skip with its reason."""
    for schedule in world.schedules():
        if schedule.status not in ("active", "done") or world.book.in_force(schedule.template.name) != "active":
            continue
        if schedule.status == "active":
            assert schedule.look_at is not None, f"nobody will ever look at {schedule} again"
            assert schedule.look_at > world.clock.at, f"{schedule} was due at {schedule.look_at} and nobody looked"
        fires = {fire.slot: fire for fire in ScheduleFire.objects.filter(schedule_id=schedule.pk)}
        missing = [slot for slot in _slots(schedule, world) if slot not in fires]
        assert not missing, f"{schedule} has nothing for {missing}"


def _slots(schedule: Schedule, world: World) -> list[datetime]:
    """Return the slots of a schedule up to now. The model's schedules ring every minute, or once."""
    if schedule.once_at:
        return [schedule.once_at] if schedule.once_at <= world.clock.at else []
    return slots(world.book.since[str(schedule.pk)], world.clock.at)


def _nothing_stands_still(world: World) -> None:
    """Every instance that is not over waits for a person, a named signal, a child, a turn or an operator."""
    admitted = {name: world.room(name) for name in TEMPLATES}
    for instance in world.instances("queued"):
        assert admitted[instance.template.name] == 0, f"{instance.pk} waits for a turn that is free"
    for instance in world.instances("running"):
        kinds = set(instance.waits.filter(side=False).values_list("kind", flat=True))
        assert kinds, f"{instance.pk} of {instance.template.name} waits for nothing"
        assert kinds <= {"task", "signal", "child"}, (
            f"{instance.pk} of {instance.template.name} still waits for {kinds}"
        )
        if kinds == {"child"}:
            assert _has_child_that_waits(instance), f"{instance.pk} waits for a child that is over"


def _has_child_that_waits(instance: Instance) -> bool:
    return instance.children.filter(status__in=ADMITTED, parent_token__isnull=False).exists()


def _all_that_can_run_has_run(world: World) -> None:
    """Every step whose needs are met has begun; in what is completed every step has."""
    for instance in world.glance.instances:
        by_step = world.glance.runs[instance.id]
        if instance.status in OVER - {"completed"} or instance.status in ("suspended", "incident"):
            continue
        for step, needed in TEMPLATES[instance.template].needs.items():
            met = all(any(run.status == "success" for run in by_step.get(need, ())) for need in needed)
            assert not met or by_step.get(step), f"{step} of {instance.id} could run and never did"
            assert instance.status != "completed" or by_step.get(step), f"{instance.id} is complete without {step}"
