"""What the leads of a role see of it and may do there; from level 4 on everybody leads every team.

A lead is a person who holds a role and leads the others who hold it. They see the open tasks that are offered to the role, as far
as their level goes, also those that people have, and move them to people who may do them. It gives no right to answer them.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from engine.access.levels import require_level
from engine.access.people import visible_people, visible_roles
from engine.models import Task, TaskCandidate
from engine.models.task import TaskQuerySet
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_SEE_TENANT
from workflowplatform.accounts.models import Absence, Membership, Role, User


def require_team(actor: Actor) -> None:
    """Raise Refused unless the actor leads a team."""
    if not actor.leads:
        require_level(actor, TO_SEE_TENANT, gettext_noop("see a team’s load"))


def sees_tenant(actor: Actor) -> bool:
    """Return whether the actor sees every task of the tenant."""
    return actor.level >= TO_SEE_TENANT


def roles_led(actor: Actor) -> QuerySet[Role]:
    """Return the roles whose teams the actor leads, by name."""
    roles = visible_roles(actor).order_by("name")
    return roles if actor.level >= TO_SEE_TENANT else roles.filter(pk__in=actor.leads)


def offered_to_led(actor: Actor) -> Q:
    """Return the filter for tasks that a lead sees because they are offered to a role that they lead."""
    return Q(_offered_to(actor.leads), min_level__lte=actor.level)


def _offered_to(roles: Iterable[UUID]) -> Exists:
    return Exists(TaskCandidate.objects.filter(task_id=OuterRef("pk"), principal__in=roles))


def leads_task(actor: Actor, task: Task) -> bool:
    """Return whether the actor leads, at this moment, a role that an open task is offered to."""
    if not actor.leads or not actor.person_id or actor.level < task.min_level:
        return False
    led = Membership.objects.filter(user_id=actor.person_id, leads=True, role_id__in=actor.leads)
    offers = TaskCandidate.objects.filter(task_id=task.pk, principal__in=led.values("role_id"))
    return offers.exists()


def team_tasks(actor: Actor, role: Role | None = None) -> TaskQuerySet:
    """Return the open tasks of a team that the actor leads, or of all of them."""
    tasks = Task.objects.open().filter(tenant_id=actor.tenant_id)
    if actor.level >= TO_SEE_TENANT:
        return tasks.filter(_offered_to([role.pk])) if role else tasks
    return tasks.filter(_offered_to([role.pk] if role else actor.leads), min_level__lte=actor.level)


def queue_tasks(actor: Actor, role: Role) -> TaskQuerySet:
    """Return the tasks of a team that nobody has yet."""
    return team_tasks(actor, role).filter(status="open", assignee__isnull=True)


def team_people(actor: Actor, roles: Iterable[UUID]) -> QuerySet[User]:
    """Return the active people who hold one of these roles."""
    held = Membership.objects.filter(tenant_id=actor.tenant_id, role_id__in=roles).values("user_id")
    return User.objects.filter(tenant_id=actor.tenant_id, is_active=True, pk__in=held)


def people_to_name(actor: Actor) -> QuerySet[User]:
    """Return the people whom a lead can name: those they see, and those of the roles that they lead."""
    seen = Q(pk__in=visible_people(actor).values("pk")) | Q(pk__in=team_people(actor, actor.leads).values("pk"))
    return User.objects.filter(seen, tenant_id=actor.tenant_id)


def absences_now(actor: Actor, people: Iterable[UUID]) -> QuerySet[Absence]:
    """Return which of these people are away now, with their deputies; the longest absence of a person last."""
    rows = Absence.objects.filter(
        tenant_id=actor.tenant_id, person_id__in=people, starts_at__lte=Now(), ends_at__gt=Now()
    )
    return rows.select_related("deputy").order_by("ends_at")
