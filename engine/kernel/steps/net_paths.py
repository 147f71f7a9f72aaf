"""Return where tokens of a net can still come: an over-estimate that is never too early."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.kernel.steps.nets import Net


def can_still_come(net: "Net", frozen: set[str]) -> set[str]:
    """List the edges that may still get a token while some joins do not run.

    Start from the edges out of live steps; add those out of any step whose join could run with the tokens present and
    to come. Tokens are never used up here and conditions are ignored, so the answer is too large rather than too
    small; yet it sees that an AND-join with a dead leg cannot run.
    """
    coming = {edge for found in net.live() for edge in net.exits(str(found.key))}
    while True:
        more = {
            edge
            for name in net.steps
            if name not in frozen and _could_run(net, name, coming)
            for edge in net.exits(name)
        }
        if more <= coming:
            return coming
        coming |= more


def _could_run(net: "Net", name: str, coming: set[str]) -> bool:
    join, entries = net.join(name), net.entries(name)
    there = {edge for edge in entries if net.tokens.get(edge) or edge in coming}
    if not there:
        return False
    if join in ("each", "or"):
        return True
    if join == "all":
        return all(edge in coming or net.tokens.get(edge, 0) >= net.take_of(edge) for edge in entries)
    wanted = min(1 if join == "any" else int(join), len(entries))
    return _round_could_run(set(net.rounds.get(name, ())), set(entries), there, wanted)


def _round_could_run(came: set[str], entries: set[str], there: set[str], wanted: int) -> bool:
    """Return whether a counting join could run: in its open round, or once the entries that the round still lacks have come."""
    if len(came) < wanted:
        return len(came | there) >= wanted
    return entries - came <= there and len(there) >= wanted


def reaches(net: "Net", begin: Iterable[str], wanted: Iterable[str], barrier: str) -> bool:
    """Return whether a walk along edges from `begin` meets one that is wanted, without passing a step."""
    seen, pending = set(begin), list(begin)
    goal = set(wanted)
    while pending:
        edge = pending.pop()
        if edge in goal:
            return True
        name = edge.split(">")[1]
        if name != barrier:
            fresh = [out for out in net.exits(name) if out not in seen]
            seen.update(fresh)
            pending += fresh
    return False
