"""Take calls on with the very slices that ask for them.

A call's signal is due at once when it is written, and a worker that takes it on pushes it behind the call's deadline: that is
a claim, a load and a commit for each batch of calls. Where the slice is a worker's own and it has room, the row is written behind
the deadline in the first place, and the worker begins the call after that commit. If it dies before, the signal is due after the
deadline, as it is for every call that was taken on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

Row = dict[str, Any]

GRACE_SECONDS = 5.0
"""Seconds after a call's deadline when its signal is due again: nobody waits for an answer any more by then."""


@dataclass(slots=True)
class TakenCalls:
    """The calls that one transaction takes on with its slices."""

    take_place: Callable[[UUID], bool]
    """Whether there is room for one more call of a tenant; the room is taken by that."""
    patience: float
    """Seconds that the transaction may take until its commit."""
    taken: list[tuple[Row, Row]] = field(default_factory=list)
    """Signal and effect of each, as they are written."""

    def take_on(self, signal: Row, effect: Row) -> None:
        """Take a call on, if there is room: write its signal behind its deadline, and its effect as made once."""
        if not self.take_place(UUID(str(signal["tenant_id"]))):
            return
        signal["attempts"], effect["made"] = 1, 1
        signal["due_at"] += timedelta(seconds=effect["timeout_seconds"] + GRACE_SECONDS + self.patience)
        self.taken.append((signal, effect))
