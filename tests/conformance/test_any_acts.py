"""Acts that nobody thought of: anybody does anything to any task, and both sides say the same each time."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.kernel.simulator.instance import Instance, Task
from engine.kernel.simulator.people import Refused
from engine.kernel.transitions import InstanceStatus
from tests.conformance.comparison import TASK_ACTS, Comparison
from tests.conformance.documents import Stored, stored_tests
from workflowplatform.ids import keep_time

ACTS = 25
VERBS = (*TASK_ACTS, "complete", "complete", "claim", "signal", "advance", "start")
LEVELS = (2, 3, 4, 4, 5)


class Improvised(Comparison):
    """A workflow with a cast of its own, to whom anything may occur."""

    def __init__(self, stored: Stored, seed: int) -> None:
        self.chance = random.Random(f"{stored.definition.name} {seed}")
        roles = sorted({role for one in stored.around.values() for role in _roles(one.canonical)})
        people = {
            f"p{number}": {"level": level, "roles": [role for role in roles if self.chance.random() < 0.6]}
            for number, level in enumerate(LEVELS)
        }
        given = {key: value for key, value in stored.test.items() if key in ("at", "start", "calls", "calendars")}
        self.answers = dict(stored.test.get("answers") or {})
        starters = stored.definition.starters
        people["boss"] = {"level": max(5, starters.min_level), "roles": roles}
        test = {**given, "people": people, "as": "boss", "do": []}
        super().__init__(Stored(stored.source, stored.definition, test, stored.around, is_first=True))

    def improvise(self) -> None:
        """Start a case and let anything happen to it."""
        self.run()
        for _ in range(ACTS if self.main else 0):
            if self.differences:
                return
            instance = self.chance.choice(self.world.instances)
            act = self._think_of(instance)
            word = next(iter(act))
            try:
                self.perform(word, instance, act)
            except Refused:
                continue

    def _think_of(self, instance: Instance) -> dict[str, Any]:
        tasks = list(instance.tasks.values())
        verb = self.chance.choice(VERBS)
        if verb == "advance":
            return {"advance": self.chance.choice(["PT1H", "P1D", "P5D"])}
        if verb == "start":
            return {"start": self.test.get("start"), "by": self._anybody(), "name": f"case {len(self.world.instances)}"}
        if verb == "signal" or not tasks:
            names = [str(wait.name) for wait in instance.waits.values() if wait.name] or ["nothing"]
            return {"signal": self.chance.choice(names), "by": self._anybody()}
        return self._with(verb, self.chance.choice([*tasks, *(task for task in tasks if task.is_open)] or tasks))

    def _with(self, verb: str, task: Task) -> dict[str, Any]:
        act: dict[str, Any] = {verb: f"{task.wait.step}{task.wait.iteration}", "by": self._anybody()}
        if verb == "complete":
            act["with"] = self._answer_to(task)
        if verb == "ask":
            act["with"] = self._anybody()
        if verb == "assign":
            act["with"] = {"user": self.chance.choice([None, self._anybody(), self._anybody()])}
        if self.chance.random() < 0.4 and verb in ("complete", "claim", "skip"):
            act.pop("by")
        return act

    def _answer_to(self, task: Task) -> dict[str, Any]:
        known = self.answers.get(task.wait.step) or {}
        known = known[0] if isinstance(known, list) else known
        values = {key: value for key, value in known.items() if key != "by"}
        outcomes = [outcome.name for outcome in task.task.outcomes]
        outcome = self.chance.choice([None, "nonsense", *outcomes, *outcomes, *outcomes])
        said = {"outcome": outcome} if outcome else {}
        return {**values, **said, "comment": self.chance.choice(["", " ", "because"])}

    def _anybody(self) -> str:
        return self.chance.choice([*self.world.people, "stranger"])


def _roles(value: Any) -> Iterator[str]:
    yield from value["requires"]["roles"]


def workflows() -> Iterator[Any]:
    """Yield every workflow once, by its first test."""
    for stored in stored_tests():
        if stored.is_first and stored.expects:
            yield pytest.param(stored, id=f"{stored.source}: {stored.definition.name}")


@pytest.fixture
def own_time(db: None) -> Iterator[None]:
    """Let ids follow the clock again that goes."""
    yield
    keep_time(datetime.now(UTC))


@pytest.mark.slow
@pytest.mark.usefixtures("own_time")
@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("stored", list(workflows()))
def test_whatever_is_done_is_answered_alike(
    stored: Stored, seed: int, record_property: Callable[[str, int], None]
) -> None:
    if any("decorate" in step.spec for step in stored.definition.steps.values()):
        pytest.skip("its tenant has registered something")
    improvised = Improvised(stored, seed)
    improvised.improvise()
    record_property("acts compared", improvised.acts)
    assert not improvised.differences, "\n".join(improvised.differences)
    assert improvised.acts or improvised.refused
    assert all(one.status is not InstanceStatus.SUSPENDED for one in improvised.world.instances)
