"""What one slice's rows are made from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.audit.chain import Act, Chain
from engine.kernel.effects import Slice
from engine.kernel.signals import ChildEnded, Happening, InstanceFacts, SignalType
from engine.kernel.snapshot import Snapshot
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus
from engine.models.base import NEVER as NEVER
from engine.runtime.commit import Batch
from workflowplatform.accounts.actor import Actor

PROVIDER = "kernel"

STANDING_STILL = frozenset({InstanceStatus.INCIDENT, InstanceStatus.SUSPENDED})
"""Statuses in which no signal is delivered."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An instance whose runtime row is locked, or (state_version 0) one about to be born."""

    instance_id: UUID
    tenant_id: UUID
    template_id: UUID
    version_id: UUID
    state_version: int
    snapshot: Snapshot | None
    status: InstanceStatus
    facts: InstanceFacts
    chain: Chain
    now: datetime
    started_by_id: UUID | None = None
    input: Any = None
    parent_id: UUID | None = None
    parent_token: int | None = None
    depth: int = 0
    root_id: UUID | None = None
    """The first of the family that it was born into; None: itself."""
    hops: int = 0
    """How many links without a wait led to it: starts by `continue_with` and by events."""
    limited: bool = False
    """Whether a limit counts this instance, so that its end frees a slot."""
    weight: int = 0
    """How many bytes its snapshot was, as it was read."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One happening on its way into an instance: the signal it came by, and who caused it."""

    happening: Happening
    type: SignalType | None
    """None for an operator's act: it comes by no signal and leaves no receipt, only its audit."""
    signal_id: UUID
    actor: Actor
    token: int | None = None
    queued: bool = True
    """Whether it has a row in the queue that must go."""
    content: str | None = None
    """A digest of what was sent, where the sender gave it an id."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything one slice's rows are made from."""

    loaded: Loaded
    result: Slice
    deliveries: Sequence[Delivery]
    actor: Actor
    node: str
    batch: Batch
    waiting: list[Loaded] = field(default_factory=list)
    """What this slice starts under a limit: it waits for its turn instead of running here."""
    refusals: list[Act] = field(default_factory=list)
    """What this slice wanted to start, without waiting for it, and could not."""
    unborn: list[Loaded] = field(default_factory=list)
    """What this slice starts beyond its transaction's allowance: a worker begins it later."""
    answers: list[ChildEnded] = field(default_factory=list)
    """What the waits for children are told that could not be started."""
    parent_told: bool = False
    """Whether the parent was told of this instance's end within the transaction."""

    @property
    def instance_id(self) -> str:
        return str(self.loaded.instance_id)

    @property
    def tenant_id(self) -> str:
        return str(self.loaded.tenant_id)

    @property
    def now(self) -> datetime:
        return self.loaded.now

    @property
    def next_version(self) -> int:
        return self.loaded.state_version + 1

    @property
    def is_birth(self) -> bool:
        """Tell whether this slice brings the instance to life: it has no row yet."""
        return self.loaded.state_version == 0

    @property
    def ends(self) -> bool:
        """Tell whether the instance's life ends in this slice."""
        return self.result.status in TERMINAL_INSTANCE and self.loaded.status not in TERMINAL_INSTANCE

    @property
    def frees_slot(self) -> bool:
        return self.ends and self.loaded.limited and self.loaded.parent_token is None

    @property
    def was_queued(self) -> bool:
        """Tell whether the instance waited for its turn and begins, or ends, in this slice; a child never does."""
        return self.loaded.snapshot is None and not self.is_birth and self.loaded.parent_token is None

    @property
    def reference(self) -> str | None:
        return self.result.reference or self.loaded.facts.reference

    @property
    def is_held(self) -> bool:
        return self.result.status in STANDING_STILL
