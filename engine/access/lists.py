"""What people keep of their lists: whose filters an actor sees and may change, and what is their own alone."""

from uuid import UUID

from django.db.models import Q, QuerySet

from engine.errors import NotFound
from engine.models import BulkReport, ListSettings, SavedFilter
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT, Level


def visible_filters(actor: Actor, *, deleted: bool = False) -> QuerySet[SavedFilter]:
    """Return the filters that the actor keeps, those shared with a role of theirs and with everyone, by name."""
    return _filters_with(actor, Q(role_id__in=actor.roles), deleted=deleted)


def filters_to_look_after(actor: Actor, *, deleted: bool = False) -> QuerySet[SavedFilter]:
    """Return the filters that the actor sees; from level 4 on those shared with any role, too."""
    looks_after = actor.level >= TO_SEE_TENANT
    return (
        _filters_with(actor, Q(role__isnull=False), deleted=deleted)
        if looks_after
        else visible_filters(actor, deleted=deleted)
    )


def _filters_with(actor: Actor, roles: Q, *, deleted: bool) -> QuerySet[SavedFilter]:
    filters = SavedFilter.objects.filter(tenant_id=actor.tenant_id, deleted_at__isnull=not deleted)
    seen = filters.filter(Q(owner_id=actor.person_id) | Q(shared=True) | roles)
    return seen.select_related("role").order_by("shared", "name", "id")


def filter_of(actor: Actor, filter_id: UUID, *, deleted: bool = False) -> SavedFilter:
    """Return a saved filter, or NotFound."""
    saved = filters_to_look_after(actor, deleted=deleted).filter(pk=filter_id).first()
    if saved is None:
        raise NotFound
    return saved


def sees_filter(actor: Actor, saved: SavedFilter) -> bool:
    """Return whether a filter is among those that the actor sees: `visible_filters` for one that was read along."""
    own = saved.owner_id == actor.person_id or saved.shared or saved.role_id in actor.roles
    return own and saved.deleted_at is None and saved.tenant_id == actor.tenant_id


def owns_filter(actor: Actor, saved: SavedFilter) -> bool:
    """Return whether the actor may delete a filter they see and say who shares it: its owner, and level 5."""
    return saved.owner_id == actor.person_id or actor.level >= Level.GOD


def may_change_filter(actor: Actor, saved: SavedFilter) -> bool:
    """Return whether the actor may rename a filter they see and change what it asks for."""
    return owns_filter(actor, saved) or saved.editable


def list_settings_of(actor: Actor) -> QuerySet[ListSettings]:
    """Return the actor's own settings of lists, if they ever chose any."""
    if actor.person_id is None:
        return ListSettings.objects.none()
    own = ListSettings.objects.filter(tenant_id=actor.tenant_id, person_id=actor.person_id)
    return own.select_related("start_filter")


def bulk_reports(actor: Actor) -> QuerySet[BulkReport]:
    """Return what became of the actor's own bulk actions, the last first."""
    if actor.person_id is None:
        return BulkReport.objects.none()
    return BulkReport.objects.filter(tenant_id=actor.tenant_id, person_id=actor.person_id).order_by("-id")


def bulk_report_of(actor: Actor, report_id: UUID) -> BulkReport:
    """Return one of them, or NotFound."""
    report = bulk_reports(actor).filter(pk=report_id).first()
    if report is None:
        raise NotFound
    return report
