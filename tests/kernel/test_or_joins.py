"""An OR-join never runs while a token could still come: random nets, compared with a walk through all their markings."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import TaskCompleted
from engine.kernel.steps import nets
from tests.kernel.net_oracle import ENTRY, Board, Game, Marking, marking
from tests.kernel.play import Case
from tests.kernel.test_properties import TERMINAL, grown

SHORT, LONG = int(os.environ.get("NET_EXAMPLES", "80")), int(os.environ.get("NET_EXAMPLES", "4000"))
MOST_MARKINGS = 1_500
NAMES = "abcdefgh"
JOINS = st.sampled_from(["or", "or", "or", "each", "all", "any", 2])
CHOICES = st.lists(st.integers(0, 999), max_size=16)


@st.composite
def random_nets(draw: Any) -> dict[str, Any]:
    """Draw a net of three to seven tasks in which at least one OR-join has two entries."""
    names = NAMES[: draw(st.integers(3, 7))]
    targets = {name: draw(st.lists(st.sampled_from(names[1:]), max_size=3, unique=True)) for name in names}
    merging = draw(st.sampled_from(names[1:]))
    for source in draw(st.lists(st.sampled_from(names.replace(merging, "")), min_size=2, max_size=3, unique=True)):
        targets[source] = list(dict.fromkeys([*targets[source], merging]))
    entries = Counter(target for found in targets.values() for target in found)
    steps = [_step(draw, name, targets[name], entries[name], name == merging) for name in names]
    return {"workflow": "grown", "steps": [{"id": "n", "net": {"steps": steps, "leftover": "drop"}}]}


def _step(draw: Any, name: str, targets: list[str], entries: int, merging: bool) -> dict[str, Any]:
    step: dict[str, Any] = {"id": name, "task": {"title": "T", "outcomes": ["yes", "no"]}}
    if targets:
        step["next"] = [_edge(draw, name, target) for target in targets]
        if draw(st.booleans()):
            step["split"] = draw(st.sampled_from(["all", "one", "many"]))
    if entries > 1:
        step["join"] = "or" if merging else draw(JOINS)
    if step.get("join") in ("any", 2) and draw(st.booleans()):
        step["rest"] = "block"
    return step


def _edge(draw: Any, name: str, target: str) -> dict[str, Any]:
    edge: dict[str, Any] = {"to": target}
    if draw(st.integers(0, 2)) == 1:
        edge["when"] = f"get(result, '{name}.outcome', '') == '{draw(st.sampled_from(['yes', 'no']))}'"
    if draw(st.integers(0, 11)) == 7:
        edge["make"] = 2
    return edge


@dataclass
class Watched:
    """What the engine decided about OR-joins, checked decision by decision."""

    game: Game
    chosen: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def look(self, net: Any, chosen: str | None) -> None:
        """Compare one decision with the walk."""
        now = marking_of(net.tokens, [str(found.key) for found in net.live()], net.rounds)
        waiting = [name for name in self.game.steps if self._waits(now, name)]
        if chosen is not None:
            self.seen[self.judged(now, chosen, frozenset(waiting))] += 1
            self.chosen.append(chosen)
        elif waiting:
            assert now.live, f"{waiting} wait for nothing"
            self.seen["waited"] += 1

    def _waits(self, now: Marking, name: str) -> bool:
        held = {edge for edge, _ in now.tokens}
        return self.game.join(name) == "or" and any(edge in held for edge in self.game.doors[name])

    def judged(self, now: Marking, chosen: str, waiting: frozenset[str]) -> str:
        """Return why an OR-join may run: nothing can come any more, or the waiting ones wait for each other only."""
        alone = self.game.may_still_come(now, chosen, frozenset({chosen}), MOST_MARKINGS)
        if alone is not True:
            return "undecided" if alone is None else "nothing can come"
        left = waiting
        while left:
            coming = {name: self.game.may_still_come(now, name, left, MOST_MARKINGS) for name in left}
            if None in coming.values():
                return "undecided"
            if not any(coming.values()):
                break
            left = frozenset(name for name in left if not coming[name])
        assert chosen in left, f"{chosen} ran too early at {now}"
        return "they wait for each other"


def marking_of(tokens: dict[str, int], live: list[str], rounds: dict[str, list[str]]) -> Marking:
    """Read a marking from what the engine holds."""
    return marking(tokens, Counter(live), rounds)


@contextmanager
def watching(game: Game) -> Iterator[Watched]:
    """Look over the engine's shoulder whenever it decides about OR-joins."""
    decide, watched = nets._free_join, Watched(game)

    def observed(net: Any) -> str | None:
        chosen = decide(net)
        watched.look(net, chosen)
        return chosen

    nets._free_join = observed
    try:
        yield watched
    finally:
        nets._free_join = decide


def play_net(workflow: dict[str, Any], choices: list[int]) -> Counter[str]:
    """Play a net, comparing every marking and every decision; give what was seen."""
    if normalize(json.dumps(workflow)).canonical is None:
        reject()
    definition = grown(workflow)
    game = Game(definition.canonical["steps"][0]["net"])
    with watching(game) as watched:
        case = Case(definition)
        expect(case, watched, [begun(game)])
        for choice in choices:
            waits = [wait for _, wait in sorted(case.waits.items())]
            if not waits or case.status in TERMINAL:
                break
            wait = waits[choice % len(waits)]
            before = standing(case)
            assert before is not None
            case.send(TaskCompleted(wait.token, "yes" if choice % 2 else "no", "bob", {}))
            expect(case, watched, list(game.endings(before, wait.step)))
    return watched.seen


def begun(game: Game) -> Marking:
    """Return the marking of a net when its first token has reached the first step."""
    board = Board(game, marking({f"{ENTRY}{game.start}": 1}, {}, {}))
    board.arrive(f"{ENTRY}{game.start}")
    return board.marking()


def standing(case: Case) -> Marking | None:
    """Read the marking of a case's net, None once it is over."""
    frames = case.last.snapshot.frames
    found = next((frame for frame in frames if frame.get("step") == "n"), None)
    if found is None:
        return None
    more = found["more"]
    live = [frame["key"] for frame in frames if frame["p"] == found["n"] and "step" in frame]
    return marking_of(more["tok"], live, more["rnd"])


def expect(case: Case, watched: Watched, possible: list[Marking]) -> None:
    """Let the OR-joins that ran run in the game too, and find the engine's marking among the possible ones."""
    for name in watched.chosen:
        possible = [after for now in possible for after in watched.game._or_runs(now, name)]
    watched.chosen.clear()
    found = standing(case)
    if found is None:
        assert any(not now.live for now in possible)
    else:
        assert found in possible


def _settings(examples: int) -> settings:
    """Draw so many nets, and do not look for a smaller one when one fails: its walks take long."""
    return settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
    )


@_settings(SHORT)
@given(random_nets(), CHOICES)
def test_or_join_never_runs_too_early_and_tokens_move_as_in_the_game(
    workflow: dict[str, Any], choices: list[int]
) -> None:
    play_net(workflow, choices)


@_settings(SHORT // 2)
@given(random_nets())
def test_join_that_is_refused_as_never_satisfied_never_runs_in_the_game(workflow: dict[str, Any]) -> None:
    found = normalize(json.dumps(workflow)).findings
    refused = {one.message.split("`")[1] for one in found if one.code == "join_never"}
    net = workflow["steps"][0]["net"]
    game = Game(net)
    silent = set(game.steps) - game.steps_that_run(begun(game), MOST_MARKINGS)
    assert refused <= silent
    assert {one.code for one in found if one.severity == "error"} <= {"join_never"}


@pytest.mark.slow
def test_or_joins_of_thousands_of_nets() -> None:
    total: Counter[str] = Counter()

    @_settings(LONG)
    @given(random_nets(), CHOICES)
    def play(workflow: dict[str, Any], choices: list[int]) -> None:
        total.update(play_net(workflow, choices))

    play()
    assert total["nothing can come"] > LONG // 4
    assert total["they wait for each other"] > 0
    assert total["undecided"] < sum(total.values()) // 20


EAGER = {"workflow": "grown", "steps": [{"id": "n", "net": {"leftover": "drop", "steps": [
    {"id": "a", "task": {"title": "A"}, "next": ["b", "c"]},
    {"id": "b", "task": {"title": "B"}, "next": ["j"]},
    {"id": "c", "task": {"title": "C"}, "next": ["d"]},
    {"id": "d", "task": {"title": "D"}, "next": ["j"]},
    {"id": "j", "task": {"title": "J"}, "join": "or"},
]}}]}  # fmt: skip


def test_walk_notices_a_join_that_runs_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nets, "_awaits", lambda net, name, frozen: False)
    with pytest.raises(AssertionError, match="j ran too early"):
        play_net(EAGER, [0, 0, 0])


def test_walk_notices_a_join_that_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nets, "_free_join", lambda net: None)
    with pytest.raises(AssertionError, match="wait for nothing"):
        play_net(EAGER, [0, 0, 0, 0])
