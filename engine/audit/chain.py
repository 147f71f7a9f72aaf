"""Chain what was done, subject by subject.

A commit adds one row to the chain of each subject: who, when, and `acts`, everything that was done, in order. Acts are counted
through the chain; a row has the number of its first one. Its hash covers the row and the hash before it, made with a key that
the database does not know. The last number and hash are in the subject's own row, so that a transaction
with that row's lock can append without looking further. One chain per tenant would serialise its commits.

What is hashed is the very text that is stored. Rows of earlier releases hold one act each, in columns of its own, and are
hashed as they were then. Everybody else reads acts one by one, from the view that `engine.models.Audit` stands for.

The key makes HMAC-SHA256, so that write access to every table is not enough to make a hash. It comes from WORKFLOW_AUDIT_KEY, or
from SECRET_KEY where that is unset; a hash names its key, so that keys can be replaced and old rows stay verifiable.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import connection, models

from engine.conf import conf
from engine.db.transactions import wake_streams_on_commit
from engine.kernel.json_text import read_json, write_json
from engine.models import JournalRow
from engine.models.audit import ACTS_A_ROW, cause_with
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import AuditedSubject, Tenant
from workflowplatform.ids import keep_time

HASHED = (
    "tenant_id", "subject_kind", "subject_id", "seq", "at", "actor_id", "actor_name", "actor_level",
)  # fmt: skip
OWN_COLUMNS = ("action", "step", "iteration", "attempt", "cause", "old", "new")
"""Where a row of an earlier release holds its one act. In other rows they are empty, and hashed if they are filled in."""

MARK = "k"
"""How a keyed hash begins, which no digit of a plain one does."""
ID_LENGTH = 7
HASH_LENGTH = 64
"""As long as a plain SHA-256: 224 bits of the MAC behind the key's name."""
BLOCK = 64


class AuditKey:
    """A key with HMAC's two first blocks hashed already: a start writes a dozen rows."""

    __slots__ = ("_inner", "_outer", "id", "mark")

    def __init__(self, secret: bytes) -> None:
        padded = secret.ljust(BLOCK, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
        self.id = hashlib.sha256(b"workflow audit key id\n" + secret).hexdigest()[:ID_LENGTH]
        self.mark = MARK + self.id

    def mac(self, text: bytes) -> str:
        """Return the keyed hash of a text, with the key's name in front."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return (self.mark + outer.hexdigest())[:HASH_LENGTH]


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key in use, and all whose hashes are still believed."""

    current: AuditKey
    known: dict[str, AuditKey]

    def key_of(self, made: str) -> AuditKey | None:
        """Return the key that a keyed hash names, if it is known here."""
        return self.known.get(made[len(MARK) : len(MARK) + ID_LENGTH]) if is_keyed(made) else None


def is_keyed(made: str) -> bool:
    """Return whether a hash was made with a key."""
    return made.startswith(MARK)


def keyring() -> Keyring:
    """Return the keys that the settings name."""
    return _keyring(conf.audit_keys, settings.SECRET_KEY, tuple(settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=8)
def _keyring(given: tuple[str, ...], secret: str, fallbacks: tuple[str, ...]) -> Keyring:
    keys = [AuditKey(_derived(text)) for text in (*given, secret, *fallbacks)]
    return Keyring(keys[0], {key.id: key for key in reversed(keys)})


def _derived(text: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"workflow audit hmac").derive(text.encode())


def seal(kind: str, facts: Iterable[Any]) -> str:
    """Return the seal of a record that is not part of a chain; `kind` keeps seals of one kind from passing for another's."""
    return keyring().current.mac(_sealed_text(kind, facts))


def is_seal_of(made: str, kind: str, facts: Iterable[Any]) -> bool:
    """Return whether a known key made this seal for these facts."""
    key = keyring().key_of(made)
    return key is not None and key.mac(_sealed_text(kind, facts)) == made


def _sealed_text(kind: str, facts: Iterable[Any]) -> bytes:
    return "\n".join((f"seal of {kind}", *map(str, facts))).encode()


# The chain


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
    run: dict[str, Any] | None = None
    """Of a step: which run of it, and what went in and came out (engine.models.step_run)."""


WITHOUT_NAME = Act("")
"""What has nothing to tell people, but moved the instance: it only takes a number, so that a replay is whole."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a subject's chain ends."""

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
    if row.get("acts") is None:
        return (previous + _spell(_all_of(row))).encode()
    own = [row.get(name) or None for name in OWN_COLUMNS]
    parts = [
        previous + _spell(_shared_of(row)),
        row["acts"],
        row.get("told") or "",
        *([_spell(own)] if any(own) else ()),
    ]
    return "\n".join(parts).encode()


_shared_of = itemgetter(*HASHED)
_all_of = itemgetter(*HASHED, *OWN_COLUMNS)


def _as_stored(value: Any) -> Any:
    """Write a value that JSON does not know as the row will hold it."""
    return read_json(write_json(value))


_spell = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_as_stored).encode
"""Made once: every act needs it."""


def moment(at: datetime) -> str:
    """Write a moment as it is hashed and stored: UTC, microseconds."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def append(
    chain: Chain, acts: Iterable[Act], *, actor: Actor, at: datetime, told: Any = None
) -> tuple[list[dict[str, Any]], Chain]:
    """Return the row that continues a chain, and the chain after it; very many acts take several rows.

    The first act is what was asked for, the others follow from it: so it alone says by which token the actor came in. `told` is
    what the kernel was told, for a replay (engine.runtime.environment).
    """
    rows: list[dict[str, Any]] = []
    written = list(_written(acts, actor.via))
    key, shared = keyring().current, _shared(chain, actor, at)
    for first in range(0, len(written), ACTS_A_ROW):
        some = _folded(written[first : first + ACTS_A_ROW])
        row = shared | {"seq": chain.seq + 1, "acts": write_json(some)}
        row["told"] = write_json(told) if told and not first else None
        row["hash"] = hash_row(chain.hash, row, key)
        chain = Chain(chain.kind, chain.id, chain.tenant_id, chain.seq + len(some), row["hash"])
        rows.append(row)
    return rows, chain


def _written(acts: Iterable[Act], via: str) -> Iterator[dict[str, Any]]:
    """Write acts as their row holds them: what an act does not have is left out, and what is usual of a step's."""
    for act in acts:
        cause, via = cause_with(act.cause, via), ""
        row = {name: value for name, value in zip(WRITTEN, _told_of(act, cause), strict=True) if value is not None}
        yield row if act.run is None else _without_usual(row)


def _without_usual(row: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a step's act what the views know by themselves.

    That is: no iteration, the first attempt, a path that is the step, and that what it set was not there before.
    """
    kept = {name: value for name, value in row.items() if USUAL.get(name) != value}
    if row["action"] == ENDED and "old" in row and row["old"] == dict.fromkeys(row.get("new") or ()):
        del kept["old"]
    if row["run"].get("path") == row.get("step"):
        kept["run"] = {name: value for name, value in row["run"].items() if name != "path"}
    return kept


def _folded(written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shorten the beginning of a step whose end follows: the end says of which step, and how it began.

    Every act keeps its place, so numbers stay as they are.
    """
    for place, (begun, ended) in enumerate(pairwise(written)):
        if begun["action"] == BEGUN and begun.keys() <= OF_A_BEGINNING and _is_same_run(begun, ended):
            written[place + 1] = ended | {"run": begun["run"] | ended["run"]}
            written[place] = {}
    return written


def _is_same_run(begun: dict[str, Any], ended: dict[str, Any]) -> bool:
    """Return whether an act continues the very run, and the beginning says no more of it than its kind and its place."""
    run = begun["run"]
    return (
        run.keys() <= FIXED
        and ended.get("run", {}).get("n") == run["n"]
        and all(begun.get(name) == ended.get(name) for name in ("step", "iteration", "attempt"))
    )


USUAL = {"iteration": "", "attempt": 1}
BEGUN, ENDED = "execute_step", "complete_step"
OF_A_BEGINNING = {"action", "step", "iteration", "attempt", "run"}
FIXED = {"n", "kind", "path", "parent"}
WRITTEN = ("action", "step", "iteration", "attempt", "cause", "old", "new", "run")


def _told_of(act: Act, cause: str) -> Sequence[Any]:
    return act.action, act.step, act.iteration, act.attempt, cause or None, act.old, act.new, act.run


def _shared(chain: Chain, actor: Actor, at: datetime) -> dict[str, Any]:
    """Return what all acts of a row have in common."""
    return {
        "tenant_id": str(chain.tenant_id),
        "subject_kind": chain.kind,
        "subject_id": str(chain.id),
        "at": moment(at),
        "actor_id": str(actor.person_id) if actor.person_id else None,
        "actor_name": actor.name,
        "actor_level": actor.level,
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
    JournalRow.objects.bulk_create(JournalRow(**row) for row in rows)
    model._default_manager.filter(pk=subject.pk).update(audit_seq=after.seq, audit_hash=after.hash)
    wake_streams_on_commit()


def _kind(model: type[models.Model]) -> str:
    return {"User": "person"}.get(model.__name__, model.__name__.lower())
