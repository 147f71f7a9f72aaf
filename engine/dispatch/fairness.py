"""Share a worker's time between tenants: a tenant that has had much of it lately takes turns of its own, and short ones.

A drain measures what each transaction costs and charges the tenants in it by the steps that they ran. What was charged fades
within seconds. A tenant above `BUSY_SECONDS` is busy: the drain first takes what is due for everybody else, then gives one turn
to the busy tenant that has had least. So a signal of a quiet tenant waits for one turn at most and never shares its commit with a
runaway. How many steps and instances fit into a turn is learnt from the turns before: most of a step's cost is its rows.

An instance can be so large that a single slice of it is longer than a turn. Only `WORKFLOW_LONG_TURNS` workers at a time work on
tenants with such instances; the others stay free for everybody else.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from engine.conf import conf
from engine.dispatch.calls import Intent
from engine.runtime.coordinator import Advanced
from engine.runtime.environment import Allowance, never
from engine.runtime.projection import Loaded

HALF_LIFE = 3.0
"""Seconds in which half of what was charged to a tenant fades."""
BUSY_SECONDS = 0.15
LONG_TURNS = 2.0
"""A turn that lasted so many times its length, for one instance, makes its tenant one with long turns for a while."""
FEWEST_STEPS = 10
STEPS_A_SLICE, STEPS_A_CALL = 2, 2
"""What a slice and a call count for besides their steps."""
QUIET_TURNS = 4
"""How many turns long the batch is that all quiet tenants share."""
ACTIVE_SECONDS = 30.0
"""For how long after a modest tenant was served busy ones take turns no longer than that took."""
MUCH_LESS = 0.5
"""Which part of a tenant's time others have had that shorten its turns: two that have had alike do not shorten each other's."""
SHORTEST_TURN = 0.2
"""How short turns can get, as a part of `WORKFLOW_TURN_SECONDS`."""
FIRST_COST = 0.0002
"""Seconds that a step costs before any was measured."""
LARGEST_LOAD = 256 * 1024
"""Bytes of snapshots, as the database keeps them, that one transaction loads; the first is loaded whatever its size."""


@dataclass(slots=True)
class Account:
    """What one tenant has had of this worker."""

    seconds: float = 0.0
    at: float = field(default_factory=time.monotonic)
    cost: float = FIRST_COST
    """Seconds that one of its steps costs, rows and all."""
    fixed: float = 0.0
    """Seconds that its turns cost before the first step: a large snapshot is read and written whole."""
    fits: int = 0
    """How many of its instances fit into one turn; 0 where that is not known."""
    lasted: float = 0.0
    """How long turns of one instance lasted lately, the longest counting most."""
    turn: float = 0.0
    """How long its turns lasted lately."""

    @property
    def is_long(self) -> bool:
        """Return whether single slices of this tenant take longer than a turn."""
        return bool(self.lasted > LONG_TURNS * conf.turn_seconds)

    @property
    def is_active(self) -> bool:
        """Return whether it has taken turns lately."""
        return self.turn > 0 and time.monotonic() < self.at + ACTIVE_SECONDS

    def now(self) -> float:
        """Return what is left of its seconds."""
        return float(self.seconds * 0.5 ** ((time.monotonic() - self.at) / HALF_LIFE))

    def charge(self, seconds: float) -> None:
        """Add what it has just had."""
        self.seconds, self.at = self.now() + seconds, time.monotonic()

    def learn(self, seconds: float, loading: float, steps: int, instances: int) -> None:
        """Learn from one turn how much fits into the next. What was read has been written too."""
        self.fixed = (self.fixed + 2 * loading) / 2
        self.cost = (self.cost + max(seconds - 2 * loading, seconds / 4) / steps) / 2
        self.fits = max(1, instances)
        self.turn = (self.turn + seconds) / 2 if self.turn else seconds
        self.lasted = max(0.8 * self.lasted, seconds if instances <= 1 else 0.0)


@dataclass(slots=True)
class Turn:
    """One transaction of a drain: whose, how much it may do, and what it did."""

    instances: int
    tenant_id: UUID | None = None
    """The busy tenant whose turn it is; None: everybody else."""
    busy: list[UUID] = field(default_factory=list)
    """The tenants that are left out."""
    steps: int = field(default_factory=lambda: conf.transaction_steps)
    seconds: float = field(default_factory=lambda: conf.transaction_seconds)
    is_long: bool = False
    stop: Callable[[], bool] = never
    """Whether the worker was asked to stop: then what is in hand ends at its next step."""
    began_at: float = field(default_factory=time.monotonic)
    ran: Counter[UUID] = field(default_factory=Counter)
    """Steps by tenant, with what else costs as much as a step."""
    moved: int = 0
    loading: float = 0.0
    """Seconds until its instances were loaded."""

    def allowance(self, slices: int) -> Allowance:
        """Return what its slices may do together."""
        return Allowance.for_turn(max(slices, 1), self.steps, self.seconds, self.stop)

    def note(self, loaded: Mapping[UUID, Loaded], moved: Sequence[Advanced], intents: Sequence[Intent]) -> None:
        """Count what was done, by tenant; new instances belong to the tenant of their parent."""
        for one in moved:
            known = loaded.get(one.instance_id)
            tenant_id = known.tenant_id if known else UUID(str(one.written["tenant_id"]))
            self.ran[tenant_id] += len(one.began) + STEPS_A_SLICE
        for intent in intents:
            self.ran[intent.tenant_id] += STEPS_A_CALL
        self.moved = sum(one.instance_id in loaded for one in moved) + len(intents)


@dataclass(slots=True)
class Turns:
    """The order in which one worker serves tenants."""

    accounts: dict[UUID, Account] = field(default_factory=dict)
    quiet: Account = field(default_factory=Account)
    """What all quiet tenants together had while others were busy."""

    def seconds_for(self, tenant_id: UUID) -> float:
        """Return how long a busy tenant's turn should last: no longer than the turns of those that have had much less.

        Then their signals take less than twice the time that they would take without this tenant.
        """
        longest: float = conf.turn_seconds
        had = self.accounts[tenant_id].now()
        modest = [one for one in self.accounts.values() if one.now() < had * MUCH_LESS]
        turns = [one.turn for one in (self.quiet, *modest) if one.is_active]
        return max(SHORTEST_TURN * longest, min([longest, *turns]))

    def busy(self) -> list[UUID]:
        """Return the tenants that take turns of their own, the one that has had least first."""
        spent = {tenant_id: account.now() for tenant_id, account in self.accounts.items()}
        for tenant_id in [one for one, seconds in spent.items() if seconds < BUSY_SECONDS / 100]:
            del self.accounts[tenant_id]
        return sorted((one for one, seconds in spent.items() if seconds > BUSY_SECONDS), key=lambda one: spent[one])

    def for_quiet(self, busy: list[UUID]) -> Turn:
        """Return the batch of all tenants but the busy ones."""
        seconds = QUIET_TURNS * conf.turn_seconds
        steps = max(FEWEST_STEPS, int(seconds / FIRST_COST))
        return Turn(conf.drain_batch, busy=busy, steps=steps, seconds=seconds)

    def for_busy(self, tenant_id: UUID) -> Turn:
        """Return a busy tenant's turn: as much as is known to fit."""
        account = self.accounts[tenant_id]
        seconds = self.seconds_for(tenant_id)
        stepping = max(seconds - account.fixed, account.fixed)
        most: int = conf.drain_batch
        instances = min(most, 2 * account.fits) if account.fits else most
        steps = max(FEWEST_STEPS, int(stepping / account.cost) - STEPS_A_SLICE)
        return Turn(
            instances, tenant_id, steps=steps, seconds=max(seconds, 1.5 * account.fixed), is_long=account.is_long
        )

    def charge(self, turn: Turn) -> None:
        """Charge a turn to the tenants in it, by what each ran; learn from a busy tenant's how much fits into the next."""
        seconds, total = time.monotonic() - turn.began_at, turn.ran.total()
        for tenant_id, count in turn.ran.items():
            self.accounts.setdefault(tenant_id, Account()).charge(seconds * count / total)
        if turn.busy and total:
            self.quiet.charge(seconds)
            self.quiet.learn(seconds, turn.loading, total, turn.moved)
        if turn.tenant_id and total:
            self.accounts[turn.tenant_id].learn(seconds, turn.loading, total, turn.moved)


def cut_to_load(sizes: Iterable[tuple[UUID, int]]) -> list[UUID]:
    """Return as many claimed instances as are not too large to be loaded together."""
    chosen, total = list[UUID](), 0
    for instance_id, size in sizes:
        total += size
        if chosen and total > LARGEST_LOAD:
            break
        chosen.append(instance_id)
    return chosen
