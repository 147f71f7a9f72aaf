"""Keep what people ask of their lists under a name: for themselves, or for everybody in the tenant."""

from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError
from engine.models import SavedFilter
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT, Level

LONGEST_NAME, LONGEST_QUERY, MOST_FILTERS = 60, 2000, 30
KEPT_FOR = timedelta(days=1)
"""How long a deleted one can come back."""


@in_one_transaction
def save_filter(*, actor: Actor, name: str, query: str, shared: bool = False) -> SavedFilter:
    """Keep a filter; one of the same name that the actor has is replaced."""
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        _refuse("name", _("Give it a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
    if len(query) > LONGEST_QUERY:
        _refuse("query", _("This filter is too long to be kept."))
    if shared:
        access.require_level(actor, TO_SEE_TENANT, gettext_noop("share a filter"))
    owner = actor.person_id
    if owner is None:
        raise Refused(_("Only a person keeps filters."), code="not_candidate")
    own = SavedFilter.objects.filter(tenant_id=actor.tenant_id, owner_id=owner)
    own.filter(deleted_at__lt=timezone.now() - KEPT_FOR).delete()
    kept = own.filter(deleted_at__isnull=True)
    if kept.exclude(name=name).count() >= MOST_FILTERS:
        _refuse("name", _("You keep %(most)s filters already. Delete one first.") % {"most": MOST_FILTERS})
    written = {"query": query, "shared": shared, "owner_name": actor.name}
    new = written | {"created_at": timezone.now()}
    saved, _new = kept.update_or_create(
        tenant_id=actor.tenant_id,
        owner_id=owner,
        name=name,
        deleted_at=None,
        defaults=written,
        create_defaults=new,
    )
    return saved


@in_one_transaction
def delete_filter(*, actor: Actor, filter_id: UUID) -> SavedFilter:
    """Take a filter away; for a day it can come back."""
    return _mark(actor, access.filter_of(actor, filter_id), deleted=True)


@in_one_transaction
def restore_filter(*, actor: Actor, filter_id: UUID) -> SavedFilter:
    """Bring a deleted filter back; where its name was given again meanwhile, that one stays."""
    saved = access.filter_of(actor, filter_id, deleted=True)
    namesake = access.visible_filters(actor).filter(owner_id=saved.owner_id, name=saved.name)
    return namesake.first() or _mark(actor, saved, deleted=False)


def _mark(actor: Actor, saved: SavedFilter, *, deleted: bool) -> SavedFilter:
    if saved.owner_id != actor.person_id and actor.level < Level.GOD:
        words = {"owner": saved.owner_name.capitalize(), "needed": int(Level.GOD)}
        message = _("%(owner)s shares this filter; only they or level %(needed)s can delete it.") % words
        raise Refused(message, code="level", needed=int(Level.GOD))
    saved.deleted_at = timezone.now() if deleted else None
    saved.save(update_fields=["deleted_at"])
    return saved


def _refuse(field: str, message: str) -> None:
    raise Invalid(message, [FieldError(field, "invalid", message)])
