"""Read and check the audit: every chain unbroken, every subject's last link the one its row remembers.

Of an instance that retention let go an anchor remembers the last link; a chain that went too begins anew behind its anchor.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import QuerySet

from engine import access
from engine.audit import HASHED, hash_row, moment
from engine.models import Audit, AuditAnchor
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import AuditedSubject, Tenant

SUBJECTS: dict[str, str] = {
    "instance": "engine.Instance",
    "template": "engine.Template",
    "person": "accounts.User",
    "tenant": "accounts.Tenant",
}


@dataclass(frozen=True, slots=True)
class Broken:
    """The first row of a chain that does not follow from the one before, or the subject whose end is missing."""

    subject_kind: str
    subject_id: UUID
    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much was checked and what was found wrong."""

    rows: int
    chains: int
    broken: tuple[Broken, ...]


def list_audit(*, actor: Actor) -> QuerySet[Audit]:
    """Return everything that was done in the actor's tenant."""
    access.require_level(actor, TO_OPERATE, "read the audit")
    return Audit.objects.filter(tenant_id=actor.tenant_id)


def verify_audit(*, actor: Actor) -> Verdict:
    """Check every chain of the actor's tenant."""
    access.require_level(actor, TO_OPERATE, "verify the audit")
    return _verify(Audit.objects.filter(tenant_id=actor.tenant_id), actor.tenant_id)


def verify_everything() -> Verdict:
    """Check every chain of every tenant: for whoever runs the house."""
    return _verify(Audit.objects.all(), None)


def _verify(rows: QuerySet[Audit], tenant_id: UUID | None) -> Verdict:
    anchors = _anchors(tenant_id)
    ends: dict[tuple[str, UUID], tuple[int, str]] = {
        ("instance", anchor.pk): (anchor.seq, anchor.hash) for anchor in anchors if anchor.purged_at is not None
    }
    gone = len(ends)
    broken: dict[tuple[str, UUID], Broken] = {}
    count = 0
    for row in rows.order_by("subject_id", "seq").iterator(chunk_size=2000):
        count += 1
        subject = (row.subject_kind, row.subject_id)
        seq, previous = ends.get(subject, (0, ""))
        if subject not in broken and (row.seq != seq + 1 or row.hash != hash_row(previous, hashed_values(row))):
            broken[subject] = Broken(*subject, row.seq, _fault(row, seq))
        ends[subject] = (row.seq, row.hash)
    for missing in _missing_ends(ends, tenant_id):
        broken.setdefault((missing.subject_kind, missing.subject_id), missing)
    for anchor in anchors:
        if anchor.purged_at is None and ends.get(("instance", anchor.pk)) != (anchor.seq, anchor.hash):
            what = "the chain does not end where its anchor says"
            broken.setdefault(("instance", anchor.pk), Broken("instance", anchor.pk, anchor.seq, what))
    return Verdict(count, len(ends) - gone, tuple(broken.values()))


def _anchors(tenant_id: UUID | None) -> list[AuditAnchor]:
    anchors = AuditAnchor.objects.all()
    return list(anchors if tenant_id is None else anchors.filter(tenant_id=tenant_id))


def _fault(row: Audit, seq: int) -> str:
    return "rows are missing before it" if row.seq != seq + 1 else "it was changed"


def hashed_values(row: Audit) -> dict[str, Any]:
    """Return a row as it was hashed when it was written."""
    values = {name: getattr(row, name) for name in HASHED}
    texts = {name: str(values[name]) for name in ("tenant_id", "subject_id")}
    return values | texts | {"at": moment(row.at), "actor_id": str(row.actor_id) if row.actor_id else None}


def _missing_ends(ends: dict[tuple[str, UUID], tuple[int, str]], tenant_id: UUID | None) -> Iterator[Broken]:
    """Compare each subject's own memory of its chain's end with the chain."""
    for kind, label in SUBJECTS.items():
        model = apps.get_model(label)
        remembered = model._default_manager.filter(audit_seq__gt=0)
        if tenant_id is not None:
            remembered = remembered.filter(pk=tenant_id) if model is Tenant else remembered.filter(tenant_id=tenant_id)
        for subject in remembered.iterator(chunk_size=2000):
            assert isinstance(subject, AuditedSubject)
            if ends.get((kind, subject.pk)) != (subject.audit_seq, subject.audit_hash):
                yield Broken(kind, subject.pk, subject.audit_seq, "the chain does not end where its subject says")
