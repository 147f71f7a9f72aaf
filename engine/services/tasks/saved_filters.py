"""Keep what people ask of their lists under a name: for themselves, for a role, or for everybody in the tenant."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from engine import access
from engine.access.levels import LEVEL_NAMES
from engine.db.advisory_locks import lock_name, take_locks
from engine.db.transactions import in_one_transaction
from engine.errors import Invalid, Refused
from engine.kernel.forms import FieldError
from engine.models import SavedFilter
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT, Level

LONGEST_NAME, LONGEST_QUERY, MOST_FILTERS = 60, 2000, 30
KEPT_FOR = timedelta(days=1)
"""How long a deleted one can come back."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """With whom a filter is shared: everyone, the people of a role, or nobody; and whether they may change it."""

    everyone: bool = False
    role: str = ""
    editable: bool = False

    @classmethod
    def of(cls, saved: SavedFilter) -> "Sharing":
        return cls(saved.shared, saved.role.name if saved.role else "", saved.editable)

    def __bool__(self) -> bool:
        return self.everyone or bool(self.role)


ALONE = Sharing()


@in_one_transaction
def save_filter(*, actor: Actor, name: str, query: str, shared: bool = False, sharing: Sharing = ALONE) -> SavedFilter:
    """Keep a filter; one of the same name that the actor has is replaced."""
    sharing = Sharing(everyone=True) if shared else sharing
    name = _checked_name(name)
    _check_query(query)
    owner = actor.person_id
    if owner is None:
        raise Refused(_("Only a person keeps filters."), code="not_candidate")
    written = {"query": query, "owner_name": actor.name, **_shared_by(actor, sharing)}
    take_locks(lock_name("saved_filters", owner))
    own = SavedFilter.objects.filter(tenant_id=actor.tenant_id, owner_id=owner)
    own.filter(deleted_at__lt=timezone.now() - KEPT_FOR).delete()
    kept = own.filter(deleted_at__isnull=True)
    if kept.exclude(name=name).count() >= MOST_FILTERS:
        _refuse("name", _("You keep %(most)s filters already. Delete one first.") % {"most": MOST_FILTERS})
    saved, _new = kept.update_or_create(
        tenant_id=actor.tenant_id,
        owner_id=owner,
        name=name,
        deleted_at=None,
        defaults=written,
        create_defaults=written | {"created_at": timezone.now()},
    )
    return saved


@in_one_transaction
def change_filter(
    *,
    actor: Actor,
    filter_id: UUID,
    name: str | None = None,
    query: str | None = None,
    sharing: Sharing | None = None,
) -> SavedFilter:
    """Rename a filter, change what it asks for, or whom it is shared with; what is None stays."""
    saved = access.filter_of(actor, filter_id)
    take_locks(lock_name("saved_filters", saved.owner_id))
    saved = access.filter_of(actor, filter_id)
    if not access.may_change_filter(actor, saved):
        raise _not_theirs(saved)
    if name is not None:
        saved.name = _free_name(saved, _checked_name(name))
    if query is not None:
        _check_query(query)
        saved.query = query
    if sharing is not None and sharing != Sharing.of(saved):
        if not access.owns_filter(actor, saved):
            raise _not_theirs(saved)
        for field, value in _shared_by(actor, sharing).items():
            setattr(saved, field, value)
    saved.save()
    return saved


@in_one_transaction
def delete_filter(*, actor: Actor, filter_id: UUID) -> SavedFilter:
    """Take a filter away; for a day it can come back."""
    return _mark(actor, access.filter_of(actor, filter_id), deleted=True)


@in_one_transaction
def restore_filter(*, actor: Actor, filter_id: UUID) -> SavedFilter:
    """Bring a deleted filter back; where its name was given again meanwhile, that one stays."""
    saved = access.filter_of(actor, filter_id, deleted=True)
    namesake = access.filters_to_look_after(actor).filter(owner_id=saved.owner_id, name=saved.name)
    return namesake.first() or _mark(actor, saved, deleted=False)


def _mark(actor: Actor, saved: SavedFilter, *, deleted: bool) -> SavedFilter:
    if not access.owns_filter(actor, saved):
        raise _not_theirs(saved)
    saved.deleted_at = timezone.now() if deleted else None
    saved.save(update_fields=["deleted_at"])
    return saved


def _shared_by(actor: Actor, sharing: Sharing) -> dict[str, object]:
    """Return how a filter is shared, as its row says it; sharing takes a level, and a role of the tenant."""
    if not sharing:
        return {"shared": False, "role": None, "editable": False}
    access.require_level(actor, TO_SEE_TENANT, gettext_noop("share a filter"))
    if sharing.everyone:
        return {"shared": True, "role": None, "editable": sharing.editable}
    role = access.visible_roles(actor).filter(name=sharing.role).first()
    if role is None:
        _refuse("role", _("This role does not exist any more. Choose another one."))
    return {"shared": False, "role": role, "editable": sharing.editable}


def _not_theirs(saved: SavedFilter) -> Refused:
    words = {"owner": saved.owner_name.capitalize(), "people": LEVEL_NAMES[Level.GOD]}
    message = _("%(owner)s shares this filter. %(people)s can change or delete it too, but you can’t.") % words
    return Refused(message, code="level", needed=int(Level.GOD))


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        _refuse("name", _("Give it a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
    return name


def _free_name(saved: SavedFilter, name: str) -> str:
    others = SavedFilter.objects.filter(tenant_id=saved.tenant_id, owner_id=saved.owner_id, deleted_at__isnull=True)
    if others.filter(name=name).exclude(pk=saved.pk).exists():
        _refuse("name", _("There is a filter “%(name)s” already. Choose another name.") % {"name": name})
    return name


def _check_query(query: str) -> None:
    if len(query) > LONGEST_QUERY:
        _refuse("query", _("This filter is too long to be kept."))


def _refuse(field: str, message: str) -> None:
    raise Invalid(message, [FieldError(field, "invalid", message)])
