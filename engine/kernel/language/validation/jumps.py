"""Check `next` on the steps of ordinary lists: where it may lead, what it leaves out, and circles without an end."""

from collections.abc import Iterator, Mapping

from engine.kernel.findings import did_you_mean
from engine.kernel.language.reading.nodes import Outline, Reading
from engine.kernel.language.validation.flow import find_circle, refuse_keys
from engine.kernel.language.validation.paths import (
    ENDING,
    Ways,
    always_ends,
    is_body,
    is_line,
    lists_in_reach,
    siblings,
    ways_of,
)

AT_ONCE = frozenset({"set", "reference", "emit", "decide", "continue_with", "group", "ext", "if", "switch", "repeat"})
"""Kinds that never wait of their own, but for what is inside them."""


def check_jumps(reading: Reading) -> None:
    """Check every list but those of nets."""
    for steps in siblings(reading).values():
        parent = reading.steps.get(steps[0].parent)
        if parent is not None and parent.kind == "net" and is_body(parent, steps):
            continue
        if is_line(reading, steps[0]):
            for step in steps:
                _check_edges(reading, step)
        else:
            refuse_keys(reading, steps, ("next",), "list of steps that run one after the other, or a net")
    inside = _by_parent(reading) if ways_of(reading) else {}
    for ways in ways_of(reading).values():
        _check_circles(reading, ways, inside)


def _check_edges(reading: Reading, step: Outline) -> None:
    edges = step.spec.get("next") or ()
    if edges and always_ends(step):
        reading.error(step.node, "out_of_place", f"nothing runs after `{step.kind}`: it has no `next`", step.path)
    lists = {name for name, _ in lists_in_reach(reading, step)} if edges else set()
    for place, edge in enumerate(edges):
        target = reading.steps.get(edge.get("to"))
        if target is not None and target.list not in lists:
            beside = [one.id for one in reading.steps.values() if one.list in lists and one.own_id]
            text = f"`next` may not lead to `{target.id}`: it leads to steps of the same list, or of the one around"
            reading.error(step.node, "next_elsewhere", text, step.path, did_you_mean(target.id, beside))
        if "make" in edge or "take" in edge:
            reading.error(step.node, "out_of_place", "`make` and `take` are only allowed in a net", step.path)
        if place and "when" not in edges[place - 1]:
            text = f"`next` never leads to `{edge.get('to')}`: the edge before it has no `when`"
            reading.warn(step.node, "unreachable", text, step.path)


def _check_circles(reading: Reading, ways: Ways, inside: Mapping[str, list[Outline]]) -> None:
    """Refuse a circle that never waits, and warn of one that only its limit ends."""
    by_id = {step.id: step for step in ways.steps}
    sure = {step.id: _sure_targets(ways, place) for place, step in enumerate(ways.steps)}
    quick = {name: targets for name, targets in sure.items() if all(map(_at_once, _all_of(by_id[name], inside)))}
    if circle := find_circle(quick):
        step, text = by_id[circle[0]], f"this circle never waits and never ends: {' → '.join(circle)}"
        reading.error(step.node, "endless_loop", text, step.path, "next: [{to: …, when: …}]")
        return
    lasting = {name: targets for name, targets in sure.items() if not any(map(_ends, _all_of(by_id[name], inside)))}
    if circle := find_circle(lasting):
        step, text = by_id[circle[0]], f"only its limit ends this loop: {' → '.join(circle)}"
        reading.warn(step.node, "endless_loop", text, step.path, "a `when` next to `to`, or an exit")


def _sure_targets(ways: Ways, place: int) -> list[str]:
    """Return where the flow surely continues after a step that succeeded or was skipped."""
    step = ways.steps[place]
    edges = step.spec.get("next") or ()
    own = {edge.get("to") for edge in edges}
    if (
        any("when" in edge for edge in edges[:1])
        or (edges and "when" in step.spec)
        or ways.jumps.get(step.id, set()) - own
    ):
        return []
    if edges:
        return [edges[0]["to"]]
    return [ways.steps[place + 1].id] if place + 1 < len(ways.steps) else []


def _by_parent(reading: Reading) -> dict[str, list[Outline]]:
    found: dict[str, list[Outline]] = {}
    for step in reading.steps.values():
        found.setdefault(step.parent, []).append(step)
    return found


def _all_of(step: Outline, inside: Mapping[str, list[Outline]]) -> Iterator[Outline]:
    """List a step and all inside it."""
    yield step
    for inner in inside.get(step.id, ()):
        yield from _all_of(inner, inside)


def _at_once(step: Outline) -> bool:
    return step.kind in AT_ONCE


def _ends(step: Outline) -> bool:
    return step.kind in ENDING or step.kind == "cancel"
