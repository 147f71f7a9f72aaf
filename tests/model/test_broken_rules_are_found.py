"""The machine bites: each break of a rule makes it fail, and the same play over sound code does not.

A break is one small change to the product, made for the length of a test. Where the database itself would refuse what follows,
its triggers are put to sleep, so that the machine's own eyes are tried and not PostgreSQL's.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from django.db import connection

from engine import access
from engine.dispatch import schedules, signal_decoder
from engine.kernel.effects import Closing
from engine.kernel.machine import step_end
from engine.kernel.signals import Continue, SignalType
from engine.kernel.steps import graphs
from engine.models import Instance, Task
from engine.runtime import coordinator, moves
from engine.services.instances import lifecycle as instances
from engine.services.schedules import runner as schedule_runner
from engine.services.templates import versions as templates
from tests.model.conftest import NewWorld
from tests.model.machine import Machine
from tests.model.test_machine import played

Play = Callable[[Machine], None]
Break = Callable[[pytest.MonkeyPatch], None]

WATCHED = ("wf_instances", "wf_tasks", "wf_waits", "wf_signals")


@dataclass(frozen=True)
class Tooth:
    """What is broken, and the acts that then show it, with the templates they need."""

    first: list[str]
    plays: tuple[Play, ...]
    break_: Break


def _break_access(patch: pytest.MonkeyPatch, name: str, broken: Callable[..., Any]) -> None:
    """Break a rule of access wherever its modules know it by name."""
    for module in (
        access,
        *(import_module(f"{access.__name__}.{found.name}") for found in iter_modules(access.__path__)),
    ):
        if hasattr(module, name):
            patch.setattr(module, name, broken)


def _no_levels(patch: pytest.MonkeyPatch) -> None:
    _break_access(patch, "require_level", lambda actor, level, act: None)


def _no_wall_for_instances(patch: pytest.MonkeyPatch) -> None:
    _break_access(patch, "visible_instances", lambda actor: Instance.objects.select_related("template", "version"))


def _no_wall_for_tasks(patch: pytest.MonkeyPatch) -> None:
    rows = Task.objects.select_related("instance", "version__template", "assignee")
    _break_access(patch, "visible_tasks", lambda actor: rows.all())


def _no_limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(instances, "has_place", lambda version: True)


def _one_attempt_more(patch: pytest.MonkeyPatch) -> None:
    sound = step_end.retry_due

    def generous(machine: Any, frame: Any, error: Any) -> Any:
        frame.attempt -= 1
        try:
            return sound(machine, frame, error)
        finally:
            frame.attempt += 1

    patch.setattr(step_end, "retry_due", generous)


def _needs_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(graphs, "needs_of", lambda machine, child: [])


def _task_left_behind(patch: pytest.MonkeyPatch) -> None:
    from engine.runtime.projection import rows

    sound = rows.close_task

    def forgetful(stage: Any, closed: Any, delivery: Any) -> None:
        if closed.how is not Closing.WITHDRAWN:
            sound(stage, closed, delivery)

    patch.setattr(rows, "close_task", forgetful)


def _step_unrecorded(patch: pytest.MonkeyPatch) -> None:
    from engine.runtime.projection import rows

    sound = rows.acts
    patch.setattr(rows, "acts", lambda stage: [act for act in sound(stage) if act.action != "complete_step"])


def _author_unrecorded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(templates, "record", lambda subject, act, *, actor: None)


def _held_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(moves, "release_signals", lambda instance: None)


def _nobody_admitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(coordinator, "admit_next", lambda tenant_id, template_id, now: 0)
    patch.setattr(instances, "admit_waiting", lambda tenant_id, template_id: None)


def _slot_without_a_word(patch: pytest.MonkeyPatch) -> None:
    sound = schedule_runner.Firing.write

    def forgetful(one: schedule_runner.Firing) -> None:
        one.fires = [fire for fire in one.fires if fire.outcome != "skipped"]
        sound(one)

    patch.setattr(schedule_runner.Firing, "write", forgetful)


def _clock_asleep(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(schedules, "fire_schedules", lambda: 0)


def _retry_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(signal_decoder.EVENT_OF, SignalType.RETRY_DUE, lambda signal: Continue())


def _clock(machine: Machine) -> None:
    machine.schedule(who="ada", pick=0, overlap="skip", catch_up="last", once=False)


TEETH: dict[str, Tooth] = {
    "levels are not looked at": Tooth(["queued"], (lambda m: m.pause(who="ada", pick=0),), _no_levels),
    "other tenants see instances": Tooth(["queued"], (lambda m: m.cancel(who="sam", pick=0),), _no_wall_for_instances),
    "other tenants take tasks": Tooth(["queued"], (lambda m: m.claim(who="stan", pick=0),), _no_wall_for_tasks),
    "limits are not counted": Tooth(["queued"], (lambda m: m.start(who="ada", pick=0, times=3),), _no_limit),
    "a step is tried once too often": Tooth(
        ["retried"],
        (lambda m: m.fail_step(),) * 2 + (lambda m: m.pass_time(seconds=61), lambda m: m.execute()),
        _one_attempt_more,
    ),
    "a graph forgets needs": Tooth(["graph"], (lambda m: m.execute(),), _needs_ignored),
    "an end leaves a task": Tooth(["queued"], (lambda m: m.cancel(who="ada", pick=0),), _task_left_behind),
    "a step leaves no record": Tooth(["retried"], (lambda m: m.complete_step(),), _step_unrecorded),
    "an author leaves no record": Tooth(["queued"], (lambda m: m.pause(who="gwen", pick=0),), _author_unrecorded),
    "held signals stay held": Tooth(
        ["graph"], (lambda m: m.suspend(who="ada", pick=0), lambda m: m.go_on(who="ada", pick=0)), _held_for_ever
    ),
    "nobody is admitted": Tooth(
        ["queued"],
        (lambda m: m.start(who="ada", pick=0, times=3), lambda m: m.cancel(who="ada", pick=0)),
        _nobody_admitted,
    ),
    "a slot passes without a word": Tooth(["nightly"], (_clock, lambda m: m.trigger(minutes=5)), _slot_without_a_word),
    "the scheduler sleeps": Tooth(["nightly"], (_clock, lambda m: m.trigger(minutes=5)), _clock_asleep),
    "a retry never comes": Tooth(["retried"], (lambda m: m.fail_step(), lambda m: m.complete_step()), _retry_forgotten),
}


def _act(new_world: NewWorld, tooth: Tooth) -> None:
    """Play one tooth's acts through the machine, invariants after each, liveness at the end."""
    machine = played(new_world)()
    machine.author_some(first=tooth.first)
    machine.everything_holds()
    for play in tooth.plays:
        play(machine)
        machine.everything_holds()
    machine.teardown()


@contextmanager
def _sleeping_triggers() -> Iterator[None]:
    _alter("DISABLE")
    try:
        yield
    finally:
        _alter("ENABLE")


def _alter(how: str) -> None:
    with connection.cursor() as cursor:
        for table in WATCHED:
            cursor.execute(f"ALTER TABLE {table} {how} TRIGGER USER")


@pytest.mark.slow
def test_sound_code_passes_every_play(new_world: NewWorld) -> None:
    for tooth in TEETH.values():
        _act(new_world, tooth)


def test_every_break_is_found(new_world: NewWorld) -> None:
    unseen = []
    for name, tooth in TEETH.items():
        with pytest.MonkeyPatch.context() as patch, _sleeping_triggers():
            tooth.break_(patch)
            try:
                _act(new_world, tooth)
            except AssertionError:
                continue
            unseen.append(name)
    assert unseen == []
