"""Which absences an actor sees and may enter, and who may stand in."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from engine.access.deputies import is_covered
from engine.access.people import visible_people
from engine.errors import NotFound
from engine.models import Task
from workflowplatform.accounts.actor import Actor, Scope
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import Absence, Kind, User


def visible_absences(actor: Actor) -> QuerySet[Absence]:
    """Return absences that are not over; below level 4 one's own, those of one's team, and those one stands in for."""
    rows = Absence.objects.filter(tenant_id=actor.tenant_id, ends_at__gt=Now()).select_related("person", "deputy")
    if actor.level >= TO_SEE_TENANT:
        return rows
    own = Q(person_id=actor.person_id) | Q(deputy_id=actor.person_id) | Q(person__manager_id=actor.person_id)
    return rows.filter(own)


def absence_of(actor: Actor, absence_id: UUID) -> Absence:
    """Return an absence that the actor sees, or NotFound."""
    found = visible_absences(actor).filter(pk=absence_id).first()
    if found is None:
        raise NotFound
    return found


def away_at(people: Iterable[UUID], moment: datetime) -> set[UUID]:
    """Return who of these people is away at a moment."""
    rows = Absence.objects.filter(person_id__in=list(people), starts_at__lte=moment, ends_at__gt=moment)
    return set(rows.values_list("person_id", flat=True))


def is_left_alone(person: User, task: Task, moment: datetime) -> bool:
    """Return whether a person is away and nobody stands in for this task: it would wait until they are back."""
    rows = Absence.objects.filter(person=person, starts_at__lte=moment, ends_at__gt=moment)
    away = list(rows)
    covering = (one for one in away if one.deputy_id and is_covered([_scope_of(one)], task))
    return bool(away) and next(covering, None) is None


def _scope_of(absence: Absence) -> Scope:
    before = absence.starts_at if absence.keeps_open else None
    return Scope(tuple(absence.roles), tuple(absence.templates), before)


def people_to_send_away(actor: Actor) -> QuerySet[User]:
    """Return the people whose absence the actor may enter: themselves, their team, and from level 4 those up to their level."""
    people = User.objects.filter(tenant_id=actor.tenant_id, is_active=True, kind=Kind.PERSON)
    own = Q(pk=actor.person_id) | Q(manager_id=actor.person_id)
    if actor.level >= TO_SEE_TENANT:
        own |= Q(pk__in=visible_people(actor).filter(level__lte=actor.level).values("pk"))
    return people.filter(own)


def people_to_stand_in(person: User, roles: Iterable[str]) -> QuerySet[User]:
    """Return the people who may stand in for a person: active ones who have these roles too."""
    wanted = set(roles)
    people = User.objects.filter(tenant_id=person.tenant_id, is_active=True, kind=Kind.PERSON).exclude(pk=person.pk)
    if wanted:
        held = Count("memberships", filter=Q(memberships__role__name__in=wanted), distinct=True)
        people = people.annotate(held=held).filter(held=len(wanted))
    return people.order_by("username")
