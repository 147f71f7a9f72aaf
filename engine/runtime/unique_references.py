"""Let a reference be in use once at a time, where the author says `reference: {unique: true}`.

Whoever is about to be born under such a reference takes its lock until the transaction ends, looks who has it, and, once it has a
row, holds it by one that only one can have. So two at the same moment wait for each other, whatever starts them: a person, a
program, the clock, an event or another instance. An instance that is over, or that goes by another reference now, holds nothing.
"""

from uuid import UUID

from django.utils.translation import gettext as _

from engine.db.advisory_locks import lock_name, take_locks
from engine.errors import Conflict
from engine.models import HeldReference
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Loaded


def is_unique(version_id: UUID) -> bool:
    """Tell whether a version's references may be in use only once at a time."""
    return bool((definition_of(version_id).canonical.get("reference") or {}).get("unique"))


def in_use(reference: str, holder: UUID) -> str:
    """Say who has a reference, for errors and histories: they are kept, so in nobody's own language."""
    return f"{reference} is in use by instance {holder}, which is not over yet."


def holder_of(template_id: UUID, reference: str) -> UUID | None:
    """Return the live instance that has a reference, once nobody else is about to take it."""
    take_locks(lock_name(template_id, "reference", reference))
    held = HeldReference.objects.select_related("instance").filter(template_id=template_id, reference=reference).first()
    if held is None or held.instance.is_over or held.instance.reference != reference:
        return None
    return held.instance_id


def hold_reference(born: Loaded, reference: str | None) -> None:
    """Hold the reference of an instance that has its row now, or refuse it. Call inside its transaction."""
    if reference is None or not is_unique(born.version_id):
        return
    holder = holder_of(born.template_id, reference)
    if holder not in (None, born.instance_id):
        words = _("%(reference)s is in use by an instance that is not over yet. Go on with that one, or end it first.")
        raise Conflict(words % {"reference": reference}, code="reference", instance=str(holder))
    row = {"tenant_id": born.tenant_id, "instance_id": born.instance_id}
    HeldReference.objects.update_or_create(template_id=born.template_id, reference=reference, defaults=row)
