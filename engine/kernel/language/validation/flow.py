"""Check how steps hang together: graphs, offers, loops, locks, what can be reached, whose result may be absent."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.kernel.expressions.cel import ExpressionRefused, Reference, check_text
from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Outline, Reading, Use
from engine.kernel.language.source import Node
from engine.kernel.language.validation.paths import (
    END,
    ENDING,
    Ways,
    ends_line,
    is_body,
    is_line,
    siblings,
    ways_of,
    ways_through,
)

WAITING = frozenset({"task", "signal", "wait", "workflow"})
ENDING_CASE = ENDING - {"exit"}
"""What does not come back behind the loop or group around it either."""


def check_graphs(reading: Reading) -> None:
    """Refuse needs of steps in other lists and needs in a circle."""
    for steps in siblings(reading).values():
        by_id = {step.id: step for step in steps}
        parent = reading.steps.get(steps[0].parent)
        if parent is not None and parent.kind in ("graph", "any_order") and is_body(parent, steps):
            _check_needs(reading, by_id)
        else:
            refuse_keys(reading, steps, ("needs",), "graph or any_order")


def _check_needs(reading: Reading, by_id: dict[str, Outline]) -> None:
    needs = {name: [need["step"] for need in step.spec.get("needs", ())] for name, step in by_id.items()}
    for name, needed in needs.items():
        for one in needed:
            if one not in by_id and one in reading.steps:
                text = f"`{name}` may only need steps of the same list, not `{one}`"
                reading.error(by_id[name].node, "unknown_need", text, by_id[name].path, did_you_mean(one, by_id))
    for step in by_id.values():
        _check_contradiction(reading, step)
    circle = find_circle(needs)
    if circle:
        step = by_id[circle[0]]
        reading.error(step.node, "circle", f"circular `needs`: {' → '.join(circle)}", step.path)


def _check_contradiction(reading: Reading, step: Outline) -> None:
    """Refuse needs that no end of the needed step can satisfy together."""
    wanted: dict[str, set[str]] = {}
    for need in step.spec.get("needs", ()):
        wanted.setdefault(need["step"], set()).add(need["on"])
    for name, ends in wanted.items():
        if {"success", "failure"} <= ends and step.spec.get("join", "all") == "all":
            text = f"`{step.id}` never runs: `{name}` cannot both succeed and fail"
            reading.error(step.node, "join_never", text, step.path, "join: or")


def find_circle(edges: Mapping[str, list[str]]) -> list[str]:
    """Find a circle in a graph, or nothing."""
    done: set[str] = set()
    for start in edges:
        trail: list[str] = []
        pending = [(start, iter(edges[start]))]
        while pending:
            name, rest = pending[-1]
            if name not in trail:
                trail.append(name)
            following = next((one for one in rest if one in edges and one not in done), None)
            if following is None:
                pending.pop()
                trail.pop()
                done.add(name)
            elif following in trail:
                return [*trail[trail.index(following) :], following]
            else:
                pending.append((following, iter(edges[following])))
    return []


def refuse_keys(reading: Reading, steps: list[Outline], keys: tuple[str, ...], where: str) -> None:
    """Refuse keys that only mean something in another container."""
    for step in steps:
        for key in keys:
            if key in step.spec:
                reading.error(step.node, "out_of_place", f"`{key}` is only allowed in a {where}", step.path)


def check_offers(reading: Reading) -> None:
    """Require that every branch of an offer begins with something that can happen."""
    for steps in siblings(reading).values():
        parent = reading.steps.get(steps[0].parent)
        if parent is None or not is_body(parent, steps):
            continue
        if parent.kind == "first" and steps[0].kind not in WAITING:
            text = f"a branch of `first` begins with {', '.join(sorted(WAITING))}, not with `{steps[0].kind}`"
            reading.error(steps[0].node, "no_wait_first", text, steps[0].path)
        if parent.kind == "any_order":
            for step in steps:
                if _first_kind(reading, step) not in WAITING:
                    reading.warn(
                        step.node, "no_wait_first", f"`{step.id}` starts by itself, so it is never chosen", step.path
                    )


def _first_kind(reading: Reading, step: Outline) -> str:
    inner = [one for one in reading.steps.values() if one.parent == step.id] if step.kind in ("group", "ext") else []
    return _first_kind(reading, inner[0]) if inner else step.kind


def check_reach(reading: Reading) -> None:
    """Warn of steps behind one after which nothing comes."""
    jumping = ways_of(reading)
    for name, steps in siblings(reading).items():
        if not is_line(reading, steps[0]) and "/finally" not in name:
            continue
        reached = jumping.get(name, Ways(steps)).reached()
        lost = next((place for place, step in enumerate(steps) if step.id not in reached), None)
        if lost is not None:
            before = steps[lost - 1]
            what = "`next`" if before.spec.get("next") else f"`{before.kind}`"
            text = f"nothing runs after {what} in line {reading.line_of(before.node)}"
            reading.warn(steps[lost].node, "unreachable", text, steps[lost].path)


def check_constants(reading: Reading) -> None:
    """Warn of conditions that never hold, of loops that only their limit ends, and of joins that want too many."""
    ended = _with_an_end_inside(reading)
    for step in reading.steps.values():
        if _is(step.spec.get("when"), "false") or (_is(step.spec.get("if"), "false") and step.spec.get("then")):
            reading.warn(step.node, "unreachable", f"`{step.id}` never runs: its condition is false", step.path)
        if step.kind == "repeat" and step.id not in ended and _never_ends(step):
            text = f"only its limit ends this loop: after {step.spec['repeat']['max']} rounds the step fails"
            reading.warn(step.node, "endless_loop", text, step.path, "a condition that changes, or an exit")
        if step.kind == "parallel":
            _check_branches(reading, step)


def _is(condition: object, word: str) -> bool:
    return isinstance(condition, str) and condition.strip() == word


def _never_ends(step: Outline) -> bool:
    loop = step.spec.get("repeat")
    return isinstance(loop, dict) and (_is(loop.get("while"), "true") or _is(loop.get("until"), "false"))


def _with_an_end_inside(reading: Reading) -> set[str]:
    """Return the steps that hold one which can end them."""
    ends = [step for step in reading.steps.values() if step.kind in ENDING or step.kind == "cancel"]
    return {above.id for step in ends for above in _above(reading, step)}


def _check_branches(reading: Reading, step: Outline) -> None:
    spec = step.spec.get("parallel")
    join = spec.get("join") if isinstance(spec, dict) else None
    branches = spec.get("branches") if isinstance(spec, dict) else None
    if isinstance(join, int) and branches and join > len(branches):
        text = f"`join: {join}` means all here: there are only {len(branches)} branches"
        reading.warn(step.node, "join_above", text, step.path)


def check_tags(reading: Reading) -> None:
    """Warn of a `cancel` by a tag that no step has."""
    known = {tag for step in reading.steps.values() for tag in step.spec.get("tags", ())}
    for step in reading.steps.values():
        wanted = step.spec.get("cancel")
        for tag in wanted.get("tags", ()) if isinstance(wanted, dict) else ():
            if tag not in known:
                reading.warn(
                    step.node, "unknown_tag", f"no step has the tag `{tag}`", step.path, did_you_mean(tag, known)
                )


def check_locks(reading: Reading) -> None:
    """Refuse locks that are taken in two orders: two instances of that block each other forever."""
    seen: dict[tuple[str, str], Outline] = {}
    for step in reading.steps.values():
        for outer in _above(reading, step):
            pairs = [(held, taken) for held in _locks(outer) for taken in _locks(step) if held != taken]
            for held, taken in pairs:
                seen[held, taken] = step
                if (taken, held) in seen:
                    line = reading.line_of(seen[taken, held].node)
                    text = f"`{held}` and `{taken}` are taken in two orders, see line {line}"
                    reading.error(step.node, "lock_order", text, step.path, "take both at once: mutex: [a, b]")


def _locks(step: Outline) -> list[str]:
    return step.spec.get("mutex") or []


def _above(reading: Reading, step: Outline) -> Iterator[Outline]:
    found = reading.steps.get(step.parent)
    while found is not None:
        yield found
        found = reading.steps.get(found.parent)


_HAS = re.compile(r"has\(\s*result\.(\w+)|get\(\s*result\s*,\s*'(\w+)|status\.(\w+)\s*==\s*'success'")
_PICKED = re.compile(r"result\.(\w+)\.branch\s*==\s*'([^']*)'")
_SURE = frozenset({"group", "graph"})


def check_results(reading: Reading) -> None:
    """Warn where a result is read that may be absent then."""
    tops = _tops(reading)
    for use in reading.uses:
        try:
            references = check_text(use.text)
        except ExpressionRefused:
            continue
        looked_for = {one.path[0] for one in references if one.root == "result" and one.guarded and one.path}
        looked_for |= _looked_for_around(reading, use, tops)
        for reference in references:
            if reference.root == "result" and reference.path and not reference.guarded:
                _check_result(reading, use, reference, looked_for)


def _looked_for_around(reading: Reading, use: Use, tops: Mapping[tuple[str, str], set[str]]) -> set[str]:
    """Find the results that conditions around a place have looked for."""
    step = reading.steps.get(use.step)
    around = [step, *_above(reading, step)] if step is not None else []
    texts = [str(one.spec.get(key, "")) for one in around for key in ("if", "when")]
    named = {name for text in texts for found in _HAS.findall(text) for name in found if name}
    chosen = {pair for text in texts for pair in _PICKED.findall(text)}
    return named.union(*(tops.get(pair, ()) for pair in chosen))


def _tops(reading: Reading) -> dict[tuple[str, str], set[str]]:
    """Name, for every branch of an offer, the steps that surely ran once it was picked."""
    found: dict[tuple[str, str], set[str]] = {}
    for step in reading.steps.values():
        _, _, branch = step.list.removesuffix("/steps").rpartition("/branches/")
        if branch and _is_sure(step):
            found.setdefault((step.parent, branch), set()).add(step.id)
    return found


def _check_result(reading: Reading, use: Use, reference: Reference, looked_for: set[str]) -> None:
    name = reference.path[0]
    step = reading.steps.get(name)
    if step is None or name in looked_for or name in reading.into or _surely_before(reading, step, use):
        return
    node = Node(use.node.line, use.node.column + use.offset + reference.offset + int(use.node.quoted))
    text = f"`result.{name}` may be absent here"
    reading.warn(node, "maybe_absent", text, use.path, f"has(result.{name}) or get(result, '{name}', null)")


def _surely_before(reading: Reading, step: Outline, use: Use) -> bool:
    """Return whether a step has surely succeeded when an expression is computed."""
    if not use.step:
        chain = [step, *_above(reading, step)]
        passed = all(_is_passed(reading, one) for one in chain)
        return passed and _is_sure(step) and all(_is_sure_container(one) for one in chain[1:])
    here = reading.steps[use.step]
    if here is step and use.path.startswith(f"{step.path}/next"):
        return True  # only a success decides where the flow continues
    chain_here = [here, *_above(reading, here)]
    current, sure = step, _is_sure(step)
    while True:
        same_list = next((one for one in chain_here if one.list == current.list), None)
        if same_list is not None:
            return sure and (_comes_first(reading, current, same_list, use) or _in_graph(reading, current))
        above = reading.steps.get(current.parent)
        if above is None:
            return False
        inside = next((one for one in chain_here if one is above), None)
        if inside is not None:
            return here is above and sure
        passes = is_body(above, [current]) and _is_sure_container(above)
        sure = sure and (passes or _others_end(above, current)) and _is_passed(reading, current)
        current = above


def _is_passed(reading: Reading, step: Outline) -> bool:
    """Return whether no jump leads past a step to the end of its list."""
    ways = ways_of(reading).get(step.list)
    return ways is None or ways.surely_before(step.id, END)


def _comes_first(reading: Reading, step: Outline, other: Outline, use: Use) -> bool:
    if step is other:
        return "/output" in use.path or "/undo" in use.path or "/on" in use.path.rsplit(step.id, 1)[-1]
    ways = ways_of(reading).get(step.list)
    if ways is not None:
        return ways.surely_before(step.id, other.id)
    return (step.node.line, step.node.column) < (other.node.line, other.node.column)


def _others_end(container: Outline, inside: Outline) -> bool:
    """Return whether the flow comes back from a container only through the branch that contains a step."""
    others = [steps for steps in ways_through(container.spec) if not any(one is inside.spec for one in steps)]
    ways = len(ways_through(container.spec))
    ended = all(any(ends_line(step, ENDING_CASE) for step in steps) for steps in others)
    return _is_sure(container) and len(others) == ways - 1 and ended


def _in_graph(reading: Reading, step: Outline) -> bool:
    parent = reading.steps.get(step.parent)
    return parent is not None and parent.kind in ("graph", "net", "any_order")


def _is_sure(step: Outline) -> bool:
    if "when" in step.spec or "allow_failure" in step.spec or ("on_timeout" in step.spec and step.kind != "task"):
        return False
    if not all(
        _handler_ends(handler)
        for handler in step.spec.get("on") or ()
        if handler.get("interrupting") or "error" in handler
    ):
        return False
    return all(_handler_ends(handler) for handler in step.spec["on_error"] or [{}]) if "on_error" in step.spec else True


def _handler_ends(handler: Mapping[str, Any]) -> bool:
    """Return whether the flow does not come back from a handler."""
    steps = handler.get("steps") or [{}]
    jumps = any("when" not in edge for edge in steps[-1].get("next", ()))
    return (bool(ENDING & set(steps[-1])) or jumps) and "when" not in steps[-1]


def _is_sure_container(step: Outline) -> bool:
    if not _is_sure(step):
        return False
    if step.kind in _SURE:
        return True
    spec = step.spec.get(step.kind)
    if step.kind == "repeat" and isinstance(spec, dict):
        return "until" in spec or (isinstance(spec.get("times"), int) and spec["times"] > 0)
    return step.kind == "parallel" and isinstance(spec, dict) and spec.get("join") == "all"
