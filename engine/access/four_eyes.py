"""Read who took part in an instance, for four eyes and for quorums: what the kernel is lent, and what its rows cannot say alone.

A task's `excluded` names everybody in its own instance whom its rule bars, kept true by engine.kernel.machine.four_eyes under the
instance's claim. A running child is an instance of its own, so the database is asked at that moment who acts in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, F, Func, JSONField, Q, Value

from engine.db.advisory_locks import lock_name, take_locks
from engine.kernel.tasks.rules import COUNTING, NOT_INSIDE
from engine.models import Instance, RuntimeState, Task
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Kind, User


def is_one_of(actor: Actor, names: Iterable[str]) -> bool:
    """Return whether the actor counts as one person with anybody named: a service account counts as the person behind it."""
    return not actor.eyes.isdisjoint(names)


def free_to_act(actor: Actor, also: Iterable[str] = ()) -> Q:
    """Return the SQL condition for tasks that bar neither the actor nor anybody who counts as one person with them.

    `also` names the absent person for whom the actor stands in: both must be free.
    """
    eyes = sorted(actor.eyes.union(also))
    excluded = Q(excluded__has_any_keys=eyes) if len(eyes) > 1 else Q(excluded__contains=eyes)
    free = ~excluded & free_of_children(eyes)
    return free & ~Q(extra__has_any_keys=COUNTING) if actor.is_service else free


def people_free(task: Task) -> Q:
    """Return the condition for people whom a task's rule does not bar: `free_to_act` the other way round."""
    free = ~Q(username__in=task.excluded) & people_outside(task)
    if task.excluded:
        free &= ~Q(same_eyes__has_any_keys=task.excluded)
    return free & ~Q(kind=Kind.SERVICE) if task.rules.counts_people else free


class TookPartInside(Func):
    """Whether a person took part in a child under way of an instance, at one of the steps given."""

    function = "wf_took_part_inside"
    output_field = BooleanField()
    conditional = True


class StandsForInside(TookPartInside):
    """Whether a person's service account took part in a running child of an instance."""

    template = (
        "EXISTS (SELECT FROM jsonb_array_elements_text(%(eyes)s) eye WHERE wf_took_part_inside(%(expressions)s, eye))"
    )

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> Any:  # type: ignore[override]
        """Write the people's own column where the names are asked for."""
        eyes, _none = compiler.compile(F("same_eyes").resolve_expression(compiler.query))
        return super().as_sql(compiler, connection, eyes=eyes, **context)


def free_of_children(names: Iterable[str]) -> Q:
    """Return the SQL condition that none of these took part in a child under way that a task's rule looks into."""
    free = Q()
    for name in names:
        free &= ~Q(TookPartInside(F("instance_id"), F(f"extra__{NOT_INSIDE}"), Value(name)))
    return ~Q(extra__has_key=NOT_INSIDE) | free


def took_part_inside(instance_id: UUID, steps: Sequence[str], name: str) -> bool:
    """Return whether a person took part in a child under way of an instance, at one of the steps given."""
    values: list[Any] = [instance_id, list(steps), name]
    with connection.cursor() as cursor:
        cursor.execute("SELECT wf_took_part_inside(%s, to_jsonb(%s::text[]), %s)", values)
        return bool(cursor.fetchone()[0])


def checked_from_outside(child: Instance, name: str) -> bool:
    """Return whether a person did, while a child was under way, a task above it whose rule looks into the child."""
    with connection.cursor() as cursor:
        values: list[Any] = [child.pk, name, child.started_at]
        cursor.execute("SELECT wf_checked_from_outside(%s, %s, %s)", values)
        return bool(cursor.fetchone()[0])


def people_outside(task: Task) -> Q:
    """Return the condition for people who took no part in the children under way that a task's rule looks into."""
    steps = list(task.rules.not_inside)
    if not steps:
        return Q()
    inside = (Value(task.instance_id), Value(steps, output_field=JSONField()))
    return ~Q(TookPartInside(*inside, F("username"))) & ~Q(StandsForInside(*inside))


def hold_turn(actor: Actor) -> None:
    """Make one person's acts in a case and in its children wait for each other: each must see the one before.

    What a deputy does counts as the absent person's too, so that theirs come in the same line.
    """
    absent = (name for one in actor.stands_in for name in one.eyes)
    take_locks(*(lock_name("four_eyes", name) for name in actor.eyes.union(absent)))


def members_of(tenant_id: UUID, roles: Iterable[str], level: int) -> set[str]:
    """Name the active people of a tenant who hold one of these roles and are of that level; service accounts are none."""
    people = User.objects.filter(tenant_id=tenant_id, is_active=True, level__gte=level, kind=Kind.PERSON)
    return set(people.filter(memberships__role__name__in=list(roles)).values_list("username", flat=True))


@dataclass(frozen=True, slots=True)
class Participation:
    """What a person did that bars them from a task: in which step, and when. Without a step they started the case."""

    step: str | None
    title: str
    at: datetime | None


def participation_of(task: Task, name: str) -> Participation | None:
    """Find what bars a person from a task: the last thing that they did of what its rule names."""
    rule = task.rules.four_eyes
    if rule is None:
        return None
    kept = RuntimeState.objects.filter(pk=task.instance_id).values_list("snapshot__people", flat=True).first()
    people: dict[str, dict[str, str]] = kept or {}
    done = [(people[step][name], step) for step in rule.steps if name in people.get(step, {})]
    if done:
        at, step = max(done)
        return Participation(step, _title(task, step), datetime.fromisoformat(at))
    if rule.start and name == task.instance.started_by_name:
        return Participation(None, "", task.instance.started_at)
    return None


def _title(task: Task, step: str) -> str:
    """Name a step as people saw it: by the title of its task."""
    titles = (
        Task.objects.filter(instance_id=task.instance_id, step=step).order_by("-id").values_list("title", flat=True)
    )
    return titles.first() or step.replace("_", " ").capitalize()
