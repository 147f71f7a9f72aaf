"""Read and check the audit: every chain unbroken and made with the key, every subject's last link the one its row remembers, and
every chain of the last root still as long (engine.services.audit.roots).

Of an instance that retention let go an anchor remembers the last link; a chain that went too begins anew behind its anchor.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import QuerySet

from engine import access
from engine.audit.chain import (
    BEGUN,
    HASHED,
    OWN_COLUMNS,
    Keyring,
    hash_plainly,
    hash_row,
    hashed_text,
    is_keyed,
    is_seal_of,
    keyring,
    moment,
)
from engine.audit.cursor import Position, Stretch, read_on, settled_position
from engine.audit.replay import Folded, fold
from engine.audit.subjects import (
    CHANGED,
    CHANGED_AFTER_ERASURE,
    FOREIGN_ANCHOR,
    KEYLESS_ROWS_MISSING,
    NO_KEY,
    OTHER_END,
    OTHER_END_THAN_ANCHOR,
    ROWS_MISSING,
    SUBJECTS,
    UNKNOWN_KEY,
    Broken,
    is_sealed_anchor,
)
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.kernel.json_text import read_json
from engine.models import Audit, AuditAnchor, AuditPlainEnd, AuditRedaction, Instance, JournalRow
from engine.services.audit.roots import BadRoot, compare_with_root, newest_root
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import AuditedSubject, Tenant, User


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much was checked and what was found wrong."""

    rows: int
    chains: int
    broken: tuple[Broken, ...]
    root: str = ""
    """When the root was made that the chains were compared with; empty: with none."""
    let_go: int = 0
    """How many chains of that root retention has let go since."""


def list_audit(*, actor: Actor) -> QuerySet[Audit]:
    """Return everything that was done in the actor's tenant."""
    access.require_level(actor, TO_OPERATE, "read the audit")
    return Audit.objects.filter(tenant_id=actor.tenant_id)


def follow_audit(*, rows: QuerySet[Audit], after: Position | None, most: int) -> Stretch:
    """Read on in rows that `list_audit` gave, oldest first, from a position; None begins now."""
    here = settled_position()
    if after is None:
        return Stretch((), here, more=False)
    refuse_unreached(after, here)
    return read_on(rows, after, most=most, below=here)


def refuse_unreached(after: Position, here: Position) -> None:
    """Refuse a position that this database cannot have given out yet, as after a restore."""
    if after > here:
        message = "This position is unknown here. Start again without it."
        raise Invalid(message, [FieldError("after", "invalid", message)])


def verify_audit(*, actor: Actor) -> Verdict:
    """Check every chain of the actor's tenant, against the newest root too where this host keeps one."""
    access.require_level(actor, TO_OPERATE, "verify the audit")
    verdict = _verify(JournalRow.objects.filter(tenant_id=actor.tenant_id), actor.tenant_id)
    return _compared(verdict, newest_root(), tenant_id=actor.tenant_id)


def verify_everything(*, against: Path | None = None, key: str | None = None) -> Verdict:
    """Check every chain of every tenant, and compare them with a root: the newest kept here unless another is named."""
    return _compared(_verify(JournalRow.objects.all(), None), against or newest_root(), key=key)


def _compared(
    verdict: Verdict, place: Path | None, *, tenant_id: UUID | None = None, key: str | None = None
) -> Verdict:
    """Add what a comparison with a root finds; a root that cannot be believed is a finding itself."""
    if place is None:
        return verdict
    try:
        found = compare_with_root(place, tenant_id=tenant_id, key=key)
    except BadRoot as error:
        return replace(verdict, broken=(*verdict.broken, Broken("root", UUID(int=0), 0, str(error))))
    known = {(one.subject_kind, one.subject_id) for one in verdict.broken}
    fresh = tuple(one for one in found.broken if (one.subject_kind, one.subject_id) not in known)
    return replace(verdict, broken=(*verdict.broken, *fresh), root=found.made_at, let_go=found.let_go)


def verify_folds(instances: QuerySet[Instance] | None = None) -> Verdict:
    """Fold the chain of every instance and compare it with the tables: its status, its steps, its tasks."""
    chosen = Instance.objects.all() if instances is None else instances
    purged = AuditAnchor.objects.filter(purged_at__isnull=False)
    people: dict[UUID, set[str]] = defaultdict(set)
    for tenant_id, name in User.objects.values_list("tenant_id", "username"):
        people[tenant_id].add(name)
    broken: list[Broken] = []
    rows = chains = 0
    for instance in chosen.exclude(pk__in=purged.values("pk")).iterator(chunk_size=500):
        chain = list(Audit.objects.filter(subject_id=instance.pk).order_by("seq"))
        rows, chains = rows + len(chain), chains + 1
        folded = fold(chain, people[instance.tenant_id])
        broken += [Broken("instance", instance.pk, instance.audit_seq, what) for what in _unlike(instance, folded)]
    return Verdict(rows, chains, tuple(broken))


def _unlike(instance: Instance, folded: Folded) -> Iterator[str]:
    """Return where the tables differ from what the chain records."""
    if folded.status != instance.status:
        yield f"its audit says {folded.status}, its row {instance.status}"
    runs = instance.step_runs.values_list("step", "iteration", "attempt", "status")
    steps = Counter(((step, iteration, attempt), status) for step, iteration, attempt, status in runs)
    for (place, status), _ in ((folded.steps - steps) + (steps - folded.steps)).items():
        yield f"its audit and its step runs differ at {place[0]}{place[1]}, attempt {place[2]}: {status}"
    told = {task.token: (task.status.value, task.assignee) for task in folded.tasks.values()}
    rows = instance.tasks.values_list("token", "status", "assignee__username")
    found = {token: (status, assignee) for token, status, assignee in rows}
    for token in sorted(told.keys() | found.keys()):
        if told.get(token) != found.get(token):
            yield f"its audit says of the task at {token} {told.get(token)}, its row {found.get(token)}"


Ends = dict[tuple[str, UUID], tuple[int, str]]
"""The last sequence number and hash of each chain."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the checking of rows goes by besides the rows: the keys, where plain hashes end, and what was erased."""

    ring: Keyring
    plain: dict[UUID, tuple[str, int, str]]
    redacted: dict[int, str]


def _evidence(tenant_id: UUID | None) -> Evidence:
    of_tenant = {} if tenant_id is None else {"tenant_id": tenant_id}
    ends = AuditPlainEnd.objects.filter(**of_tenant)
    named = ends.values_list("tenant_id", "subject_id", "subject_kind", "seq", "hash", "seal")
    plain = {
        subject_id: (kind, seq, made)
        for of, subject_id, kind, seq, made, seal in named.iterator(chunk_size=5000)
        if is_seal_of(seal, "plain end", (of, subject_id, kind, seq, made))
    }
    redacted = AuditRedaction.objects.filter(**of_tenant).values_list("audit_id", "seal")
    return Evidence(keyring(), plain, dict(redacted))


def _verify(rows: QuerySet[JournalRow], tenant_id: UUID | None) -> Verdict:
    anchors, evidence = _anchors(tenant_id), _evidence(tenant_id)
    ends: Ends = {
        ("instance", anchor.pk): (anchor.seq, anchor.hash) for anchor in anchors if anchor.purged_at is not None
    }
    gone = len(ends)
    broken: dict[tuple[str, UUID], Broken] = {}
    count = 0
    for row in rows.order_by("subject_id", "seq").iterator(chunk_size=2000):
        acts, shown = count_acts(row)
        count += shown
        subject = (row.subject_kind, row.subject_id)
        seq, previous = ends.get(subject, (0, ""))
        if subject not in broken and (fault := _fault(row, seq, previous, evidence)):
            broken[subject] = Broken(*subject, row.seq, fault)
        ends[subject] = (row.seq + acts - 1, row.hash)
    for missing in (*_missing_ends(ends, tenant_id), *_missing_plain(ends, evidence), *_wrong_anchors(ends, anchors)):
        broken.setdefault((missing.subject_kind, missing.subject_id), missing)
    return Verdict(count, len(ends) - gone, tuple(broken.values()))


def _wrong_anchors(ends: Ends, anchors: list[AuditAnchor]) -> Iterator[Broken]:
    for anchor in anchors:
        if not is_sealed_anchor(anchor):
            yield Broken("instance", anchor.pk, anchor.seq, FOREIGN_ANCHOR)
        elif anchor.purged_at is None and ends.get(("instance", anchor.pk)) != (anchor.seq, anchor.hash):
            yield Broken("instance", anchor.pk, anchor.seq, OTHER_END_THAN_ANCHOR)


def _missing_plain(ends: Ends, evidence: Evidence) -> Iterator[Broken]:
    """Name chains that are shorter now than they were when hashes got a key."""
    for subject_id, (kind, seq, _) in evidence.plain.items():
        if ends.get((kind, subject_id), (0, ""))[0] < seq:
            yield Broken(kind, subject_id, seq, KEYLESS_ROWS_MISSING)


def _anchors(tenant_id: UUID | None) -> list[AuditAnchor]:
    anchors = AuditAnchor.objects.all()
    return list(anchors if tenant_id is None else anchors.filter(tenant_id=tenant_id))


def count_acts(row: JournalRow) -> tuple[int, int]:
    """Return how many acts a row has, and how many it tells people; one of an earlier release has one."""
    if row.acts is None:
        return 1, 1
    acts = read_json(row.acts)
    return len(acts), sum(bool(act.get("action", BEGUN)) for act in acts)


def _fault(row: JournalRow, seq: int, previous: str, evidence: Evidence) -> str:
    """Return what is wrong with a row behind the one before it; empty: nothing."""
    if row.seq != seq + 1:
        return ROWS_MISSING
    seal = evidence.redacted.get(row.pk)
    if seal is not None:
        return "" if is_seal_of(seal, "redaction", redaction_facts(previous, row)) else CHANGED_AFTER_ERASURE
    check = _keyed_fault if is_keyed(row.hash) else _plain_fault
    return check(row, previous, evidence)


def _keyed_fault(row: JournalRow, previous: str, evidence: Evidence) -> str:
    key = evidence.ring.key_of(row.hash)
    if key is None:
        return UNKNOWN_KEY
    return "" if row.hash == hash_row(previous, hashed_values(row), key) else CHANGED


def _plain_fault(row: JournalRow, previous: str, evidence: Evidence) -> str:
    _, last, made = evidence.plain.get(row.subject_id, ("", 0, ""))
    if row.seq > last:
        return NO_KEY
    as_then = row.hash == hash_plainly(previous, hashed_values(row)) and (row.seq < last or row.hash == made)
    return "" if as_then else CHANGED


def redaction_facts(previous: str, row: JournalRow) -> tuple[str, ...]:
    """Return what the seal of an erasure covers: the row as it is now, its hash of before, and its place in the chain."""
    return row.hash, hashed_text(previous, hashed_values(row)).decode()


def hashed_values(row: JournalRow) -> dict[str, Any]:
    """Return a row as it was hashed when it was written."""
    values = {name: getattr(row, name) for name in (*HASHED, *OWN_COLUMNS, "acts", "told")}
    texts = {name: str(values[name]) for name in ("tenant_id", "subject_id")}
    return values | texts | {"at": moment(row.at), "actor_id": str(row.actor_id) if row.actor_id else None}


def _missing_ends(ends: Ends, tenant_id: UUID | None) -> Iterator[Broken]:
    """Compare each subject's own memory of its chain's end with the chain."""
    for kind, label in SUBJECTS.items():
        model = apps.get_model(label)
        remembered = model._default_manager.filter(audit_seq__gt=0)
        if tenant_id is not None:
            remembered = remembered.filter(pk=tenant_id) if model is Tenant else remembered.filter(tenant_id=tenant_id)
        for subject in remembered.iterator(chunk_size=2000):
            assert isinstance(subject, AuditedSubject)
            if ends.get((kind, subject.pk)) != (subject.audit_seq, subject.audit_hash):
                yield Broken(kind, subject.pk, subject.audit_seq, OTHER_END)
