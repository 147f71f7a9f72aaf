"""What of a person's work an absence touches: open tasks by role and template, what a deputy may not do, who could stand in."""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime

from engine import access
from engine.access.absences import people_to_stand_in
from engine.access.task_rules import refuse_person
from engine.errors import Invalid, WorkflowError
from engine.models import Task
from engine.models.task import TaskQuerySet
from engine.services.people.absences import changed_absence
from engine.services.people.staffing import Gap, Outlook, Staff, tasks_in_force
from engine.services.tasks.bulk import MOST_TASKS, BulkResult, act_on_tasks
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Absence, User

MOST_LOOKED_AT = 50
MOST_BARRED = 5
MOST_TRIED = 20
MOST_CURES = 3


@dataclass(frozen=True, slots=True)
class Barred:
    """A task that stays with the absent person, and what forbids the deputy to do it."""

    task: Task
    why: WorkflowError


@dataclass(frozen=True, slots=True)
class OpenWork:
    """A person's open tasks as another person sees them: how many, of which roles and templates, how many are due in a time."""

    total: int = 0
    due: int = 0
    roles: Counter[str] = field(default_factory=Counter)
    templates: Counter[str] = field(default_factory=Counter)


def open_work(*, actor: Actor, person: User, until: datetime | None = None) -> OpenWork:
    """Count a person's open tasks, as far as the actor sees them."""
    rows = list(_open_tasks(actor, person).values_list("effective_roles", "version__template__name", "due_at"))
    return OpenWork(
        total=len(rows),
        due=sum(until is not None and due is not None and due < until for _, _, due in rows),
        roles=Counter(role for roles, _, _ in rows for role in roles),
        templates=Counter(template for _, template, _ in rows),
    )


def barred_for(*, actor: Actor, person: User, deputy: User) -> list[Barred]:
    """Return open tasks of a person that a deputy may not do because of four eyes."""
    standing = actor_of(deputy)
    found = []
    for task in _open_tasks(actor, person).order_by("due_at", "id")[:MOST_LOOKED_AT]:
        why = refuse_person(standing, task)
        if why is not None and why.code == "four_eyes":
            found.append(Barred(task, why))
    return found[:MOST_BARRED]


def assign_open_tasks(*, actor: Actor, person: User, deputy: User, note: str) -> list[BulkResult]:
    """Assign a person's open tasks to their deputy for good; those the deputy may not have stay, each with its reason."""
    tasks = list(_open_tasks(actor, person).order_by("due_at", "id").values_list("pk", flat=True)[:MOST_TASKS])
    if not tasks:
        return []
    return act_on_tasks(actor=actor, task_ids=tasks, action="assign", person=deputy.username, reason=note)


def templates_of(*, actor: Actor, person: User) -> dict[str, str]:
    """Return the titles, by name, of active templates with tasks for a person, and of the templates of their open tasks."""
    staff = Staff({person.pk: person}, ())
    meant = {
        task.template: task.template_title
        for task in tasks_in_force(person.tenant_id)
        if person.pk in staff.pool(task) and (task.roles or task.names)
    }
    for name, title in _open_tasks(actor, person).values_list("version__template__name", "version__template__title"):
        meant[name] = title or name
    return dict(sorted(meant.items(), key=lambda one: one[1].casefold()))


def deputies_who_help(*, actor: Actor, outlook: Outlook, gaps: Sequence[Gap]) -> list[User]:
    """Return people who could stand in instead, so that all of these tasks can be done and nothing forbids it."""
    absence = outlook.absence
    away = {one.person_id for one in outlook.staff.absences}
    roles = absence.roles or absence.person.roles.values_list("name", flat=True)
    others = people_to_stand_in(absence.person, roles)
    able = others.exclude(pk__in=[*away, *([absence.deputy_id] if absence.deputy_id else [])])
    helping = (one for one in able[:MOST_TRIED] if all(outlook.is_closed_by(gap, one.pk) for gap in gaps))
    return [one for one in helping if _is_allowed(actor, absence, one)][:MOST_CURES]


def _is_allowed(actor: Actor, absence: Absence, deputy: User) -> bool:
    try:
        changed_absence(actor=actor, absence=copy(absence), deputy=deputy.username)
    except Invalid:
        return False
    return True


def _open_tasks(actor: Actor, person: User) -> TaskQuerySet:
    return access.visible_tasks(actor).open().filter(assignee_id=person.pk)
