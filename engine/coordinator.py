"""Advance instances: load, run to wait, commit. No other module does.

The claim on an instance is the lock on its runtime row, taken with FOR NO KEY UPDATE so that inserts referring to the instance
go on. Who holds it loads the snapshot, lets the kernel run until every branch waits, and writes everything that follows in one
statement (engine.commit) together with the removal of the signals that caused it. Death unlocks; there is no claimed state to
clean up. The token inside a happening decides whether it is stale; the row's version only guards the write.

Everybody takes locks in one order: runtime rows by instance id, then what hangs on them.
"""

import json
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from engine.audit import Chain, database_now
from engine.commit import Batch, write
from engine.definitions import definition_of
from engine.errors import NotFound
from engine.kernel.effects import Slice
from engine.kernel.interpreter import advance
from engine.kernel.signals import InstanceFacts, Lent, Started
from engine.kernel.snapshot import Snapshot
from engine.kernel.transitions import InstanceStatus
from engine.models import TemplateVersion
from engine.outbox import announce_on_commit
from engine.projection import Delivery, Loaded, Stage, project
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

LOCK = "SELECT instance_id FROM wf_runtime_states WHERE instance_id = ANY(%s) ORDER BY instance_id FOR NO KEY UPDATE"

LOAD = """
SELECT r.instance_id, r.tenant_id, i.template_id, i.version_id, r.state_version, r.snapshot, i.status, i.reference,
       i.started_by_name, i.started_at, i.started_by_id, i.audit_seq, i.audit_hash, t.name, v.number, r.active_task_id,
       clock_timestamp()
FROM wf_runtime_states r
JOIN wf_instances i ON i.id = r.instance_id
JOIN wf_templates t ON t.id = i.template_id
JOIN wf_template_versions v ON v.id = i.version_id
WHERE r.instance_id = ANY(%s) ORDER BY r.instance_id
"""


@dataclass(frozen=True, slots=True)
class Advanced:
    """What became of an instance in one slice."""

    instance_id: UUID
    status: InstanceStatus
    applied: tuple[bool, ...]


@cache
def node() -> str:
    """Name this machine, for the record of who executed what where."""
    return socket.gethostname()


def lock(instance_ids: Iterable[UUID]) -> list[UUID]:
    """Claim instances by their runtime rows, waiting for whoever holds them. Call inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [list(instance_ids)])
        return [row[0] for row in cursor.fetchall()]


def load(instance_ids: Sequence[UUID]) -> dict[UUID, Loaded]:
    """Read claimed instances as they are now."""
    with connection.cursor() as cursor:
        cursor.execute(LOAD, [list(instance_ids)])
        return {row[0]: _loaded(row) for row in cursor.fetchall()}


def _loaded(row: tuple[Any, ...]) -> Loaded:
    (instance_id, tenant_id, template_id, version_id, state_version, snapshot, status, reference, started_by, started_at,
     started_by_id, audit_seq, audit_hash, template, number, active_task_id, now) = row  # fmt: skip
    return Loaded(
        instance_id=instance_id,
        tenant_id=tenant_id,
        template_id=template_id,
        version_id=version_id,
        state_version=state_version,
        snapshot=Snapshot.from_json(_json(snapshot)),
        status=InstanceStatus(status),
        facts=InstanceFacts(str(instance_id), template, number, started_by or None, started_at, reference),
        chain=Chain("instance", instance_id, tenant_id, audit_seq, audit_hash),
        now=now,
        started_by_id=started_by_id,
        active_task_id=active_task_id,
    )


def _json(value: Any) -> Any:
    """Read a JSON column whichever way the driver hands it over: Django's cursors leave it as text."""
    return json.loads(value) if isinstance(value, str) else value


def run(loaded: Loaded, deliveries: Sequence[Delivery], *, lent: Lent | None = None) -> Slice:
    """Let the kernel carry out what was delivered; writes nothing."""
    definition = definition_of(loaded.version_id)
    happenings = [delivery.happening for delivery in deliveries]
    return advance(definition, loaded.snapshot, loaded.facts, happenings, lent or lend(loaded.now))


def lend(now: datetime) -> Lent:
    """Lend the kernel the moment and its bounds."""
    return Lent(now=now, max_steps=settings.WORKFLOW_SLICE_STEPS)


def stage(batch: Batch, loaded: Loaded, deliveries: Sequence[Delivery], result: Slice, actor: Actor) -> Advanced:
    """Put a slice's rows into the batch."""
    project(Stage(loaded, result, deliveries, actor, node(), batch))
    return Advanced(loaded.instance_id, result.status, result.applied)


def commit(batch: Batch, now: datetime) -> None:
    """Write the batch and announce its signals when the transaction commits."""
    write(batch)
    announce_on_commit(batch.rows["new_signals"], now)


def start(
    *, actor: Actor, version: TemplateVersion, template: str, values: Any, reference: str | None = None
) -> Advanced:
    """Bring an instance to life and run it to its first wait. Call inside a transaction."""
    now = database_now()
    instance_id = uuid7()
    loaded = Loaded(
        instance_id=instance_id,
        tenant_id=version.tenant_id,
        template_id=version.template_id,
        version_id=version.pk,
        state_version=0,
        snapshot=None,
        status=InstanceStatus.RUNNING,
        facts=InstanceFacts(str(instance_id), template, version.number, actor.name, now, reference),
        chain=Chain("instance", instance_id, version.tenant_id),
        now=now,
        started_by_id=actor.person_id,
        input=values,
    )
    result = advance(definition_of(version.pk), None, loaded.facts, [Started(values)], lend(now))
    batch = Batch()
    advanced = stage(batch, loaded, (), _without_start(result), actor)
    commit(batch, now)
    return advanced


def _without_start(result: Slice) -> Slice:
    """Drop the start from what was applied: it comes by no signal and leaves no receipt."""
    return replace(result, applied=result.applied[1:])


def deliver(*, instance_id: UUID, deliveries: Sequence[Delivery], actor: Actor) -> Advanced:
    """Apply deliveries to one instance now, waiting for its claim. Call inside a transaction."""
    if not lock([instance_id]):
        raise NotFound
    loaded = load([instance_id])[instance_id]
    result = run(loaded, deliveries)
    batch = Batch()
    advanced = stage(batch, loaded, deliveries, result, actor)
    commit(batch, loaded.now)
    return advanced


def deliver_batch(claimed: Sequence[tuple[Loaded, Sequence[Delivery]]], actors: dict[UUID, Actor]) -> list[Advanced]:
    """Apply what is due for many claimed instances and write it all in one statement."""
    batch = Batch()
    advanced = []
    for loaded, deliveries in claimed:
        result = run(loaded, deliveries)
        advanced.append(stage(batch, loaded, deliveries, result, actors[loaded.tenant_id]))
    if advanced:
        commit(batch, claimed[0][0].now)
    return advanced
