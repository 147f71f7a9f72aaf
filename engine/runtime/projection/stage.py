"""What one slice's rows are made from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.audit.chain import Act, Chain
from engine.kernel.effects import (
    BarPeople,
    CancelChild,
    ChangeTask,
    Emit,
    NotifyPeople,
    OpenTask,
    PauseClock,
    ResumeClock,
    Slice,
    StartChild,
)
from engine.kernel.machine.throttle_slots import Place, places_of
from engine.kernel.signals import ChildEnded, Event, InstanceFacts, SignalType
from engine.kernel.snapshot import Snapshot
from engine.kernel.steps.assignment import MANAGER, WAYS
from engine.kernel.transitions import TERMINAL_INSTANCE, InstanceStatus
from engine.models import TemplateVersion
from engine.models.base import NEVER as NEVER
from engine.runtime.commit import Batch
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

PROVIDER = "kernel"

HELD_STATUSES = frozenset({InstanceStatus.INCIDENT, InstanceStatus.SUSPENDED})
"""Statuses in which no signal is delivered."""

TO_PEOPLE = (ChangeTask, BarPeople, NotifyPeople, PauseClock, ResumeClock)
"""Effects that engine.runtime.task_effects carries out."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An instance whose runtime row is locked, or (state_version 0) one about to be created."""

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
    """The first instance of its family; None: itself."""
    hops: int = 0
    """How many links without a wait led to it: starts by `continue_with` and by events."""
    limited: bool = False
    """Whether a limit counts this instance, so that its end frees a slot."""
    weight: int = 0
    """How many bytes its snapshot had when it was read."""


def new_instance(
    version: TemplateVersion,
    template: str,
    values: Any,
    *,
    now: datetime,
    started_by: str | None,
    started_by_id: UUID | None,
    instance_id: UUID | None = None,
) -> Loaded:
    """Return an instance that is about to live."""
    instance_id = instance_id or uuid7()
    return Loaded(
        instance_id=instance_id,
        tenant_id=version.tenant_id,
        template_id=version.template_id,
        version_id=version.pk,
        state_version=0,
        snapshot=None,
        status=InstanceStatus.RUNNING,
        facts=InstanceFacts(str(instance_id), template, version.number, started_by, now),
        chain=Chain("instance", instance_id, version.tenant_id),
        now=now,
        started_by_id=started_by_id,
        input=values,
    )


def finds_person(task: OpenTask) -> bool:
    """Return whether the task's author lets the platform choose the person of a new task."""
    return task.rules.assign_by in (*WAYS, MANAGER) and not task.assignee and not task.rules.several


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way into an instance: the signal it came by, and who caused it."""

    event: Event
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
    told: list[Any] = field(default_factory=list)
    """What the kernel was told, turn by turn (engine.runtime.environment)."""
    waiting: list[Loaded] = field(default_factory=list)
    """What this slice starts under a limit: it waits for its turn instead of running here."""
    refusals: list[Act] = field(default_factory=list)
    """What this slice wanted to start, without waiting for it, and could not."""
    deferred: list[Loaded] = field(default_factory=list)
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
    def creates_instance(self) -> bool:
        """Return whether this slice creates the instance: it has no row yet."""
        return self.loaded.state_version == 0

    @property
    def ends(self) -> bool:
        """Return whether the instance ends in this slice."""
        return self.result.status in TERMINAL_INSTANCE and self.loaded.status not in TERMINAL_INSTANCE

    @property
    def places_before(self) -> dict[int, Place]:
        """Return the slots under throttles that its steps had or waited for, by their run."""
        return places_of(self.loaded.snapshot)

    @property
    def places_after(self) -> dict[int, Place]:
        """Return the slots under throttles that its steps have or wait for now, by their run."""
        return places_of(self.result.snapshot)

    @property
    def reaches_out(self) -> bool:
        """Return whether other instances are concerned: it starts, ends or signals them, or waits for a keyed signal."""
        return any(isinstance(effect, StartChild | Emit | CancelChild) for effect in self.result.effects) or any(
            wait.name and wait.key is not None for wait in self.result.opened
        )

    @property
    def asks_people(self) -> bool:
        """Return whether people are concerned beyond the rows of their tasks: it assigns, escalates, bars or sends mail."""
        return any(isinstance(effect, TO_PEOPLE) for effect in self.result.effects) or any(
            wait.task and finds_person(wait.task) for wait in self.result.opened
        )

    @property
    def is_moved(self) -> bool:
        """Return whether the instance changed: not if all that it was told was stale and nothing was left to do."""
        before, result = self.loaded.snapshot, self.result
        pending = before is not None and bool(before.queue or before.emits)
        return pending or bool(result.trace) or any(result.applied) or any(result.kept)

    @property
    def frees_slot(self) -> bool:
        return self.ends and self.loaded.limited and self.loaded.parent_token is None

    @property
    def was_queued(self) -> bool:
        """Return whether the instance was queued and starts or ends in this slice; children are never queued."""
        return self.loaded.snapshot is None and not self.creates_instance and self.loaded.parent_token is None

    @property
    def reference(self) -> str | None:
        return self.result.reference or self.loaded.facts.reference

    @property
    def is_held(self) -> bool:
        return self.result.status in HELD_STATUSES
