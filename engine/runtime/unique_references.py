"""Keep a reference in use once at a time, where the author says `reference: {unique: true}`.

An instance that starts under such a reference locks it until the transaction ends, checks that it is free, and holds it with a
row under a unique constraint. So two starts at the same moment wait for each other, whatever causes them: a person, a program, a
schedule, an event or another instance. An instance that is over, or that has another reference now, holds nothing.
"""

from uuid import UUID

from django.utils.translation import gettext as _

from engine.db.advisory_locks import lock_name, take_locks
from engine.errors import Conflict
from engine.models import HeldReference
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Loaded


def in_use(reference: str, holder: UUID) -> str:
    """Describe the holder of a reference, for errors and histories; these are stored, so the text is not translated."""
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
    if reference is None or not definition_of(born.version_id).has_unique_reference:
        return
    holder = holder_of(born.template_id, reference)
    if holder not in (None, born.instance_id):
        words = _(
            "%(reference)s is in use by an instance that is not over yet. Continue with that instance, or end it first."
        )
        raise Conflict(words % {"reference": reference}, code="reference", instance=str(holder))
    row = {"tenant_id": born.tenant_id, "instance_id": born.instance_id}
    HeldReference.objects.update_or_create(template_id=born.template_id, reference=reference, defaults=row)
