"""The gallery's stored tests once more, with tasks answered in other orders and everything delivered twice."""

import json
import random
from collections import Counter
from functools import cache
from typing import Any

import pytest

from engine.kernel.signals import Event, NamedSignal, Started
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.player import Play
from engine.kernel.simulator.world import World
from tests.kernel.test_cases import gallery

SHORT, LONG = 2, 25
DECIDED_BY_ORDER = frozenset(
    {"first", "any_order", "complete_when", "timeout", "deadline", "interrupting", "cancel", "exit", "net"}
)
"""Words of the language with which an author lets the order of events decide."""


class Twice(World):
    """A world in which whatever happens to a case happens to it once more, and that is stale."""

    def _turn(self, instance: Instance, event: Event) -> bool:
        applied = super()._turn(instance, event)
        if not isinstance(event, Started | NamedSignal) and instance.snapshot is not None and not instance.is_over:
            before = json.dumps(instance.snapshot.to_json())
            again = instance.send(event)
            assert again.applied == (False,) or _several_answer(instance, event)
            assert before == json.dumps(instance.snapshot.to_json())
        return applied


def _several_answer(instance: Instance, event: Event) -> bool:
    return getattr(event, "token", None) in instance.waits


class Shuffled(Play):
    """A stored test whose open tasks are answered in an order that a number decides."""

    def __init__(self, name: str, test: Any, number: int) -> None:
        super().__init__(gallery(), name, {**test, "expect": {}})
        self.world = Twice(gallery(), self.test)
        self.chance = random.Random(number)

    def _answer_one(self) -> bool:
        waiting = [(one, task) for one in self.world.instances for task in one.open_tasks()]
        self.chance.shuffle(waiting)
        for instance, task in waiting:
            given = self.world._given(instance, "answers", task.wait)
            if given is not None:
                self._answer(instance, task, given)
                return True
        return False


def _end(play: Play) -> Any:
    return [(one.definition.name, one.status.value, one.outcome) for one in play.world.instances]


def _effects(play: Play) -> Any:
    """Return what a case did outside itself, whatever the order."""
    made = [
        json.dumps([step, call.request], sort_keys=True) for one in play.world.instances for step, call in one.requests
    ]
    said = [json.dumps(record, sort_keys=True) for one in play.world.instances for record in one.emitted]
    done = [step for one in play.world.instances for step in one.completed]
    return Counter(made), Counter(said), Counter(done)


def _order_decides(value: Any) -> bool:
    """Return whether an author wrote down somewhere that the order decides."""
    if isinstance(value, list):
        return any(_order_decides(item) for item in value)
    if not isinstance(value, dict):
        return False
    join = value.get("join", "all")
    return (
        bool(DECIDED_BY_ORDER & set(value))
        or join not in ("all", "all_complete")
        or any(map(_order_decides, value.values()))
    )


@cache
def _alone(name: str) -> list[tuple[Any, Any, Any]]:
    """Play the tests of a workflow that play alone, unchanged: the test, its end, its effects."""
    found = []
    for test in gallery()[name].canonical.get("tests", ()):
        play = Play(gallery(), name, test)
        play.run()
        if "do" not in test and play.main is not None:
            found.append((test, _end(play), _effects(play)))
    return found


@cache
def _legal(name: str) -> set[Any]:
    """Name every end that the stored tests of a workflow come to."""
    ends = set()
    for test in gallery()[name].canonical.get("tests", ()):
        play = Play(gallery(), name, test)
        play.run()
        ends |= {(play.main.status.value, play.main.outcome)} if play.main is not None else set()
    return ends


def _try(name: str, orders: int) -> None:
    decides = _order_decides(gallery()[name].canonical["steps"])
    for test, end, effects in _alone(name):
        for number in range(orders):
            play = Shuffled(name, test, number)
            play.run()
            assert play.failures == []
            assert play.main is not None
            if not decides:
                assert (_end(play), _effects(play)) == (end, effects), (test["name"], number)
            assert (play.main.status.value, play.main.outcome) in _legal(name), (test["name"], number)
            over = [one for one in play.world.instances if one.is_over]
            assert not any(one.waits or one.last.snapshot.frames for one in over if one.last)


@pytest.mark.parametrize("name", sorted(gallery()))
def test_workflow_in_other_orders_with_everything_twice_comes_to_a_legal_end(name: str) -> None:
    _try(name, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(gallery()))
def test_workflow_in_many_other_orders_comes_to_a_legal_end(name: str) -> None:
    _try(name, LONG)


def test_both_sorts_of_workflow_are_there() -> None:
    sorts = Counter(_order_decides(one.canonical["steps"]) for one in gallery().values())
    assert sorts[False] >= 5
    assert sorts[True] >= 5
    assert sum(len(_alone(name)) for name in gallery()) > 40
