"""Every action of the model is played at least once, whatever chance chooses elsewhere; every death is died."""

from collections.abc import Iterable
from typing import Any

import pytest

from engine.dispatch.crash_points import Boundary
from tests.model.conftest import NewWorld
from tests.model.machine import DEATHS, Machine
from tests.model.model import LIVE
from tests.model.test_machine import played

LIVING = ("running",)
FIRST = ["approval", "graph", "listening", "nightly", "parent", "queued", "refusing", "retried", "signalled"]


class Tour:
    """Play actions by name, all invariants after each, and remember which were played."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.world = machine, machine.world
        self.played: set[str] = set()
        machine.author_some(first=FIRST)
        machine.everything_holds()

    def play(self, action: str, **given: Any) -> None:
        getattr(self.machine, action)(**given)
        self.machine.everything_holds()
        self.played.add(action)

    def template(self, name: str) -> int:
        """Return the pick that means this template."""
        book = self.world.book
        return sorted(known for known in book.versions if book.in_force(known)).index(name)

    def instance(self, name: str, *statuses: str, among: Iterable[str] = LIVE) -> int:
        """Return the pick that means the first such instance."""
        seen = enumerate(self.world.instances(*among))
        return next(place for place, one in seen if one.template.name == name and one.status in (statuses or LIVING))

    def task(self, name: str) -> int:
        return next(place for place, task in enumerate(self.world.tasks()) if task.instance.template.name == name)


def test_every_action_is_played(new_world: NewWorld) -> None:
    tour = Tour(played(new_world)())
    author(tour)
    run(tour)
    repair(tour)
    ask_people(tour)
    follow_the_clock(tour)
    tour.play("archive", who="gwen", pick=tour.template("approval"))
    tour.machine.teardown()
    assert _actions() - tour.played == {"kill_worker"}


def _actions() -> set[str]:
    """Name every rule of the machine."""
    return {name for name, member in vars(Machine).items() if hasattr(member, "hypothesis_stateful_rule")}


def author(tour: Tour) -> None:
    tour.play("create", who="gwen", name="graph")
    tour.play("activate", who="ada", pick=tour.template("graph"))
    tour.play("activate", who="gwen", pick=tour.template("graph"))
    tour.play("pause", who="gus", pick=tour.template("queued"))
    tour.play("resume", who="gwen", pick=tour.template("queued"))
    tour.play("demote", who="gwen", whom="gus", level=4)


def run(tour: Tour) -> None:
    tour.play("start", who="ada", pick=tour.template("queued"), times=3)
    tour.play("start", who="uri", pick=tour.template("approval"), times=1)
    tour.play("announce", who="ada", again=False)
    tour.play("announce", who="adam", again=True)
    tour.play("signal", who="ada", pick=tour.instance("signalled"))
    tour.play("signal", who="adam", pick=tour.instance("signalled"))
    tour.play("duplicate_signal", pick=0)
    tour.play("execute")
    tour.play("complete", pick=tour.instance("graph", among=["running"]))
    tour.play("complete_step")
    tour.play("cancel", who="ada", pick=tour.instance("queued"))


def repair(tour: Tour) -> None:
    tour.play("start", who="ada", pick=tour.template("retried"), times=2)
    tour.play("suspend", who="ada", pick=tour.instance("retried"))
    while not tour.world.instances("incident"):
        tour.play("fail_step")
    tour.play("retry", who="adam", pick=0)
    tour.play("go_on", who="ada", pick=0)
    tour.play("start", who="ada", pick=tour.template("retried"), times=1)
    tour.play("fail", pick=0)


def ask_people(tour: Tour) -> None:
    tour.play("claim", who="ada", pick=tour.task("approval"))
    tour.play("release", who="uri", pick=tour.task("approval"))
    tour.play("release", who="ada", pick=tour.task("approval"))
    tour.play("complete_task", who="adam", pick=tour.task("approval"))
    tour.play("complete_task", who="sam", pick=tour.task("child"))


def follow_the_clock(tour: Tour) -> None:
    nightly = tour.template("nightly")
    tour.play("schedule", who="ada", pick=nightly, overlap="queue_one", catch_up="all", once=False)
    tour.play("schedule", who="gwen", pick=nightly, overlap="skip", catch_up="last", once=True)
    tour.play("pass_time", seconds=61)
    tour.play("trigger", minutes=2)
    tour.play("hold_schedule", who="ada", pick=0, on=False)
    tour.play("hold_schedule", who="ada", pick=0, on=True)
    tour.play("trigger", minutes=5)


@pytest.mark.slow
def test_a_worker_dies_everywhere(new_world: NewWorld) -> None:
    """Let a worker die at each boundary that these templates pass, and see that nothing of the model breaks by it."""
    tour = Tour(played(new_world)())
    died: set[Boundary] = set()
    for boundary in DEATHS:
        tour.machine.cancel(who="ada", pick=tour.instance("refusing"))  # its limit is one
        for name in ("refusing", "graph", "nightly"):
            tour.machine.start(who="ada", pick=tour.template(name), times=1)
        while boundary not in died and tour.world.due_ahead():
            tour.world.pass_to(tour.world.due_ahead()[0])
            died |= {boundary} if tour.world.work_and_die(boundary) else set()
            tour.machine.everything_holds()
    tour.machine.teardown()
    assert died == set(DEATHS)
