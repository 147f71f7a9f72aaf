"""For whom a deputy may act: one rule, for a task at hand and as filters for lists.

Nothing of a task is written when someone is away. Deputyships are read with the actor, and decided again under the
task's lock when they act. The deputy acts as themselves: their own level and roles count, and four eyes count both people.
"""

from collections.abc import Iterable, Iterator

from django.db.models import Exists, OuterRef, Q

from engine.models import Task, TaskCandidate
from workflowplatform.accounts.actor import Actor, Scope, StandIn


def is_covered(scopes: Iterable[Scope], task: Task) -> bool:
    """Return whether every absence on the way covers a task: by its template, its roles and its age."""
    return all(_covers(scope, task) for scope in scopes)


def _covers(scope: Scope, task: Task) -> bool:
    if scope.templates and task.version.template.name not in scope.templates:
        return False
    if scope.before is not None and task.created_at < scope.before:
        return False
    return not scope.roles or not task.effective_roles or not set(scope.roles).isdisjoint(task.effective_roles)


def covered(scopes: Iterable[Scope]) -> Q:
    """Return the rule of `is_covered` as a filter."""
    rule = Q()
    for scope in scopes:
        if scope.templates:
            rule &= Q(version__template__name__in=scope.templates)
        if scope.before is not None:
            rule &= Q(created_at__gte=scope.before)
        if scope.roles:
            rule &= Q(effective_roles=[]) | Q(effective_roles__has_any_keys=list(scope.roles))
    return rule


def is_offered(actor: Actor, task: Task) -> bool:
    """Return whether a task is offered to the actor: by name, by a role, or to everybody."""
    return TaskCandidate.objects.filter(task_id=task.pk, principal__in=actor.principals).exists()


def offered(actor: Actor) -> Exists:
    """Return the rule of `is_offered` as a filter."""
    return Exists(TaskCandidate.objects.filter(task_id=OuterRef("pk"), principal__in=actor.principals))


def shares_role(actor: Actor) -> Q:
    """Return the filter for tasks whose roles the deputy has too; a task for named people asks for none."""
    return Q(effective_roles=[]) | Q(offered(actor))


def stood_in_for(actor: Actor, task: Task, *, own: bool | None = None) -> Iterator[StandIn]:
    """Yield the absent people whose task this is and for whom the actor may act; none where it is the actor's own to do.

    `own` is whether the task is offered to the actor, where that is known.
    """
    if not actor.stands_in or task.assignee_id == actor.person_id:
        return
    mine = own if own is not None else is_offered(actor, task)
    if task.assignee_id is None and mine:
        return
    if task.effective_roles and not mine:
        return
    asked = _asked(actor, task) if task.assignee_id is None else {task.assignee_id}
    yield from (one for one in actor.stands_in if one.person_id in asked and is_covered(one.scopes, task))


def _asked(actor: Actor, task: Task) -> set[object]:
    absent = [one.person_id for one in actor.stands_in]
    rows = TaskCandidate.objects.filter(task_id=task.pk, principal__in=absent)
    return set(rows.values_list("principal", flat=True))
