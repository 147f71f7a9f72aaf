"""Join two slices of one instance that are written together, as if they had been one."""

from engine.kernel.effects import Slice


def joined(first: Slice, then: Slice) -> Slice:
    """Return what both did: the later one has the last word, and what it closed of the first's leaves no trace."""
    opened, closed = {wait.token for wait in first.opened}, {wait.token for wait in then.closed}
    return then._replace(
        applied=first.applied,
        kept=first.kept,
        opened=tuple(wait for wait in first.opened if wait.token not in closed) + then.opened,
        closed=first.closed + tuple(wait for wait in then.closed if wait.token not in opened),
        effects=first.effects + then.effects,
        trace=first.trace + then.trace,
        changes=first.changes + then.changes,
    )
