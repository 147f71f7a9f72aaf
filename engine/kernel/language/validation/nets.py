"""Check nets: where their edges lead, where two meet without a join, and which steps no token can ever begin.

What can happen in a net is found by a walk through its markings: a step whose join could run runs, its tokens are used
up, and conditions may turn out either way. More can happen in the walk than in an instance, never less; beyond a limit
the net is not judged.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.language.validation.flow import find_circle, refuse_keys
from engine.kernel.language.validation.paths import is_body, siblings

MOST_MARKINGS = 2_000
MOST_EFFORT = 60_000
"""How many steps are looked at in all walks of one template."""
AT_ONCE = frozenset({"set", "reference", "emit", "decide", "continue_with"})
"""Kinds that never wait and never end the instance."""
MOST_JOINS = 200
_AMOUNTS = ("make", "take")
Marking = frozenset[tuple[str, int]]


def check_nets(reading: Reading) -> None:
    """Check every net; the keys of its steps are allowed nowhere else."""
    effort = [MOST_EFFORT]
    for steps in siblings(reading).values():
        parent = reading.steps.get(steps[0].parent)
        if parent is not None and parent.kind == "net" and is_body(parent, steps):
            _check_net(reading, parent, steps, effort)
        else:
            refuse_keys(reading, steps, ("split",), "net")


def _check_net(reading: Reading, parent: Outline, steps: list[Outline], effort: list[int]) -> None:
    edges = {step.id: [edge["to"] for edge in step.spec.get("next", ())] for step in steps}
    start = (parent.spec.get("net") or {}).get("start") or steps[0].id
    entries = Counter(target for targets in edges.values() for target in set(targets))
    for step in steps:
        _check_edges(reading, step, edges)
        _check_join(reading, step, entries[step.id] + (step.id == start))
    if all(target in edges for targets in edges.values() for target in targets) and start in edges:
        _check_runs(reading, steps, edges, start, effort)
        _check_circles(reading, steps)
    _warn_of_circling_joins(reading, steps, edges)


def _check_edges(reading: Reading, step: Outline, edges: Mapping[str, list[str]]) -> None:
    for target in edges[step.id]:
        if target not in edges:
            hint = did_you_mean(target, edges)
            reading.error(step.node, "unknown_step", f"`{target}` is not a step of this net", step.path, hint)
    if any("max" in edge for edge in step.spec.get("next", ())):
        reading.error(step.node, "out_of_place", "`max` has no meaning on an edge of a net", step.path)


def _check_join(reading: Reading, step: Outline, entries: int) -> None:
    join = step.spec.get("join")
    if entries > 1 and join is None:
        text = f"{entries} edges lead to `{step.id}`: say how they come together"
        reading.error(step.node, "no_join", text, step.path, "join: each, all, any, or, or a number")
    if isinstance(join, int) and join > max(entries, 1):
        text = f"`join: {join}` means all here: only {entries} edges lead to `{step.id}`"
        reading.warn(step.node, "join_above", text, step.path)


def _check_runs(
    reading: Reading, steps: list[Outline], edges: Mapping[str, list[str]], start: str, effort: list[int]
) -> None:
    """Report the steps that no edge leads to, and the joins that no tokens can ever satisfy."""
    reached = _reached(edges, start)
    for step in steps:
        if step.id not in reached:
            reading.warn(step.node, "unreachable", f"no edge leads to `{step.id}`", step.path)
    run = _Walk({step.id: step.spec for step in steps}, start).steps_that_run(effort)
    silent = reached - run if run is not None else set()
    entered = {start}.union(*(targets for source, targets in edges.items() if source not in silent))
    for step in steps:
        if step.id in silent & entered:
            text = f"the tokens that `{step.id}` needs can never be there together"
            reading.error(step.node, "join_never", text, step.path, "join: any, each, or")


class _Walk:
    """All markings that a net can come to."""

    def __init__(self, specs: Mapping[str, Mapping[str, Any]], start: str) -> None:
        self.specs = specs
        self.start = start
        self.entries: dict[str, list[str]] = {name: [] for name in specs}
        self.takes: dict[str, int] = {}
        self.entries[start].append(f">{start}")
        for name, spec in specs.items():
            for edge in spec.get("next", ()):
                key = f"{name}>{edge['to']}"
                self.entries[edge["to"]] = list(dict.fromkeys([*self.entries[edge["to"]], key]))
                self.takes[key] = edge.get("take", 1)
        amounts = [edge.get(word, 1) for spec in specs.values() for edge in spec.get("next", ()) for word in _AMOUNTS]
        self.many = 2 * max(amounts, default=1) + 1

    def steps_that_run(self, effort: list[int]) -> set[str] | None:
        """Return the steps that can run at all; None when there are too many markings to walk through."""
        first: Marking = frozenset({(f">{self.start}", 1)})
        seen, pending, run = {first}, [first], set[str]()
        while pending:
            now = pending.pop()
            for name, after in self._following(now):
                run.add(name)
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
            effort[0] -= len(self.specs)
            if len(seen) > MOST_MARKINGS or effort[0] < 0:
                return None
            if len(run) == len(self.specs):
                break
        return run

    def _following(self, now: Marking) -> Iterator[tuple[str, Marking]]:
        tokens = dict(now)
        for name in self.specs:
            for used in self._uses(name, tokens):
                for made in _splits(name, self.specs[name]):
                    yield name, self._moved(tokens, used, made)

    def _uses(self, name: str, tokens: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
        """Return every choice of tokens with which a step's join can run."""
        full = [edge for edge in self.entries[name] if tokens.get(edge)]
        join = self.specs[name].get("join", "each")
        if join == "all":
            wanted = {edge: self.takes.get(edge, 1) for edge in self.entries[name]}
            if all(tokens.get(edge, 0) >= count for edge, count in wanted.items()):
                yield wanted
        elif join == "or":
            yield from ([dict.fromkeys(full, 1)] if full else [])
        else:
            count = 1 if join in ("each", "any") else min(int(join), len(self.entries[name]))
            yield from (dict.fromkeys(chosen, 1) for chosen in combinations(full, count))

    def _moved(self, tokens: Mapping[str, int], used: Mapping[str, int], made: Mapping[str, int]) -> Marking:
        left = {edge: self._taken(count, used.get(edge, 0)) for edge, count in tokens.items()}
        after = {edge: left.get(edge, 0) + made.get(edge, 0) for edge in {*left, *made}}
        return frozenset((edge, min(count, self.many)) for edge, count in after.items() if count)

    def _taken(self, count: int, used: int) -> int:
        """Take tokens off an edge; "many" minus one is still "many"."""
        return count if count == self.many else count - used


def _splits(name: str, spec: Mapping[str, Any]) -> Iterator[Mapping[str, int]]:
    """Return every choice of tokens that a step can make when it ends."""
    out = spec.get("next", ())
    split = spec.get("split") or ("one" if any("when" in edge for edge in out) else "all")
    unsure = 0 if split == "all" else sum("when" in edge for edge in out)
    for holds in product((True, False), repeat=min(unsure, 5)):
        told = iter(holds)
        chosen = [edge for edge in out if split == "all" or "when" not in edge or next(told, True)]
        chosen = chosen[:1] if split == "one" else chosen
        yield {f"{name}>{edge['to']}": edge.get("make", 1) for edge in chosen}


def _check_circles(reading: Reading, steps: list[Outline]) -> None:
    """Refuse a circle that always goes round and never waits."""
    at_once = {step.id for step in steps if step.kind in AT_ONCE and "when" not in step.spec}
    each = {step.id for step in steps if step.spec.get("join", "each") == "each"}
    sure = {
        step.id: [target for target in _sure_targets(step.spec) if target in at_once & each]
        for step in steps
        if step.id in at_once
    }
    circle = find_circle(sure)
    if circle:
        step = next(one for one in steps if one.id == circle[0])
        text = f"this circle never waits and never ends: {' → '.join(circle)}"
        reading.error(step.node, "endless_loop", text, step.path, "give an edge out of it a `when`")


def _sure_targets(spec: Mapping[str, Any]) -> list[str]:
    """Return the steps that surely get a token when a step ends."""
    out = spec.get("next", ())
    split = spec.get("split") or ("one" if any("when" in edge for edge in out) else "all")
    if split == "one":
        return [edge["to"] for edge in out[:1] if "when" not in edge]
    return [edge["to"] for edge in out if split == "all" or "when" not in edge]


def _reached(edges: Mapping[str, list[str]], start: str) -> set[str]:
    seen, pending = {start}, [start]
    while pending:
        fresh = [one for one in edges.get(pending.pop(), ()) if one not in seen]
        seen.update(fresh)
        pending += fresh
    return seen


def _warn_of_circling_joins(reading: Reading, steps: list[Outline], edges: Mapping[str, list[str]]) -> None:
    joins = [step for step in steps if step.spec.get("join") == "or"]
    reached = {step.id: _reached(edges, step.id) for step in joins[:MOST_JOINS]}
    for step in joins[:MOST_JOINS]:
        others = [one for one in reached if one != step.id]
        if any(step.id in reached[one] and one in reached[step.id] for one in others):
            reading.warn(step.node, "or_joins_circle", f"`{step.id}` and another OR-join wait on one circle", step.path)
