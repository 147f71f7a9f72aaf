"""Let a reference be in use once at a time, where the author says `reference: {unique: true}`.

The first start holds it by a row that only one can have; whoever comes at the same moment waits for that row and is refused with
the instance that has it. An instance that is over, or that goes by another reference now, holds nothing any more.
"""

from uuid import UUID

from django.utils.translation import gettext as _

from engine.errors import Conflict
from engine.models import HeldReference, TemplateVersion


def is_unique(version: TemplateVersion) -> bool:
    """Tell whether a version's references may be in use only once at a time."""
    return bool(((version.canonical or {}).get("reference") or {}).get("unique"))


def hold_reference(version: TemplateVersion, instance_id: UUID, reference: str | None) -> None:
    """Hold a new instance's reference for it, or refuse the start. Call inside its transaction."""
    if reference is None or not is_unique(version):
        return
    wanted = HeldReference(
        tenant_id=version.tenant_id, template_id=version.template_id, reference=reference, instance_id=instance_id
    )
    HeldReference.objects.bulk_create([wanted], ignore_conflicts=True)
    rows = HeldReference.objects.select_for_update(no_key=True, of=("self",)).select_related("instance")
    held = rows.get(template_id=version.template_id, reference=reference)
    if held.instance_id == instance_id:
        return
    if not held.instance.is_over and held.instance.reference == reference:
        words = _("%(reference)s is in use by an instance that is not over yet. Go on with that one, or end it first.")
        raise Conflict(words % {"reference": reference}, code="reference", instance=str(held.instance_id))
    held.instance_id = instance_id
    held.save(update_fields=["instance"])
