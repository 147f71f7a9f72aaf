"""Bound what one transaction may do in all, however many instances it moves or creates.

A slice has its own bound. What follows from it in the same transaction, children that run at once and parents that continue
after them, is taken from one allowance; the rest is queued, and a worker takes it later, tenants in turn. So no tenant holds a
worker, a lock or memory for longer than an allowance lasts.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from engine.conf import conf
from engine.kernel.effects import Slice
from engine.models import Instance
from engine.runtime.projection import Loaded

LEAST_SECONDS, LEAST_STEPS = 0.005, 10
"""What a slice has in any case, however many there are in its transaction."""
STEPS_PER_START = 5
"""How many steps the rows of a new instance are worth."""

Refusal = tuple[str, str]


def never() -> bool:
    """Return False: nobody asked to stop."""
    return False


@dataclass(slots=True)
class Allowance:
    """How much is left of what a transaction may do."""

    slices: int = 1
    """How many instances it was asked to move."""
    starts: int = field(default_factory=lambda: conf.transaction_starts)
    lined_up: int = 0
    """How many instances were asked for so far: what cannot run here is written nevertheless."""
    steps: int = field(default_factory=lambda: conf.transaction_steps)
    seconds: float = field(default_factory=lambda: conf.transaction_seconds)
    began_at: float = field(default_factory=time.monotonic)
    is_asked_to_stop: Callable[[], bool] = never
    families: dict[UUID, int] = field(default_factory=dict)
    """How many descendants each family has that was asked after."""
    _most_starts: int = 0

    def __post_init__(self) -> None:
        self._most_starts = self.starts

    @classmethod
    def for_turn(
        cls, slices: int, steps: int, seconds: float, is_asked_to_stop: Callable[[], bool] = never
    ) -> "Allowance":
        """Return the allowance of a worker's turn: shorter than that of a transaction that a user waits for."""
        starts = max(2, min(conf.transaction_starts, steps // STEPS_PER_START))
        seconds = min(seconds, conf.transaction_seconds)
        steps = min(steps, conf.transaction_steps)
        return cls(slices=slices, starts=starts, steps=steps, seconds=seconds, is_asked_to_stop=is_asked_to_stop)

    @property
    def is_left(self) -> bool:
        return self.steps > 0 and time.monotonic() < self.began_at + self.seconds and not self.is_asked_to_stop()

    @property
    def slice_seconds(self) -> float:
        """Return how long one slice may take: a share of the whole where there are many."""
        share = self.seconds / self.slices
        return min(conf.slice_seconds, max(share, LEAST_SECONDS))

    @property
    def slice_steps(self) -> int:
        """Return how many steps one slice may begin: no more than are left, but some in any case."""
        return min(conf.slice_steps, max(self.steps, LEAST_STEPS))

    def stop_slice(self) -> Callable[[], bool]:
        """Return what the kernel asks between the steps of a slice that begins now: whether it has to end.

        A slice may use so much of its thread's own processor time: other work on the machine does not cut it short. The clock
        bounds the transaction, for functions that block.
        """
        used_up_at = time.thread_time() + self.slice_seconds
        over_at = self.began_at + max(self.seconds, conf.slice_seconds)
        return lambda: time.thread_time() > used_up_at or time.monotonic() > over_at or self.is_asked_to_stop()

    def spend(self, result: Slice) -> None:
        """Count the steps that a slice began."""
        self.steps -= sum(entry.began for entry in result.trace)

    def take_start(self) -> bool:
        """Take the place of one instance that begins to run here, if any is left."""
        crowded = self.lined_up >= 2 * self._most_starts
        self.starts -= 1
        return self.starts >= 0 and self.is_left and not crowded

    def refusing(self, loaded: Loaded) -> Callable[[bool, bool], Refusal | None]:
        """Make what the kernel asks before a step starts one more instance."""

        def refuse(own_life: bool, waited: bool) -> Refusal | None:
            if own_life and waited:
                return None
            if own_life and loaded.hops >= conf.longest_chain:
                return "endless_chain", _TOO_LONG.format(most=conf.longest_chain)
            return self._count(loaded)

        return refuse

    def _count(self, loaded: Loaded) -> Refusal | None:
        """Count one more descendant of a family, up to the most it may have."""
        most = conf.most_descendants
        root = loaded.root_id or loaded.instance_id
        if root not in self.families:
            born_now = loaded.root_id is None and loaded.state_version == 0
            self.families[root] = 0 if born_now else Instance.objects.filter(root_id=root)[:most].count()
        self.families[root] += 1
        return None if self.families[root] <= most else ("too_many_descendants", _TOO_MANY.format(most=most))


_TOO_LONG = (
    "{most} instances started one another without a wait in between, which is the most (WORKFLOW_LONGEST_CHAIN). "
    "Let one of them wait, or end the chain by a condition."
)
_TOO_MANY = (
    "One instance has at most {most} descendants (WORKFLOW_MOST_DESCENDANTS). "
    "Start fewer, or let what is started wait before it starts more."
)
