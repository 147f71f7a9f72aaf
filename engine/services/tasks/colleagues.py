"""The people to whom a task can be handed over, and whom one can ask about it."""

import re
from collections.abc import Iterable
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from engine import access
from engine.errors import Invalid
from engine.kernel.forms import FieldError
from engine.models import Task, TaskCandidate
from engine.services.notifications.mentions import MOST_OFFERED, beginning_with
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Kind, Membership, User

MOST_PEOPLE = 200
MOST_SUGGESTED = 2
LOGIN = re.compile(r"@(\S+?)\)?$")
"""A user name behind an @, also as a picker writes it: `Uri Rosen (@uri)`."""


def people_to_hand_to(actor: Actor, task: Task) -> list[User]:
    """Return the people who may do a task in place of who has it now."""
    has_it = [pk for pk in (task.assignee_id, actor.person_id if access.holds(actor, task) else None) if pk]
    people = access.people_to_give(actor, task).filter(kind=Kind.PERSON).exclude(pk__in=has_it)
    return list(people[:MOST_PEOPLE])


def open_tasks_of(people: Iterable[User]) -> dict[UUID, int]:
    """Count the open tasks that each of these people has."""
    held = Task.objects.open().filter(assignee_id__in=[person.pk for person in people]).order_by()
    return dict(held.values_list("assignee_id").annotate(n=Count("pk")))


def leads_of(actor: Actor, task: Task) -> list[User]:
    """Return the people who lead a role that a task is offered to."""
    offered = TaskCandidate.objects.filter(task_id=task.pk).values("principal")
    leads = Membership.objects.filter(leads=True, role_id__in=offered).values("user_id")
    people = User.objects.filter(tenant_id=task.tenant_id, is_active=True, pk__in=leads)
    return list(people.exclude(username=actor.name).order_by("username")[:MOST_SUGGESTED])


def people_to_ask(actor: Actor, task: Task, typed: str) -> list[User]:
    """Return people who may be asked about a task, by how their name begins."""
    return list(_askable(actor, task).filter(beginning_with(typed)).order_by("username")[:MOST_OFFERED])


def _askable(actor: Actor, task: Task) -> "QuerySet[User]":
    people = access.colleagues(actor, task).filter(is_active=True, kind=Kind.PERSON)
    return people.exclude(username=actor.name)


def people_of_case(actor: Actor, task: Task) -> list[User]:
    """Return those who know most of a case: the person who started it first, then those who answered a task of it."""
    starter = task.instance.started_by_id
    answered = Task.objects.filter(instance_id=task.instance_id, completed_by_id__isnull=False)
    people = _askable(actor, task).filter(Q(pk=starter) | Q(pk__in=answered.values("completed_by_id")))
    return sorted(people, key=lambda person: (person.pk != starter, person.username))[:MOST_SUGGESTED]


def person_called(actor: Actor, task: Task, typed: str) -> str:
    """Return the user name of the person whom a text names: by user name, or by the only name of that kind."""
    people, text = _askable(actor, task), typed.strip().replace("\0", "")
    login = LOGIN.search(text)
    exact = people.filter(username=login[1] if login else text.lower()).first()
    found = [exact] if exact else list(people.filter(Q(full_name__iexact=text) | Q(username__iexact=text))[:2])
    if text and len(found) == 1:
        return str(found[0].username)
    several = _("Several people are called that. Choose one from the list.")
    message = several if found and text else _("There is nobody of this name here.") if text else _("Choose a person.")
    raise Invalid(message, [FieldError("user", "required" if not text else "unknown", message)])
