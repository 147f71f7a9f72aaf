"""Read who took part in an instance, for four eyes and for quorums: what the kernel is lent, and what its rows cannot say alone.

A task's `excluded` names everybody in its own instance whom its rule bars, kept true by engine.kernel.four_eyes under the
instance's claim. Who acts in a child under way is asked of the database at the moment: the child is an instance of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, F, Func, JSONField, Q, Value

from engine.models import RuntimeState, Task
from workflowplatform.accounts.models import User

INSIDE = "not_inside"
"""Under this name a task's extra lists the child workflows that its rule looks into."""


class TookPartInside(Func):
    """Whether a person took part in a child under way of an instance, at one of the steps given."""

    function = "wf_took_part_inside"
    output_field = BooleanField()
    conditional = True


def free_of_children(name: str) -> Q:
    """Say in SQL that a person took no part in a child under way that a task's rule looks into."""
    took_part = TookPartInside(F("instance_id"), F(f"extra__{INSIDE}"), Value(name))
    return ~Q(extra__has_key=INSIDE) | ~Q(took_part)


def took_part_inside(instance_id: UUID, steps: Sequence[str], name: str) -> bool:
    """Tell whether a person took part in a child under way of an instance, at one of the steps given."""
    if not steps:
        return False
    values: list[Any] = [instance_id, list(steps), name]
    with connection.cursor() as cursor:
        cursor.execute("SELECT wf_took_part_inside(%s, to_jsonb(%s::text[]), %s)", values)
        return bool(cursor.fetchone()[0])


def checked_from_outside(task: Task, name: str) -> bool:
    """Tell whether a person did, while a child was under way, a task above it whose rule looks into the child."""
    if task.instance.parent_token is None:
        return False
    with connection.cursor() as cursor:
        values: list[Any] = [task.instance_id, name, task.instance.started_at]
        cursor.execute("SELECT wf_checked_from_outside(%s, %s, %s)", values)
        return bool(cursor.fetchone()[0])


def people_outside(task: Task) -> Q:
    """Say which people took no part in the children under way that a task's rule looks into."""
    steps = task.extra.get(INSIDE)
    if not steps:
        return Q()
    return ~Q(TookPartInside(Value(task.instance_id), Value(steps, output_field=JSONField()), F("username")))


def hold_turn(person_id: UUID | None) -> None:
    """Let one person's acts in a case and in its children come one after the other: each must see the one before."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"four_eyes|{person_id}"])


def members_of(tenant_id: UUID, roles: Iterable[str], level: int) -> set[str]:
    """Name the active people of a tenant who hold one of these roles and are of that level."""
    people = User.objects.filter(tenant_id=tenant_id, is_active=True, level__gte=level)
    return set(people.filter(memberships__role__name__in=list(roles)).values_list("username", flat=True))


@dataclass(frozen=True, slots=True)
class Participation:
    """What somebody did that bars them from a task: in which step, and when. Without a step they started the case."""

    step: str | None
    title: str
    at: datetime | None


def participation_of(task: Task, name: str) -> Participation | None:
    """Find what bars a person from a task: the last thing that they did of what its rule names."""
    rule: dict[str, Any] = task.extra.get("four_eyes") or {}
    kept = RuntimeState.objects.filter(pk=task.instance_id).values_list("snapshot__people", flat=True).first()
    people: dict[str, dict[str, str]] = kept or {}
    done = [(people[step][name], step) for step in rule.get("steps", ()) if name in people.get(step, {})]
    if done:
        at, step = max(done)
        return Participation(step, _title(task, step), datetime.fromisoformat(at))
    if rule.get("start") and name == task.instance.started_by_name:
        return Participation(None, "", task.instance.started_at)
    return None


def _title(task: Task, step: str) -> str:
    """Name a step as people saw it: by the title of its task."""
    titles = (
        Task.objects.filter(instance_id=task.instance_id, step=step).order_by("-id").values_list("title", flat=True)
    )
    return titles.first() or step.replace("_", " ").capitalize()
