"""Sign where all chains of the audit end, and compare the chains of a later day with that.

A chain that was shortened, with its subject's memory of the end rolled back, is whole in itself; so is an audit from which a
whole chain is gone. Only a memory of the ends shows it. A root is that memory: one line for each chain (kind, subject, sequence
number, hash), a digest for each tenant and one for all, and a signature. Its file is kept outside the database, the digest in it
too.

Ends are read from the subjects' own rows and from retention's anchors, a batch at a time: no row of the audit is read, and no
transaction is held. Ends of one root are of slightly different moments; each was true, and that is all a comparison needs.
"""

import gzip
import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, cast
from uuid import UUID

import structlog
from django.apps import apps
from django.core.mail import send_mail
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from engine.audit.chain import database_now, moment
from engine.audit.signatures import is_signature_of, public_key, sign
from engine.audit.subjects import CHAIN_REMOVED, ROWS_REMOVED, SUBJECTS, Broken, is_sealed_anchor
from engine.conf import conf
from engine.db.host_locks import HeldLock, acquire, holder_of
from engine.errors import UntrustedFile
from engine.models import AuditAnchor, AuditRoot, Instance
from engine.transports.base import Failed, make_call
from workflowplatform.accounts.models import Tenant

log = structlog.get_logger(__name__)

LOCK, DAILY = "audit-root", "audit-root-daily"
LOCK_SECONDS = 120
BATCH = 2_000
"""Chains a share: what a signal that falls due meanwhile may have to wait for."""
KEPT_FILES = 31
"""So many newest roots are kept, and of older ones the first of each month."""
GZIPPED = b"\x1f\x8b"
TENANT, ROOT = "of", "root"
"""How lines begin that name no chain."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ended."""

    kind: str
    id: UUID
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.kind} {self.id} {self.seq} {self.hash}"


class BadRoot(UntrustedFile):
    """A root's file cannot be trusted, or read."""


@dataclass(frozen=True, slots=True)
class SignedRoot:
    """What is signed, word for word, by whom, and what it says."""

    statement: str
    signature: str
    public_key: str

    @property
    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.statement)
        return found

    def as_json(self) -> str:
        return json.dumps(
            {"statement": self.statement, "signature": self.signature, "public_key": self.public_key}, sort_keys=True
        )


# Making one


def make_root() -> AuditRoot:
    """Make a root now. One process at a time."""
    walk = begin_root(daily=False)
    if walk is None:
        raise BadRoot("busy", f"{holder_of(LOCK) or 'Another process'} is making a root now. Try again in a moment.")
    for _ in walk:
        pass
    return AuditRoot.objects.all()[0]


def is_due() -> bool:
    """Return whether the last root is older than roots may get."""
    return holder_of(DAILY) is None


def begin_root(*, daily: bool = True) -> Generator[None, None, None] | None:
    """Return the walk that makes a root, a share at a time; None where another process does it, or the day's is made."""
    lock = acquire(LOCK, seconds=LOCK_SECONDS)
    if lock is None:
        return None
    if daily and not is_due():
        lock.release()
        return None
    return _shares(lock)


def _shares(lock: HeldLock) -> Generator[None, None, None]:
    folder = Path(conf.audit_root_dir)
    half = folder / f".root-{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made_at = database_now()
        with cast(TextIO, gzip.open(half, "wt", compresslevel=1)) as file:
            tally = Tally()
            yield from _write_heads(file, tally, lock)
            signed = _signed(tally, made_at)
            file.write(f"{ROOT} {signed.as_json()}\n")
        place = folder / f"root-{made_at.astimezone(UTC):%Y%m%dT%H%M%S%f}Z.txt.gz"
        half.replace(place)
        _keep(signed, made_at, place)
        acquire(DAILY, seconds=conf.audit_root_hours * 3600)
        _thin_out(folder)
    finally:
        with suppress(OSError):
            half.unlink()
        lock.release()
    _tell(signed, place)


@dataclass(slots=True)
class Tally:
    """Digests as they grow: one for each tenant, and of these the one for all."""

    chains: int = 0
    tenants: dict[str, dict[str, Any]] = field(default_factory=dict)
    _own: Any = None
    _tenant: str = ""

    def enter(self, tenant_id: UUID | str) -> None:
        self.close()
        self._own, self._tenant = hashlib.sha256(), str(tenant_id)
        self.tenants[self._tenant] = {"chains": 0}

    def add(self, line: str) -> None:
        self._own.update(line.encode() + b"\n")
        self.tenants[self._tenant]["chains"] += 1
        self.chains += 1

    def close(self) -> None:
        if self._tenant:
            self.tenants[self._tenant]["digest"] = self._own.hexdigest()

    @property
    def digest(self) -> str:
        """Return the digest over all tenants' digests."""
        self.close()
        return hashlib.sha256(json.dumps(self.tenants, sort_keys=True).encode()).hexdigest()


def _write_heads(file: TextIO, tally: Tally, lock: HeldLock) -> Iterator[None]:
    for tenant_id in Tenant.objects.order_by("pk").values_list("pk", flat=True):
        tally.enter(tenant_id)
        file.write(f"{TENANT} {tenant_id}\n")
        for heads in heads_of(tenant_id):
            lines = [str(head) for head in heads]
            for line in lines:
                tally.add(line)
            file.write("\n".join(lines) + "\n")
            lock.renew()
            yield


def heads_of(tenant_id: UUID) -> Iterator[list[Head]]:
    """Walk a tenant's chains in batches, each read by itself."""
    for kind, label in SUBJECTS.items():
        model = apps.get_model(label)
        own = {"pk": tenant_id} if model is Tenant else {"tenant_id": tenant_id}
        rows = model._default_manager.filter(**own, audit_seq__gt=0)
        yield from _in_batches(kind, rows, "audit_seq", "audit_hash")
    gone = AuditAnchor.objects.filter(tenant_id=tenant_id).exclude(Exists(Instance.objects.filter(pk=OuterRef("pk"))))
    yield from _in_batches("instance", gone, "seq", "hash")


def _in_batches(kind: str, rows: QuerySet[Any], seq: str, made: str) -> Iterator[list[Head]]:
    last = UUID(int=0)
    while True:
        found = list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", seq, made)[:BATCH])
        if not found:
            return
        yield [Head(kind, *one) for one in found]
        last = found[-1][0]


def _signed(tally: Tally, made_at: datetime) -> SignedRoot:
    before = AuditRoot.objects.first()
    said = {
        "what": "root of the audit",
        "form": 1,
        "made_at": moment(made_at),
        "digest": tally.digest,
        "chains": tally.chains,
        "previous": before.digest if before else "",
        "tenants": tally.tenants,
    }
    statement = json.dumps(said, sort_keys=True)
    return SignedRoot(statement, sign(statement.encode()), public_key())


def _keep(signed: SignedRoot, made_at: datetime, place: Path) -> None:
    said = signed.said
    AuditRoot.objects.create(
        made_at=made_at, chains=said["chains"], digest=said["digest"], statement=signed.statement,
        signature=signed.signature, public_key=signed.public_key, file=place.name,
    )  # fmt: skip


def _thin_out(folder: Path) -> None:
    files = _files(folder)
    months: set[str] = set()
    for file in files[:-KEPT_FILES]:
        month = file.name[: len("root-202611")]
        if month in months:
            file.unlink(missing_ok=True)
        months.add(month)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("root-*.txt.gz"))


def _tell(signed: SignedRoot, place: Path) -> None:
    """Send the root to people and programs outside; it is made already, so that a failure here is only logged."""
    said = signed.said
    log.info("made a root of the audit", chains=said["chains"], digest=said["digest"], file=place.name)
    try:
        if conf.audit_root_mail:
            words = f"{said['chains']} chains, digest {said['digest']}.\n\n{signed.as_json()}\n"
            send_mail(f"Root of the audit, {said['made_at']}", words, None, conf.audit_root_mail)
        if conf.audit_root_url:
            _post(signed)
    except Exception:  # the mail server and the program are foreign code: whatever they do, the root is kept
        log.exception("a root of the audit could not be sent outside")


def _post(signed: SignedRoot) -> None:
    said = signed.said
    request = {"method": "POST", "url": conf.audit_root_url, "body": json.loads(signed.as_json())}
    result = make_call("http", request, key=said["digest"], timeout_seconds=30, redirects=False)
    if isinstance(result, Failed):
        log.warning("a root of the audit was not taken outside", code=result.code, message=result.message)


# Reading one


def newest_root() -> Path | None:
    """Return the newest root that this host keeps."""
    files = _files(Path(conf.audit_root_dir))
    return files[-1] if files else None


def whole_root(place: Path) -> Path:
    """Return the file with the chains: the one given, or the one here that belongs to a mailed or posted root."""
    try:
        with place.open("rb") as file:
            if file.read(len(GZIPPED)) == GZIPPED:
                return place
        meant = _short_root(place, place.read_text(errors="replace"))
    except OSError as error:
        raise BadRoot("unreadable", f"{place} cannot be read: {error.strerror}") from error
    for kept in _files(Path(conf.audit_root_dir)):
        if read_signed(kept).said["digest"] == meant.said["digest"]:
            return kept
    raise BadRoot("unknown", f"{place} lists no chains, and no file here has its digest {meant.said['digest']}.")


def _short_root(place: Path, text: str) -> SignedRoot:
    """Find the signed statement in a mail or a body."""
    for line in text.splitlines():
        if line.strip().startswith("{"):
            signed = _parsed(place, line)
            _believe(place, signed, None)
            return signed
    raise BadRoot("no_root", f"{place} is not a root of the audit.")


def read_signed(place: Path) -> SignedRoot:
    """Read what a root's file ends with."""
    ends = [line for line in _lines(place) if line.startswith(f"{ROOT} ")]
    return _parsed(place, ends[-1].removeprefix(f"{ROOT} ") if ends else "")


def _parsed(place: Path, text: str) -> SignedRoot:
    try:
        return SignedRoot(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise BadRoot("cut_off", f"{place} has no signature: it was cut off, or is not a root of the audit.") from error


def _lines(place: Path) -> Iterator[str]:
    try:
        with cast(TextIO, gzip.open(place, "rt")) as file:
            for line in file:
                yield line.rstrip("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadRoot("unreadable", f"{place} cannot be read: {error}") from error


def believed_root(place: Path, key: str | None = None) -> SignedRoot:
    """Check a root's signature and its digests, and return what it says; `key` is a public key, ours unless said."""
    tally, signed = Tally(), None
    for line in _lines(place):
        kind, _, rest = line.partition(" ")
        if kind == TENANT:
            tally.enter(rest)
        elif kind == ROOT:
            signed = _parsed(place, rest)
        elif not tally.tenants:
            raise BadRoot("no_root", f"{place} is not a root of the audit.")
        else:
            tally.add(line)
    if signed is None:
        raise BadRoot("cut_off", f"{place} has no signature: it was cut off, or is not a root of the audit.")
    _believe(place, signed, key)
    if (signed.said["digest"], signed.said["chains"]) != (tally.digest, tally.chains):
        raise BadRoot("changed", f"{place} was changed: its chains do not match the signed digest.")
    return signed


def _believe(place: Path, signed: SignedRoot, key: str | None) -> None:
    if signed.public_key != (key or public_key()):
        raise BadRoot(
            "other_key", f"{place} was signed with another key. If you trust it, give its public key with --key."
        )
    if not is_signature_of(signed.signature, signed.statement.encode(), signed.public_key):
        raise BadRoot("signature", f"{place} was changed: its signature does not match.")


# Comparing


CHANGED = """
SELECT h.kind, h.id, h.seq, a.hash IS NOT NULL, (SELECT max(seq) FROM wf_audit_acts WHERE subject_id = h.id)
FROM unnest(%s::text[], %s::uuid[], %s::bigint[], %s::text[]) AS h(kind, id, seq, hash)
LEFT JOIN LATERAL (
  SELECT r.hash, r.seq - 1 + coalesce(json_array_length(r.acts), 1) AS last FROM wf_audit r
  WHERE r.subject_id = h.id AND r.seq <= h.seq ORDER BY r.seq DESC LIMIT 1) a ON a.last = h.seq
WHERE a.hash IS DISTINCT FROM h.hash
"""
"""Chains that no longer have the row they ended with; one look into an index for each. A row ends with its last act."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of the chains of a root: those that are wrong now, and how many retention has let go since."""

    made_at: str
    chains: int
    let_go: int
    broken: tuple[Broken, ...]


def compare_with_root(place: Path, *, tenant_id: UUID | None = None, key: str | None = None) -> Compared:
    """Name the chains of a root that lost rows since, were changed or vanished."""
    place = whole_root(place)
    signed = believed_root(place, key)
    broken: list[Broken] = []
    let_go = chains = 0
    heads = _heads_in(place, tenant_id)
    while batch := list(islice(heads, BATCH)):
        found, gone = _compare(batch)
        broken += found
        let_go, chains = let_go + gone, chains + len(batch)
    return Compared(signed.said["made_at"], chains, let_go, tuple(broken))


def _heads_in(place: Path, tenant_id: UUID | None) -> Iterator[Head]:
    meant = True
    for line in _lines(place):
        kind, _, rest = line.partition(" ")
        if kind == TENANT:
            meant = tenant_id is None or rest == str(tenant_id)
        elif meant and kind != ROOT:
            subject, seq, made = rest.split(" ")
            yield Head(kind, UUID(subject), int(seq), made)


def _compare(heads: Iterable[Head]) -> tuple[list[Broken], int]:
    columns = zip(*((head.kind, head.id, head.seq, head.hash) for head in heads), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(CHANGED, [list(column) for column in columns])
        changed = cursor.fetchall()
    anchors = AuditAnchor.objects.filter(purged_at__isnull=False).in_bulk([row[1] for row in changed])
    broken, let_go = [], 0
    for kind, subject_id, seq, is_there, last in changed:
        anchor = anchors.get(subject_id)
        if not is_there and anchor is not None and anchor.seq >= seq and is_sealed_anchor(anchor):
            let_go += 1
        else:
            broken.append(Broken(kind, subject_id, seq, _what(last, is_there=is_there)))
    return broken, let_go


def _what(last: int | None, *, is_there: bool) -> str:
    if is_there:
        return "it was changed since the root"
    return ROWS_REMOVED.format(last=last) if last else CHAIN_REMOVED
