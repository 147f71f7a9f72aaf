"""Show a version or an instance as a diagram, and keep the geometry that workers make."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from engine import access
from engine.audit.chain import database_now
from engine.db.transactions import in_one_transaction
from engine.diagram.graph import flow_of
from engine.diagram.layout import MADE_WITH, Geometry, reworded
from engine.diagram.outline import outline_svg, outline_text
from engine.diagram.step_states import states_of
from engine.diagram.svg import draw
from engine.errors import NotFound
from engine.models import Diagram, Instance, TemplateVersion
from workflowplatform.accounts.actor import Actor

CLAIMED = "claimed"
CLAIM = timedelta(minutes=2)
"""How long a worker may take before another tries the same versions."""
AGAIN = timedelta(hours=1)
"""After what time a layout that failed is tried again: what was in its way may be gone."""


def version_diagram(*, actor: Actor, name: str, number: int) -> str:
    """Draw a version; its outline is shown until a worker has laid it out."""
    version = access.version_of(actor, name, number)
    if version.canonical is None:
        raise NotFound
    geometry = geometry_of(version)
    outline = outline_text(version.canonical)
    return draw(geometry, outline=outline) if geometry else outline_svg(version.canonical)


def instance_diagram(*, actor: Actor, instance_id: UUID) -> str:
    """Draw an instance's version with what became of its steps."""
    instance = access.instance_of(actor, instance_id)
    drawn = inline_diagram(actor, instance, alone=True)
    return drawn or outline_svg(instance.version.canonical)


def inline_diagram(actor: Actor, instance: Instance, *, alone: bool = False) -> SafeString:
    """Draw an instance for a page; nothing while there is no geometry."""
    geometry = geometry_of(instance.version)
    if geometry is None:
        return SafeString("")
    if not alone and get_language() != settings.LANGUAGE_CODE:
        geometry = reworded(geometry, flow_of(instance.version.canonical))
    states = states_of(access.step_runs_of(actor, instance.pk))
    return draw(geometry, states, alone=alone, outline=outline_text(instance.version.canonical) if alone else "")


def inline_version(version: TemplateVersion) -> SafeString:
    """Draw a version for a page; nothing while there is no geometry."""
    geometry = geometry_of(version)
    return draw(geometry, alone=False) if geometry else SafeString("")


def geometry_of(version: TemplateVersion) -> Geometry | None:
    """Find the geometry of what a version says now."""
    found = Diagram.objects.filter(version=version, tenant=version.tenant_id, sha256=version.sha256).first()
    return found.geometry if found else None


@in_one_transaction
def claim_undrawn(limit: int) -> list[TemplateVersion]:
    """Take versions that nobody has laid out; others leave them alone for a while."""
    now = database_now()
    fresh = Q(made_with=MADE_WITH, geometry__isnull=False) | Q(made_with=MADE_WITH, made_at__gt=now - AGAIN)
    fresh |= Q(made_with=CLAIMED, made_at__gt=now - CLAIM)
    drawn = Diagram.objects.filter(fresh, version=OuterRef("pk"), sha256=OuterRef("sha256"))
    undrawn = TemplateVersion.objects.filter(~Exists(drawn), canonical__isnull=False).order_by("-updated_at")
    versions = list(undrawn.select_for_update(skip_locked=True, no_key=True)[:limit])
    keep_geometry((version, None) for version in versions)
    return versions


def keep_geometry(made: Iterable[tuple[TemplateVersion, Geometry | None]], *, made_with: str = CLAIMED) -> None:
    """Store what was laid out, over what was there."""
    rows = [
        Diagram(
            version=version, tenant_id=version.tenant_id, sha256=version.sha256, made_with=made_with, geometry=geometry
        )
        for version, geometry in made
    ]
    fields = ("sha256", "made_with", "geometry", "made_at")
    Diagram.objects.bulk_create(rows, update_conflicts=True, unique_fields=["version"], update_fields=fields)
