"""Advance instances: load, run to wait, commit. No other module does.

The claim on an instance is the lock on its runtime row, taken with FOR NO KEY UPDATE so that inserts referring to the instance
go on. Who holds it loads the snapshot, lets the kernel run until every branch waits, and writes everything that follows in one
statement (engine.runtime.commit) together with the removal of the signals that caused it. Death unlocks; there is no claimed
state to clean up. The token inside a happening decides whether it is stale; the row's version only guards the write.

Everybody takes locks in one order: runtime rows by instance id, then what hangs on them.
"""

import json
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings

from engine.access.four_eyes import members_of
from engine.audit.chain import Chain, database_now
from engine.db.outbox import announce_on_commit
from engine.errors import Invalid, NotFound
from engine.extensions.decorators import registered_decorators
from engine.kernel.effects import Slice, WaitKind
from engine.kernel.forms import FieldError
from engine.kernel.interpreter.merge_slices import joined
from engine.kernel.interpreter.run_to_wait import advance, reference_at_start
from engine.kernel.json_text import read_json
from engine.kernel.signals import (
    CancelCase,
    ChildEnded,
    Continue,
    Happening,
    InstanceFacts,
    Lent,
    Started,
    TaskCompleted,
)
from engine.kernel.snapshot import Snapshot, copied
from engine.kernel.transitions import InstanceStatus
from engine.metrics import tell_batch
from engine.models import TemplateVersion
from engine.runtime.calendars import calendar_named
from engine.runtime.commit import Batch, Row, run_hot, write
from engine.runtime.concurrency_limits import admit_next, queue_newborn
from engine.runtime.cross_instance import addresses_of, births_of, newborn, send_outward
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Delivery, Loaded, Stage, project, project_unborn
from engine.runtime.projection.rows import child_ended, tell_of_child
from engine.runtime.rate_limits import admitting
from engine.runtime.signal_routing import hold_addresses
from engine.runtime.task_effects import carry_out_task_effects
from engine.runtime.throttles import entered, let_in_next
from engine.runtime.transaction_budget import Allowance
from engine.runtime.transactional_functions import Performer
from engine.runtime.unique_references import hold_reference, holder_of, in_use, is_unique
from workflowplatform.accounts.actor import Actor, engine_actor
from workflowplatform.database.hot import Rows, Values
from workflowplatform.ids import keep_time, uuid7

LOCK = "SELECT instance_id FROM wf_runtime_states WHERE instance_id = ANY(%s) ORDER BY instance_id FOR NO KEY UPDATE"

LOADED = """
r.instance_id, r.tenant_id, i.template_id, i.version_id, r.state_version, r.snapshot, i.status, i.reference,
i.started_by_name, i.started_at, i.started_by_id, i.audit_seq, i.audit_hash, t.name, v.number,
i.parent_id, i.parent_token, i.depth, i.root_id, i.hops,
coalesce(t.concurrent_limit, n.concurrent_limit) IS NOT NULL,
CASE WHEN r.snapshot_schema_version = 0 THEN i.input END, clock_timestamp()
"""
"""The columns of an instance as the kernel needs it, from a runtime row `r` and what `BESIDE_RUNTIME` joins to it."""

BESIDE_RUNTIME = """
JOIN wf_instances i ON i.id = r.instance_id
JOIN wf_templates t ON t.id = i.template_id
JOIN wf_template_versions v ON v.id = i.version_id
JOIN wf_tenants n ON n.id = i.tenant_id
"""

LOAD = f"SELECT {LOADED} FROM wf_runtime_states r {BESIDE_RUNTIME} WHERE r.instance_id = ANY(%s) ORDER BY r.instance_id"
LOAD_ONE = f"SELECT {LOADED} FROM wf_runtime_states r {BESIDE_RUNTIME} WHERE r.instance_id = %s"

HOLD = f"""
WITH claimed AS MATERIALIZED (SELECT * FROM wf_runtime_states WHERE instance_id = %s FOR NO KEY UPDATE)
SELECT {LOADED}, i.xmin = seen.xmin FROM claimed r {BESIDE_RUNTIME} JOIN wf_instances seen ON seen.id = i.id
FOR NO KEY UPDATE OF i
"""
"""Claim and load one instance at once. Locked rows are read as they are now, the others as they were when the statement began;
whoever changes anything of an instance changes its row `i` too, so that a row seen twice alike says that all is as it is now."""


@dataclass(frozen=True, slots=True)
class Advanced:
    """What became of an instance in one slice."""

    instance_id: UUID
    status: InstanceStatus
    applied: tuple[bool, ...]
    kept: tuple[bool, ...] = ()
    barred: tuple[str, ...] = ()
    """Tasks that somebody tried to end whom four eyes keep from them."""
    began: tuple[str, ...] = ()
    """The kinds of the steps that this slice began."""
    written: Row = field(default_factory=dict)
    """The columns of the instance's row that this slice wrote."""
    has_tasks: bool = False
    """Whether any task waits for somebody."""
    new_tasks: tuple[Row, ...] | None = None
    """The open tasks as they were written, where this slice opened all of them and bound none to a person."""
    new_waits: tuple[Row, ...] | None = None
    """What the instance waits for, as it was written, where this slice opened all of it."""


@cache
def _host() -> str:
    return socket.gethostname()


_worker: list[str] = []


def name_node(name: str) -> None:
    """Say which worker this process is."""
    _worker[:] = [name]


def node() -> str:
    """Name this worker, or else this host, for the record of where an instance was advanced."""
    return _worker[0] if _worker else _host()


def lock(instance_ids: Iterable[UUID]) -> list[UUID]:
    """Claim instances by their runtime rows, waiting for whoever holds them. Call inside a transaction."""
    return [row[0] for row in run_hot(LOCK, [list(instance_ids)])]


def load(instance_ids: Sequence[UUID]) -> dict[UUID, Loaded]:
    """Read claimed instances as they are now."""
    return loaded_from(run_hot(*loading(instance_ids)))


def loading(instance_ids: Sequence[UUID]) -> tuple[str, Values]:
    """Return the statement that reads claimed instances, and its values."""
    return (LOAD_ONE, instance_ids) if len(instance_ids) == 1 else (LOAD, [list(instance_ids)])


def loaded_from(rows: Rows) -> dict[UUID, Loaded]:
    """Read the rows of that statement."""
    return {row[0]: loaded_of(row) for row in rows}


def hold(instance_id: UUID) -> Loaded:
    """Claim one instance, waiting for whoever holds it, and read it as it then is. Call inside a transaction."""
    rows = run_hot(HOLD, [instance_id])
    if rows and not rows[0][-1]:
        rows = run_hot(HOLD, [instance_id])
    if not rows:
        raise NotFound
    return loaded_of(rows[0][:-1])


def loaded_of(row: tuple[Any, ...]) -> Loaded:
    """Read the columns of `LOADED`."""
    (instance_id, tenant_id, template_id, version_id, state_version, snapshot, status, reference, started_by, started_at,
     started_by_id, audit_seq, audit_hash, template, number,
     parent_id, parent_token, depth, root_id, hops, limited, values, now) = row  # fmt: skip
    keep_time(now)
    return Loaded(
        instance_id=instance_id,
        tenant_id=tenant_id,
        template_id=template_id,
        version_id=version_id,
        state_version=state_version,
        snapshot=_snapshot(snapshot),
        status=InstanceStatus(status),
        facts=InstanceFacts(str(instance_id), template, number, started_by or None, started_at, reference),
        chain=Chain("instance", instance_id, tenant_id, audit_seq, audit_hash),
        now=now,
        started_by_id=started_by_id,
        parent_id=parent_id,
        parent_token=parent_token,
        depth=depth,
        root_id=root_id,
        hops=hops,
        limited=limited,
        input=_json(values),
        weight=len(snapshot),
    )


def _json(value: Any) -> Any:
    """Read a JSON column whichever way the driver hands it over: Django's cursors leave it as text."""
    return json.loads(value) if isinstance(value, str) else value


def _snapshot(stored: str) -> Snapshot | None:
    """Read a snapshot; an instance that waited for admission has none yet."""
    content = read_json(stored)
    return Snapshot.from_json(content) if content else None


def lend(loaded: Loaded, perform: Performer | None = None, allowance: Allowance | None = None) -> Lent:
    """Lend the kernel the moment, its bounds, and ids for instances that it may start."""
    allowance = allowance or Allowance()
    stop_at = (
        time.thread_time() + allowance.slice_seconds
    )  # its own: others' load must not cut it short and so add to the load
    return Lent(
        now=loaded.now,
        max_steps=allowance.slice_steps,
        stop=lambda: time.thread_time() > stop_at,
        largest=settings.WORKFLOW_LARGEST_STATE,
        weight=loaded.weight,
        admit=admitting(loaded.tenant_id, loaded.now),
        has_place=entered(loaded.instance_id),
        calendar=lambda name: calendar_named(loaded.tenant_id, name),
        perform=perform,
        new_id=lambda number: uuid7(),
        members=lambda roles, level: members_of(loaded.tenant_id, roles, level),
        refuse_birth=allowance.refusing(loaded),
        decorator=registered_decorators().get,
    )


@dataclass(slots=True)
class Life:
    """An instance within one transaction: how it was loaded or is born, and what its turns have made of it so far."""

    loaded: Loaded
    deliveries: Sequence[Delivery]
    stage: Stage


@dataclass(slots=True)
class Family:
    """One instance that is moved, and everything that it brings about in the same transaction.

    What is born runs at once, turn by turn: a child that ends is told to its parent, which goes on. So a child that never waits
    is over before anybody is answered. All turns of an instance are written as one slice. What goes beyond the transaction's
    allowance is queued: births as instances that a worker begins, ends of children as signals to their parents.
    """

    batch: Batch
    actor: Actor
    allowance: Allowance
    alone: bool
    """Transactional functions run only in a slice that is alone in its transaction."""
    lives: dict[UUID, Life] = field(default_factory=dict)
    births: deque[tuple[Life, Loaded]] = field(default_factory=deque)
    ends: deque[tuple[Life, ChildEnded]] = field(default_factory=deque)

    def run(self, loaded: Loaded, deliveries: Sequence[Delivery]) -> list[Stage]:
        """Let the kernel carry out what was delivered, and what follows; put all rows into the batch."""
        self._begin(loaded, deliveries)
        while self.ends or self.births:
            if self.ends:
                self._go_on(*self.ends.popleft())
            else:
                self._bear(*self.births.popleft())
        for life in self.lives.values():
            project(life.stage)
        return [life.stage for life in self.lives.values()]

    def _begin(self, loaded: Loaded, deliveries: Sequence[Delivery]) -> None:
        """Take the first turn of an instance."""
        happenings: list[Happening] = [delivery.happening for delivery in deliveries]
        begins = _begins(loaded, happenings)
        if begins:
            told = [happening for happening in happenings if not isinstance(happening, Continue)]
            happenings = [Started(loaded.input), *told]
        result = self._advance(loaded, happenings, deliveries)
        if begins:
            result = _without_start(result, len(deliveries))
        stage = Stage(loaded, result, deliveries, self.actor, node(), self.batch)
        life = self.lives[loaded.instance_id] = Life(loaded, deliveries, stage)
        self._follow(life, stage)

    def _advance(self, loaded: Loaded, happenings: Sequence[Happening], deliveries: Sequence[Delivery]) -> Slice:
        performer = Performer(loaded.tenant_id) if self.alone else None
        definition, lent = definition_of(loaded.version_id), lend(loaded, performer, self.allowance)
        result = advance(definition, loaded.snapshot, loaded.facts, happenings, lent)
        self.allowance.spend(result)
        if performer is not None and performer.raised(result.error):
            _refuse_completion(result, [delivery.happening for delivery in deliveries])
        return result

    def _follow(self, life: Life, turn: Stage) -> None:
        """Line up what a turn asks for: births, answers of what could not be born, and its own end for its parent."""
        for born in _births(turn):
            self.allowance.lined_up += 1
            if born.limited:
                life.stage.waiting.append(born)
            else:
                self.births.append((life, born))
        self.ends.extend((life, answer) for answer in turn.answers)
        turn.answers.clear()
        self._tell_parent(life)

    def _tell_parent(self, life: Life) -> None:
        parent = self.lives.get(life.loaded.parent_id) if life.loaded.parent_id else None
        if parent is not None and life.loaded.parent_token is not None and life.stage.ends:
            life.stage = replace(life.stage, parent_told=True)
            self.ends.append((parent, child_ended(life.loaded, life.stage.result)))

    def _bear(self, parent: Life, born: Loaded) -> None:
        if self.allowance.take_birth():
            self._begin(born, ())
        else:
            project_unborn(self.batch, born, self.actor)
            parent.stage.unborn.append(born)

    def _go_on(self, life: Life, ended: ChildEnded) -> None:
        """Tell an instance that a child of its own ended; where it cannot go on here and now, by a signal."""
        before = life.stage.result
        if before.status is not InstanceStatus.RUNNING or before.more or not self.allowance.is_left:
            tell_of_child(life.stage, ended, life.loaded.instance_id)
            return
        snapshot = Snapshot.from_json(copied(before.snapshot.to_json()))
        then = self._advance(replace(life.loaded, snapshot=snapshot), [ended], life.deliveries)
        life.stage = replace(life.stage, result=joined(before, then))
        self._follow(life, replace(life.stage, result=then))


def _run(
    batch: Batch, loaded: Loaded, deliveries: Sequence[Delivery], actor: Actor, allowance: Allowance | None = None
) -> list[Stage]:
    """Move one instance, alone in its transaction unless the allowance is for several."""
    allowance = allowance or Allowance()
    return Family(batch, actor, allowance, alone=allowance.slices == 1).run(loaded, deliveries)


def _births(stage: Stage) -> Iterator[Loaded]:
    """Give what a slice starts; one whose reference another one has is refused as the first of these would be."""
    held = stage.batch.references
    for birth in births_of(stage):
        born = with_reference(birth.born)
        if is_unique(born.version_id) and (reference := born.facts.reference) is not None:
            place = (born.template_id, reference)
            holder = held.get(place) or holder_of(*place)
            if holder is not None:
                birth.refuse(stage, "reference", in_use(reference, holder))
                continue
            held[place] = born.instance_id
        yield born


def with_reference(born: Loaded) -> Loaded:
    """Give what is about to be born, or to wait for that, the reference that it will have, where only one may have it."""
    if not is_unique(born.version_id):
        return born
    reference = reference_at_start(definition_of(born.version_id), born.facts, born.input, lend(born))
    return replace(born, facts=replace(born.facts, reference=reference))


def _begins(loaded: Loaded, happenings: Sequence[Happening]) -> bool:
    """Tell whether a slice begins its case; one that is cancelled while it waits for its turn never does."""
    return loaded.snapshot is None and not any(isinstance(one, CancelCase) for one in happenings)


def _refuse_completion(result: Slice, happenings: Sequence[Happening]) -> None:
    """Refuse an answer that led, in one go, to a function of the host that says no and that nobody catches."""
    error = result.error
    if error and result.status is InstanceStatus.FAILED and any(isinstance(one, TaskCompleted) for one in happenings):
        raise Invalid(error.message, [FieldError("", error.code, error.message)])


def _without_start(result: Slice, deliveries: int) -> Slice:
    """Count the signals that were delivered, not the start: it comes by none. What admits an instance is applied by that."""
    missing = deliveries - (len(result.applied) - 1)
    return result._replace(applied=(True,) * missing + result.applied[1:], kept=(False,) * missing + result.kept[1:])


def _commit(batch: Batch, stages: Sequence[Stage]) -> list[Advanced]:
    """Write the batch, bring signals to other instances, and announce everything when the transaction commits."""
    hold_addresses(addresses_of(stages))
    write(batch)
    for stage in stages:
        if stage.is_birth:
            hold_reference(stage.loaded, stage.reference)
        for born in stage.unborn:
            hold_reference(born, born.facts.reference)
    sent = carry_out_task_effects(stages) + send_outward(stages)
    waiting = _queue_waiting(stages)
    sent += sum(admit_next(*slot, stages[0].now) for slot in sorted(_freed(stages) | waiting))
    sent += let_in_next(stages)
    if stages:
        dues = [row["due_at"] for row in batch.rows["new_signals"]] + ([stages[0].now] if sent else [])
        announce_on_commit(dues, stages[0].now)
    tell_batch(batch.rows, _ends(stages), sent=sent, began_at=batch.began_at)
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
        began=_began(stage),
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
    known = {row["token"] for row in rows} == open_tokens and not any(_finds_person(row) for row in rows)
    return tuple(rows) if known else None


def _finds_person(row: Row) -> bool:
    return bool(row["assignee_name"] or "assign_by" in row["extra"])


def _began(stage: Stage) -> tuple[str, ...]:
    return tuple(entry.kind for entry in stage.result.trace if entry.began)


def _ends(stages: Sequence[Stage]) -> list[str]:
    """Return the last status of each instance that ends in these slices."""
    return [stage.result.status for stage in stages if stage.ends]


def _queue_waiting(stages: Sequence[Stage]) -> set[tuple[UUID, UUID]]:
    """Let what was born under a limit wait for its turn; it comes at once where there is room."""
    for stage in stages:
        for born in stage.waiting:
            queue_newborn(born, actor=stage.actor)
    return {(born.tenant_id, born.template_id) for stage in stages for born in stage.waiting}


def _freed(stages: Sequence[Stage]) -> set[tuple[UUID, UUID]]:
    """Return where somebody may have room now; who was admitted looks too, since not all are admitted at once."""
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
    loaded = _about_to_live(actor, version, template, values, reference, now)
    batch = Batch()
    if loaded.facts.reference is not None:
        batch.references[loaded.template_id, loaded.facts.reference] = loaded.instance_id
    return _commit(batch, _run(batch, loaded, (), actor))[0]


def _about_to_live(
    actor: Actor, version: TemplateVersion, template: str, values: Any, reference: str | None, now: datetime | None
) -> Loaded:
    now = now or database_now()
    born = newborn(version, template, values, now=now, started_by=actor.name, started_by_id=actor.person_id)
    return with_reference(replace(born, facts=replace(born.facts, reference=reference)))


def start_later(
    *, actor: Actor, version: TemplateVersion, template: str, values: Any, reference: str | None = None
) -> UUID:
    """Let a worker bring an instance to life; return its id. Call inside a transaction."""
    loaded = _about_to_live(actor, version, template, values, reference, None)
    batch = Batch()
    project_unborn(batch, loaded, actor)
    write(batch)
    hold_reference(loaded, loaded.facts.reference)
    announce_on_commit([loaded.now], loaded.now)
    return loaded.instance_id


def deliver(*, instance_id: UUID, deliveries: Sequence[Delivery], actor: Actor) -> Advanced:
    """Apply deliveries to one instance now, waiting for its claim. Call inside a transaction."""
    return deliver_held(hold(instance_id), deliveries, actor)


def deliver_held(loaded: Loaded, deliveries: Sequence[Delivery], actor: Actor, batch: Batch | None = None) -> Advanced:
    """Apply deliveries to an instance whose claim the caller holds; rows already in the batch are written with the rest."""
    batch = batch or Batch()
    return _commit(batch, _run(batch, loaded, deliveries, actor))[0]


def deliver_batch(
    claimed: Sequence[tuple[Loaded, Sequence[Delivery]]], turn: Allowance | None = None
) -> list[Advanced]:
    """Apply what is due for many claimed instances and write it all in one statement.

    Where a turn's allowance is given, instances for which nothing is left of it are left as they are, but never the first.
    """
    batch = Batch()
    stages: list[Stage] = []
    allowance = turn or Allowance(slices=max(len(claimed), 1))
    for loaded, deliveries in claimed:
        if turn and stages and not turn.is_left:
            break
        stages += _run(batch, loaded, deliveries, engine_actor(loaded.tenant_id), allowance)
    return _commit(batch, stages) if stages else []
