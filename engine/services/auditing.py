"""Read and check the audit: every chain unbroken, every subject's last link the one its row remembers.

Of an instance that retention let go an anchor remembers the last link; a chain that went too begins anew behind its anchor.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import QuerySet

from engine import access
from engine.audit import HASHED, hash_row, moment
from engine.errors import Invalid
from engine.folding import Folded, fold
from engine.horizon import Position, Stretch, horizon, read_on
from engine.kernel.forms import FieldError
from engine.models import Audit, AuditAnchor, Instance
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_OPERATE
from workflowplatform.accounts.models import AuditedSubject, Tenant, User

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


def follow_audit(*, rows: QuerySet[Audit], after: Position | None, most: int) -> Stretch:
    """Read on in rows that `list_audit` gave, oldest first, from a position; None begins now."""
    here = horizon()
    if after is None:
        return Stretch((), here, more=False)
    refuse_unreached(after, here)
    return read_on(rows, after, most=most, below=here)


def refuse_unreached(after: Position, here: Position) -> None:
    """Refuse a position that this database cannot have given out yet, as after a restore."""
    if after > here:
        message = "This position was never given out here. Begin again without it."
        raise Invalid(message, [FieldError("after", "invalid", message)])


def verify_audit(*, actor: Actor) -> Verdict:
    """Check every chain of the actor's tenant."""
    access.require_level(actor, TO_OPERATE, "verify the audit")
    return _verify(Audit.objects.filter(tenant_id=actor.tenant_id), actor.tenant_id)


def verify_everything() -> Verdict:
    """Check every chain of every tenant: for whoever runs the house."""
    return _verify(Audit.objects.all(), None)


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
    """Say where the tables differ from what the chain tells."""
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
