"""Advance instances: load, run to wait, commit. No other module does.

The transaction that claims an instance (engine.runtime.claims) loads the snapshot, lets the kernel run until every branch waits,
and writes the result in one statement (engine.runtime.commit) together with the removal of the signals that caused it. The token
inside an event decides whether it is stale; the row's version only guards the write.
"""

import socket
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from engine.audit.chain import database_now
from engine.db.transactions import announce_on_commit
from engine.errors import Invalid
from engine.kernel.effects import Slice, WaitKind
from engine.kernel.forms import FieldError
from engine.kernel.interpreter.merge_slices import joined
from engine.kernel.interpreter.run_to_wait import advance, reference_at_start
from engine.kernel.signals import (
    CancelCase,
    ChildEnded,
    Continue,
    Event,
    Json,
    Started,
    TaskCompleted,
)
from engine.kernel.snapshot import Snapshot, copied
from engine.kernel.transitions import InstanceStatus
from engine.metrics import count_batch
from engine.models import TemplateVersion
from engine.runtime.claims import hold
from engine.runtime.commit import Batch, Row, write
from engine.runtime.concurrency_limits import admit_next, queue_new_instance
from engine.runtime.cross_instance import all_addresses_of, child_starts_of, send_outward
from engine.runtime.definition_cache import definition_of
from engine.runtime.environment import Allowance, Recorder, environment_of
from engine.runtime.projection import Delivery, Loaded, Stage, new_instance, project, project_deferred_start
from engine.runtime.projection.rows import child_ended, signal_child_ended
from engine.runtime.signal_routing import hold_addresses
from engine.runtime.taken_calls import TakenCalls
from engine.runtime.task_effects import carry_out_task_effects
from engine.runtime.throttles import let_in_next
from engine.runtime.transactional_functions import FunctionRefusal, FunctionRunner
from engine.runtime.unique_references import hold_reference, holder_of, in_use
from workflowplatform.accounts.actor import Actor, engine_actor


@dataclass(frozen=True, slots=True)
class Advanced:
    """What became of an instance in one slice."""

    instance_id: UUID
    status: InstanceStatus
    applied: tuple[bool, ...]
    kept: tuple[bool, ...] = ()
    barred: tuple[str, ...] = ()
    """Tasks that a person tried to complete although the four-eyes rule excludes them."""
    began: tuple[str, ...] = ()
    """The kinds of the steps that this slice began."""
    written: Row = field(default_factory=dict)
    """The columns of the instance's row that this slice wrote."""
    has_tasks: bool = False
    """Whether any task waits for a person."""
    new_tasks: tuple[Row, ...] | None = None
    """The open tasks as they were written, where this slice opened all of them and bound none to a person."""
    new_waits: tuple[Row, ...] | None = None
    """What the instance waits for, as it was written, where this slice opened all of it."""


@cache
def _host() -> str:
    return socket.gethostname()


_worker: list[str] = []


def name_node(name: str) -> None:
    """Set the name of this worker process."""
    _worker[:] = [name]


def node() -> str:
    """Name this worker, or else this host, for the record of where an instance was advanced."""
    return _worker[0] if _worker else _host()


@dataclass(slots=True)
class Life:
    """An instance within one transaction: how it was loaded or created, and the result of its turns so far."""

    loaded: Loaded
    deliveries: Sequence[Delivery]
    stage: Stage


@dataclass(slots=True)
class Family:
    """One instance that is moved, and everything that it brings about in the same transaction.

    New instances run at once, turn by turn; when a child ends, its parent hears of it and continues. So a child that never waits
    is over before the request is answered. All turns of an instance are written as one slice. What exceeds the transaction's
    allowance is queued: new instances for a worker to start, ends of children as signals to their parents.
    """

    batch: Batch
    actor: Actor
    allowance: Allowance
    alone: bool
    """Transactional functions run only in a slice that is alone in its transaction."""
    lives: dict[UUID, Life] = field(default_factory=dict)
    starts: deque[tuple[Life, Loaded]] = field(default_factory=deque)
    ends: deque[tuple[Life, ChildEnded]] = field(default_factory=deque)

    def run(self, loaded: Loaded, deliveries: Sequence[Delivery]) -> list[Stage]:
        """Run the kernel on what was delivered, and on what follows; put all rows into the batch."""
        self._begin(loaded, deliveries)
        while self.ends or self.starts:
            if self.ends:
                self._continue(*self.ends.popleft())
            else:
                self._start(*self.starts.popleft())
        for life in self.lives.values():
            project(life.stage)
        return [life.stage for life in self.lives.values()]

    def _begin(self, loaded: Loaded, deliveries: Sequence[Delivery]) -> None:
        """Take the first turn of an instance."""
        events: list[Event] = [delivery.event for delivery in deliveries]
        begins = _begins(loaded, events)
        if begins:
            told = [event for event in events if not isinstance(event, Continue)]
            events = [Started(loaded.input), *told]
        kept: list[Json] = []
        result = self._advance(loaded, events, deliveries, kept)
        if begins:
            result = _without_start(result, len(deliveries))
        stage = Stage(loaded, result, deliveries, self.actor, node(), self.batch, kept)
        life = self.lives[loaded.instance_id] = Life(loaded, deliveries, stage)
        self._follow(life, stage)

    def _advance(
        self, loaded: Loaded, events: Sequence[Event], deliveries: Sequence[Delivery], told: list[Json]
    ) -> Slice:
        """Run one turn of the kernel, and add what it was told to what the audit will keep."""
        performer = FunctionRunner(loaded.tenant_id) if self.alone else None
        definition, environment = definition_of(loaded.version_id), environment_of(loaded, performer, self.allowance)
        recorder = Recorder()
        result = advance(definition, loaded.snapshot, loaded.facts, events, recorder.lend(environment))
        reference = loaded.facts.reference if loaded.snapshot is None else None
        told.append(recorder.turn(events, environment, reference))
        self.allowance.spend(result)
        if performer is not None:
            _refuse_completion(result, deliveries, performer.refused)
        return result

    def _follow(self, life: Life, turn: Stage) -> None:
        """Queue what a turn asks for: new instances, refusals of those that cannot start, and its own end for its parent."""
        for born in _new_instances(turn) if turn.reaches_out else ():
            self.allowance.lined_up += 1
            if born.limited:
                life.stage.waiting.append(born)
            else:
                self.starts.append((life, born))
        self.ends.extend((life, answer) for answer in turn.answers)
        turn.answers.clear()
        self._signal_parent(life)

    def _signal_parent(self, life: Life) -> None:
        parent = self.lives.get(life.loaded.parent_id) if life.loaded.parent_id else None
        if parent is not None and life.loaded.parent_token is not None and life.stage.ends:
            life.stage = replace(life.stage, parent_told=True)
            self.ends.append((parent, child_ended(life.loaded, life.stage.result)))

    def _start(self, parent: Life, born: Loaded) -> None:
        if self.allowance.take_start():
            self._begin(born, ())
        else:
            project_deferred_start(self.batch, born, self.actor)
            parent.stage.deferred.append(born)

    def _continue(self, life: Life, ended: ChildEnded) -> None:
        """Deliver to an instance that its child ended; by a signal if it cannot continue in this transaction."""
        before = life.stage.result
        if before.status is not InstanceStatus.RUNNING or before.more or not self.allowance.is_left:
            signal_child_ended(life.stage, ended, life.loaded.instance_id)
            return
        snapshot = Snapshot.from_json(copied(before.snapshot.to_json()))
        then = self._advance(replace(life.loaded, snapshot=snapshot), [ended], life.deliveries, life.stage.told)
        life.stage = replace(life.stage, result=joined(before, then))
        self._follow(life, replace(life.stage, result=then))


def _run(
    batch: Batch, loaded: Loaded, deliveries: Sequence[Delivery], actor: Actor, allowance: Allowance | None = None
) -> list[Stage]:
    """Move one instance, alone in its transaction unless the allowance is for several."""
    allowance = allowance or Allowance()
    return Family(batch, actor, allowance, alone=allowance.slices == 1).run(loaded, deliveries)


def _new_instances(stage: Stage) -> Iterator[Loaded]:
    """Return what a slice starts; one whose reference another one has is refused as the first of these would be."""
    held = stage.batch.references
    for child in child_starts_of(stage):
        born = with_reference(child.born)
        if definition_of(born.version_id).has_unique_reference and (reference := born.facts.reference) is not None:
            place = (born.template_id, reference)
            holder = held.get(place) or holder_of(*place)
            if holder is not None:
                child.refuse(stage, "reference", in_use(reference, holder))
                continue
            held[place] = born.instance_id
        yield born


def with_reference(born: Loaded) -> Loaded:
    """Return an instance that starts or is queued with its reference, if references of its template are unique."""
    definition = definition_of(born.version_id)
    if not definition.has_unique_reference:
        return born
    reference = reference_at_start(definition, born.facts, born.input, environment_of(born))
    return replace(born, facts=replace(born.facts, reference=reference))


def _begins(loaded: Loaded, events: Sequence[Event]) -> bool:
    """Return whether a slice starts its instance; one cancelled while it is queued never starts."""
    return loaded.snapshot is None and not any(isinstance(one, CancelCase) for one in events)


def _refuse_completion(result: Slice, deliveries: Sequence[Delivery], refused: Collection[FunctionRefusal]) -> None:
    """Refuse an answer that led, in one go, to a function of the host that says no and that nobody catches."""
    error = result.error
    if error is None or result.status is not InstanceStatus.FAILED:
        return
    is_answer = any(isinstance(delivery.event, TaskCompleted) for delivery in deliveries)
    if is_answer and (error.step or "", error.code, error.message) in refused:
        raise Invalid(error.message, [FieldError("", error.code, error.message)])


def _without_start(result: Slice, deliveries: int) -> Slice:
    """Count the signals that were delivered, not the start: it comes by none. What admits an instance is applied by that."""
    missing = deliveries - (len(result.applied) - 1)
    return result._replace(applied=(True,) * missing + result.applied[1:], kept=(False,) * missing + result.kept[1:])


def _commit(batch: Batch, stages: Sequence[Stage]) -> list[Advanced]:
    """Write the batch, bring signals to other instances, and announce everything when the transaction commits."""
    reaching = [stage for stage in stages if stage.reaches_out]
    if reaching:
        hold_addresses(all_addresses_of(reaching))
    write(batch)
    for stage in stages:
        if stage.creates_instance and stage.reference is not None:
            hold_reference(stage.loaded, stage.reference)
        for born in stage.deferred:
            hold_reference(born, born.facts.reference)
    asking = [stage for stage in stages if stage.asks_people]
    sent = carry_out_task_effects(asking) if asking else 0
    sent += send_outward(reaching) if reaching else 0
    waiting = _queue_waiting(stages)
    sent += sum(admit_next(*slot, stages[0].now) for slot in sorted(_freed(stages) | waiting))
    throttled = [stage for stage in stages if stage.places_before or stage.places_after]
    sent += let_in_next(throttled) if throttled else 0
    if stages:
        dues = [row["due_at"] for row in batch.rows["new_signals"]] + ([stages[0].now] if sent else [])
        announce_on_commit(dues, stages[0].now)
    count_batch(batch.rows, [stage.result.status for stage in stages if stage.ends], sent=sent, began_at=batch.began_at)
    written = {row["id"]: row for part in ("new_instances", "instances") for row in batch.rows[part]}
    return [_advanced(stage, written[stage.instance_id]) for stage in stages]


def _advanced(stage: Stage, written: Row) -> Advanced:
    result = stage.result
    open_tokens = {wait["token"] for wait in result.snapshot.waits if wait["kind"] == WaitKind.TASK}
    return Advanced(
        instance_id=stage.loaded.instance_id,
        status=result.status,
        applied=result.applied,
        kept=result.kept,
        barred=result.barred,
        began=tuple(entry.kind for entry in stage.result.trace if entry.began),
        written=written,
        has_tasks=bool(open_tokens),
        new_tasks=_new_tasks(stage, open_tokens),
        new_waits=_new_waits(stage),
    )


def _new_waits(stage: Stage) -> tuple[Row, ...] | None:
    rows = [row for row in stage.batch.rows["new_waits"] if row["instance_id"] == stage.instance_id]
    known = {row["token"] for row in rows} == {wait["token"] for wait in stage.result.snapshot.waits}
    return tuple(rows) if known else None


def _new_tasks(stage: Stage, open_tokens: set[int]) -> tuple[Row, ...] | None:
    rows = [row for row in stage.batch.rows["new_tasks"] if row["instance_id"] == stage.instance_id]
    known = {row["token"] for row in rows} == open_tokens and not any(
        row["assignee_name"] or "assign_by" in row["extra"] for row in rows
    )
    return tuple(rows) if known else None


def _queue_waiting(stages: Sequence[Stage]) -> set[tuple[UUID, UUID]]:
    """Queue new instances under a limit; they are admitted at once where there is room."""
    for stage in stages:
        for born in stage.waiting:
            queue_new_instance(born, actor=stage.actor)
    return {(born.tenant_id, born.template_id) for stage in stages for born in stage.waiting}


def _freed(stages: Sequence[Stage]) -> set[tuple[UUID, UUID]]:
    """Return where there may be room now. Admitted instances look too, since not all are admitted at once."""
    looking = [stage.loaded for stage in stages if stage.frees_slot or stage.was_queued]
    return {(loaded.tenant_id, loaded.template_id) for loaded in looking}


def start(
    *,
    actor: Actor,
    version: TemplateVersion,
    template: str,
    values: Any,
    reference: str | None = None,
    now: datetime | None = None,
) -> Advanced:
    """Bring an instance to life and run it to its first wait. Call inside a transaction."""
    loaded = _prepare_start(actor, version, template, values, reference, now)
    batch = Batch()
    if loaded.facts.reference is not None:
        batch.references[loaded.template_id, loaded.facts.reference] = loaded.instance_id
    return _commit(batch, _run(batch, loaded, (), actor))[0]


def _prepare_start(
    actor: Actor, version: TemplateVersion, template: str, values: Any, reference: str | None, now: datetime | None
) -> Loaded:
    now = now or database_now()
    born = new_instance(version, template, values, now=now, started_by=actor.name, started_by_id=actor.person_id)
    return with_reference(replace(born, facts=replace(born.facts, reference=reference)))


def start_later(
    *, actor: Actor, version: TemplateVersion, template: str, values: Any, reference: str | None = None
) -> UUID:
    """Queue the start of an instance for a worker; return its id. Call inside a transaction."""
    loaded = _prepare_start(actor, version, template, values, reference, None)
    batch = Batch()
    project_deferred_start(batch, loaded, actor)
    write(batch)
    hold_reference(loaded, loaded.facts.reference)
    announce_on_commit([loaded.now], loaded.now)
    return loaded.instance_id


def deliver(*, instance_id: UUID, deliveries: Sequence[Delivery], actor: Actor) -> Advanced:
    """Apply deliveries to one instance now, waiting for its claim. Call inside a transaction."""
    return deliver_held(hold(instance_id), deliveries, actor)


def deliver_held(loaded: Loaded, deliveries: Sequence[Delivery], actor: Actor, batch: Batch | None = None) -> Advanced:
    """Apply deliveries to an instance whose claim the caller holds; what is in the batch already is written with the rest."""
    batch = batch or Batch()
    return _commit(batch, _run(batch, loaded, deliveries, actor))[0]


def deliver_batch(
    claimed: Sequence[tuple[Loaded, Sequence[Delivery]]],
    turn: Allowance | None = None,
    taking: TakenCalls | None = None,
) -> list[Advanced]:
    """Apply what is due for many claimed instances and write it all in one statement.

    Where a turn's allowance is given, instances for which nothing is left of it are left as they are, but never the first.
    A worker may take on the calls that are asked for.
    """
    batch = Batch(taking=taking)
    stages: list[Stage] = []
    allowance = turn or Allowance(slices=max(len(claimed), 1))
    for loaded, deliveries in claimed:
        if turn and stages and not turn.is_left:
            break
        stages += _run(batch, loaded, deliveries, engine_actor(loaded.tenant_id), allowance)
    return _commit(batch, stages) if stages else []
