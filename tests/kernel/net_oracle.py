"""An independent token game: every marking that a net can still come to, found by walking through all of them.

Nothing here is shared with the engine. A marking says which edges hold how many tokens, which steps run how often, and who
came in the open round of every counting join. Running steps may end in any order, conditions may turn out either way, and
other OR-joins may run whenever one entry is full: whatever could happen, happens in some branch of the walk.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

ENTRY = ">"
MOST_TOKENS = 2
"""In the walk counts above this are taken for this: a loop that makes tokens would be walked for ever."""

Counts = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Marking:
    """Where the tokens are."""

    tokens: Counts
    live: Counts
    rounds: frozenset[tuple[str, frozenset[str]]]


def marking(tokens: Mapping[str, int], live: Mapping[str, int], rounds: Mapping[str, Any]) -> Marking:
    """Make a marking from plain counts."""
    came = frozenset((name, frozenset(edges)) for name, edges in rounds.items() if edges)
    return Marking(_counts(tokens), _counts(live), came)


def _counts(found: Mapping[str, int]) -> Counts:
    return frozenset((name, count) for name, count in found.items() if count)


def bounded(now: Marking) -> Marking:
    """Take counts above the bound for the bound."""
    tokens, live = (
        frozenset((name, min(count, MOST_TOKENS)) for name, count in found) for found in (now.tokens, now.live)
    )
    return Marking(tokens, live, now.rounds)


class Game:
    """One net, as a canonical definition has it."""

    def __init__(self, net: Mapping[str, Any]) -> None:
        self.steps = {step["id"]: step for step in net["steps"]}
        self.start = net.get("start") or net["steps"][0]["id"]
        self.takes = {f"{name}>{edge['to']}": edge.get("take", 1) for name, edge in self._edges()}
        self.doors = {name: self._doors(name) for name in self.steps}

    def _edges(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, step in self.steps.items():
            for edge in step.get("next", ()):
                yield name, edge

    def _doors(self, name: str) -> list[str]:
        first = [f"{ENTRY}{name}"] if name == self.start else []
        return list(dict.fromkeys(first + [f"{source}>{name}" for source, edge in self._edges() if edge["to"] == name]))

    def join(self, name: str) -> Any:
        """Return how tokens come together at a step."""
        return self.steps[name].get("join", "each")

    # what can follow from a marking

    def following(self, now: Marking, frozen: frozenset[str]) -> Iterator[Marking]:
        """Yield every marking one event later; frozen OR-joins do not run."""
        for name, _ in now.live:
            yield from self.endings(now, name)
        for name in self.steps:
            if self.join(name) == "or" and name not in frozen:
                yield from self._or_runs(now, name)

    def endings(self, now: Marking, name: str) -> Iterator[Marking]:
        """Yield the markings after a running step ended, one for every way its conditions may turn out."""
        for edges in self._choices(self.steps[name]):
            board = Board(self, now)
            board.live[name] -= 1
            for edge in edges:
                board.tokens[f"{name}>{edge['to']}"] += edge.get("make", 1)
            for edge in edges:
                for _ in range(edge.get("make", 1)):
                    board.arrive(f"{name}>{edge['to']}")
            yield board.marking()

    def _choices(self, step: Mapping[str, Any]) -> Iterator[list[Mapping[str, Any]]]:
        out = list(step.get("next", ()))
        split = step.get("split") or ("one" if any("when" in edge for edge in out) else "all")
        if split == "all":
            yield out
            return
        for holds in product((True, False), repeat=sum("when" in edge for edge in out)):
            told = iter(holds)
            chosen = [edge for edge in out if "when" not in edge or next(told)]
            yield chosen[:1] if split == "one" else chosen

    def _or_runs(self, now: Marking, name: str) -> Iterator[Marking]:
        board = Board(self, now)
        full = [edge for edge in self.doors[name] if board.tokens[edge]]
        if full:
            for edge in full:
                board.tokens[edge] -= 1
            board.live[name] += 1
            yield board.marking()

    # questions

    def may_still_come(self, now: Marking, name: str, frozen: frozenset[str], most: int) -> bool | None:
        """Return whether a token can still reach an entry of an OR-join that is empty now; None: too much to walk."""
        held = {edge for edge, _ in now.tokens}
        empty = {edge for edge in self.doors[name] if edge not in held}
        seen, pending = {bounded(now)}, [bounded(now)]
        while pending:
            for found in map(bounded, self.following(pending.pop(), frozen)):
                if any(edge in empty for edge, _ in found.tokens):
                    return True
                if found not in seen:
                    seen.add(found)
                    pending.append(found)
            if len(seen) > most:
                return None
        return False

    def steps_that_run(self, now: Marking, most: int) -> set[str]:
        """Name the steps that run in some marking of the walk."""
        seen, pending, run = {bounded(now)}, [bounded(now)], set[str]()
        while pending and len(seen) <= most:
            current = pending.pop()
            run |= {name for name, _ in current.live}
            fresh = {bounded(found) for found in self.following(current, frozenset())} - seen
            seen |= fresh
            pending += fresh
        return run


class Board:
    """A marking while something moves on it."""

    def __init__(self, game: Game, now: Marking) -> None:
        self.game = game
        self.tokens = Counter(dict(now.tokens))
        self.live = Counter(dict(now.live))
        self.rounds = {name: set(edges) for name, edges in now.rounds}

    def marking(self) -> Marking:
        """Return where the tokens are now."""
        return marking(self.tokens, self.live, self.rounds)

    def arrive(self, edge: str) -> None:
        """Look at a step's entries when a token has come."""
        name = edge.split(">")[1]
        join = self.game.join(name)
        if not self.tokens[edge] or join == "or":
            return
        if join == "each":
            self.tokens[edge] -= 1
            self.live[name] += 1
        elif join == "all":
            self._all(name)
        else:
            self._count(name, edge, 1 if join == "any" else join)

    def _all(self, name: str) -> None:
        doors = self.game.doors[name]
        if all(self.tokens[edge] >= self.game.takes.get(edge, 1) for edge in doors):
            for edge in doors:
                self.tokens[edge] -= self.game.takes.get(edge, 1)
            self.live[name] += 1

    def _count(self, name: str, edge: str, wanted: int) -> None:
        doors, came = self.game.doors[name], self.rounds.setdefault(name, set())
        rest = self.game.steps[name].get("rest", "let_run")
        if edge in came:
            self.tokens[edge] -= rest != "block"
            return
        self.tokens[edge] -= 1
        came.add(edge)
        if len(came) == min(wanted, len(doors)):
            self.live[name] += 1
        if len(came) == len(doors):
            del self.rounds[name]
            for kept in doors:
                self.arrive(kept)
