"""What has a chain, what can be wrong with one, and which anchors of retention are believed."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from engine.audit.chain import is_seal_of, moment, seal
from engine.models import AuditAnchor

SUBJECTS: dict[str, str] = {
    "instance": "engine.Instance",
    "template": "engine.Template",
    "person": "accounts.User",
    "tenant": "accounts.Tenant",
}


CHANGED = "it was changed"
CHANGED_AFTER_ERASURE = "it was changed after an erasure"
ROWS_MISSING = "rows before it are missing"
UNKNOWN_KEY = "it was hashed with a key that this server does not have"
NO_KEY = "it was hashed without the key"
KEYLESS_ROWS_MISSING = "rows from before the key was introduced are missing"
OTHER_END = "the chain does not end where its subject says"
OTHER_END_THAN_ANCHOR = "the chain does not end where its anchor says"
FOREIGN_ANCHOR = "its anchor was not written by retention"
ROWS_REMOVED = "rows after {last} were removed since the root"
CHAIN_REMOVED = "the whole chain was removed since the root"


@dataclass(frozen=True, slots=True)
class Broken:
    """The first row of a chain that does not follow from the one before, or the subject whose end is missing."""

    subject_kind: str
    subject_id: UUID
    seq: int
    what: str


def seal_anchors(ids: list[UUID]) -> None:
    """Seal the anchors of chains that retention has just let go."""
    anchors = list(AuditAnchor.objects.filter(pk__in=ids))
    seals = [seal("anchor", _facts(anchor)) for anchor in anchors]
    if anchors:
        with connection.cursor() as cursor:
            cursor.execute("SELECT wf_seal_anchors(%s::uuid[], %s::text[])", [[anchor.pk for anchor in anchors], seals])


def is_sealed_anchor(anchor: AuditAnchor) -> bool:
    """Return whether retention itself wrote an anchor."""
    return is_seal_of(anchor.seal, "anchor", _facts(anchor))


def _facts(anchor: AuditAnchor) -> tuple[object, ...]:
    purged = moment(anchor.purged_at) if anchor.purged_at else ""
    return anchor.tenant_id, anchor.pk, anchor.seq, anchor.hash, purged
