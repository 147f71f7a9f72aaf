"""Every pattern in any order of answers, each given twice, and with everything that is gone tried again."""

import json
import random
from typing import Any

import pytest

from engine.kernel.effects import Wait
from engine.kernel.signals import Event, NamedSignal, TaskCompleted, TimerDue
from engine.kernel.simulator.instance import Instance
from tests.patterns.book import Pattern, Played, read_book

PATTERNS = read_book()
NAMES = [f"{pattern.number}-{pattern.name}" for pattern in PATTERNS]
SHORT, LONG = 4, 40
MOST_ACTS = 60


def test_where_two_waits_are_open_at_once_two_orders_are_played() -> None:
    alone = [pattern.number for pattern in PATTERNS if _two_open(pattern) and not _parts(pattern)]
    assert alone == []


def _two_open(pattern: Pattern) -> bool:
    wanted = [found for acts in pattern.plays for entry in acts for found in entry.values()]
    return any(isinstance(found, list) and len(_answerable(found)) > 1 for found in wanted)


def _answerable(names: list[str]) -> list[str]:
    """Leave out the waits for children, which nobody answers."""
    return [name for name in names if not any(other.startswith(f"{name}/") for other in names)]


def _parts(pattern: Pattern) -> bool:
    """Return whether two plays do the same up to where two waits are open, and then differ."""
    for one in pattern.plays:
        for other in pattern.plays:
            for (before, after), (_, differs) in zip(_pairs(one), _pairs(other), strict=False):
                if after != differs and isinstance(before, list) and len(before) > 1:
                    return True
    return False


def _pairs(acts: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    wanted = [next(iter(entry.values())) for entry in acts]
    return list(zip(wanted, [str(next(iter(entry))) for entry in acts[1:]], strict=False))


class Shuffled:
    """One pattern, answered in an order that a number decides."""

    def __init__(self, pattern: Pattern, number: int) -> None:
        self.chance = random.Random(number)
        self.played = Played(pattern.template)
        starts = [str(next(iter(acts[0]))) for acts in pattern.plays]
        self.played.act(self.chance.choice(starts))
        self.gone: list[tuple[Instance, Event]] = []
        self.values = _values(pattern)

    def run(self) -> None:
        """Answer whatever is open until nothing is, or enough was done."""
        for _ in range(MOST_ACTS):
            waiting = [
                (one, wait) for one in self.played.world.instances for wait in one.waits.values() if not wait.side
            ]
            if not waiting or self.played.main.is_over:
                return
            self._answer(*self.chance.choice(sorted(waiting, key=lambda found: (found[0].facts.id, found[1].token))))

    def _answer(self, instance: Instance, wait: Wait) -> None:
        event = self._event(wait)
        if event is None:
            return
        self.played.world.send(instance, event)
        if not isinstance(event, NamedSignal):
            self.gone.append((instance, event))
        for late, again in self.gone[-4:]:
            before = json.dumps(late.snapshot.to_json()) if late.snapshot else ""
            assert not self.played.world.send(late, again)
            assert before == (json.dumps(late.snapshot.to_json()) if late.snapshot else "")

    def _event(self, wait: Wait) -> Event | None:
        if wait.task is not None:
            outcome = self.chance.choice(wait.task.outcomes).name
            return TaskCompleted(wait.token, outcome, "bob", self.values.get(wait.step, {}))
        if wait.name is not None:
            return NamedSignal(wait.name, wait.key, None)
        return TimerDue(wait.token) if wait.due_at is not None else None


def _values(pattern: Pattern) -> dict[str, Any]:
    """Collect the values with which the pattern's own plays answer its tasks."""
    acts = [str(act).partition(" ") for play in pattern.plays for entry in play for act in entry]
    return {step: json.loads(given) for step, _, given in acts if given.startswith("{") and step != "start"}


def _legal(pattern: Pattern) -> set[str]:
    """Name the ends that the pattern's own plays come to."""
    return {wanted for acts in pattern.plays for entry in acts for wanted in entry.values() if isinstance(wanted, str)}


def _play_orders(pattern: Pattern, orders: int) -> None:
    for number in range(orders):
        shuffled = Shuffled(pattern, number)
        shuffled.run()
        main = shuffled.played.main
        if main.is_over:
            assert main.status.value in _legal(pattern), (pattern.number, number)
            assert not any(one.waits or one.last.snapshot.frames for one in shuffled.played.world.instances if one.last)
        else:
            assert any(one.waits for one in shuffled.played.world.instances), (pattern.number, number)


@pytest.mark.parametrize("pattern", PATTERNS, ids=NAMES)
def test_pattern_comes_to_one_of_its_ends_in_any_order_with_answers_given_twice(pattern: Pattern) -> None:
    _play_orders(pattern, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS, ids=NAMES)
def test_pattern_comes_to_one_of_its_ends_in_very_many_orders(pattern: Pattern) -> None:
    _play_orders(pattern, LONG)
