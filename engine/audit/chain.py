"""Chain what was done, subject by subject.

Each row's hash covers the row and the hash before it, made with a key that the database does not know (engine.audit.keys). The
last sequence number and hash travel in the subject's own row, so that whoever holds that row's lock can append without looking
further. One chain per tenant would serialise its commits.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import connection, models

from engine.audit.keys import AuditKey, keyring
from engine.db.outbox import tell_on_commit
from engine.kernel.json_text import read_json, write_json
from engine.models import Audit
from engine.models.audit import cause_with
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import AuditedSubject, Tenant
from workflowplatform.ids import keep_time

HASHED = (
    "tenant_id", "subject_kind", "subject_id", "seq", "at", "actor_id", "actor_name", "actor_level",
    "action", "step", "iteration", "attempt", "cause", "old", "new",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Act:
    """One thing done to a subject."""

    action: str
    step: str | None = None
    iteration: str | None = None
    attempt: int | None = None
    cause: str = ""
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a subject's chain stands."""

    kind: str
    id: UUID
    tenant_id: UUID
    seq: int = 0
    hash: str = ""


def hash_row(previous: str, row: dict[str, Any], key: AuditKey | None = None) -> str:
    """Return the hash of a row that follows `previous`, made with the key in use or with one of before."""
    return (key or keyring().current).mac(hashed_text(previous, row))


def hash_plainly(previous: str, row: dict[str, Any]) -> str:
    """Return the hash of a row as rows were hashed before there was a key."""
    return hashlib.sha256(hashed_text(previous, row)).hexdigest()


def hashed_text(previous: str, row: dict[str, Any]) -> bytes:
    """Write what the hash of a row covers."""
    return (previous + _spell(_hashed_of(row))).encode()


_hashed_of = itemgetter(*HASHED)


def _as_stored(value: Any) -> Any:
    """Spell what JSON has no word for as the row is going to hold it."""
    return read_json(write_json(value))


_spell = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_as_stored).encode
"""Made once: a start writes a dozen rows."""


def moment(at: datetime) -> str:
    """Write a moment as it is hashed and stored: UTC, microseconds."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def append(chain: Chain, acts: Iterable[Act], *, actor: Actor, at: datetime) -> tuple[list[dict[str, Any]], Chain]:
    """Return the rows that continue a chain, and the chain after them.

    The first row is the act itself, the others follow from it: so it alone says by which token the actor came in.
    """
    rows: list[dict[str, Any]] = []
    seq, previous = chain.seq, chain.hash
    shared, via, key = _shared(chain, actor, at), actor.via, keyring().current
    for act in acts:
        seq += 1
        row = shared | _own(seq, act)
        row["cause"], via = cause_with(act.cause, via), ""
        previous = row["hash"] = hash_row(previous, row, key)
        rows.append(row)
    return rows, Chain(chain.kind, chain.id, chain.tenant_id, seq, previous)


def _shared(chain: Chain, actor: Actor, at: datetime) -> dict[str, Any]:
    """Return what all rows of one act have in common."""
    return {
        "tenant_id": str(chain.tenant_id),
        "subject_kind": chain.kind,
        "subject_id": str(chain.id),
        "at": moment(at),
        "actor_id": str(actor.person_id) if actor.person_id else None,
        "actor_name": actor.name,
        "actor_level": actor.level,
    }


def _own(seq: int, act: Act) -> dict[str, Any]:
    return {
        "seq": seq,
        "action": act.action,
        "step": act.step,
        "iteration": act.iteration,
        "attempt": act.attempt,
        "cause": act.cause,
        "old": act.old,
        "new": act.new,
    }


def database_now() -> datetime:
    """Ask the database for the time: its clock decides."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    keep_time(now)
    return now


def record(subject: AuditedSubject, act: Act, *, actor: Actor) -> None:
    """Append an act to a subject's chain. Call inside the act's transaction; it locks the subject's row."""
    model: type[models.Model] = type(subject)
    locked = model._default_manager.select_for_update(no_key=True).get(pk=subject.pk)
    assert isinstance(locked, AuditedSubject)
    tenant_id = locked.pk if isinstance(locked, Tenant) else locked.tenant_id  # type: ignore[attr-defined]
    chain = Chain(_kind(model), locked.pk, tenant_id, locked.audit_seq, locked.audit_hash)
    rows, after = append(chain, [act], actor=actor, at=database_now())
    Audit.objects.bulk_create(Audit(**row) for row in rows)
    model._default_manager.filter(pk=subject.pk).update(audit_seq=after.seq, audit_hash=after.hash)
    tell_on_commit()


def _kind(model: type[models.Model]) -> str:
    return {"User": "person"}.get(model.__name__, model.__name__.lower())
